"""What the offline model hands to a tool: nothing that was said is lost on the way."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from fencepost_intents import detect
from fencepost_worker.models.offline_arguments import arguments_for
from fencepost_worker.models.port import ModelContext

ZONE = "Asia/Shanghai"
REFERENCE = datetime.fromisoformat("2026-03-04T10:00:00+08:00")
NAMES = ("title", "match", "at", "by", "all", "rrule", "exdates")


def handed(text: str) -> dict[str, Any]:
    found = detect(text, reference=REFERENCE, zone=ZONE)
    context = ModelContext(text, REFERENCE, ZONE, "zh", "CNY", "life")
    schema: dict[str, Any] = {"properties": {name: {} for name in NAMES}}
    return arguments_for(found.intents[0], schema, found, context)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("把下午三点的会议推迟半小时", {"match": "会议", "at": "2026-03-04T15:30:00+08:00"}),
        ("把下午三点的会议提前半小时", {"match": "会议", "at": "2026-03-04T14:30:00+08:00"}),
        ("把周会的提醒推迟10分钟", {"match": "周会", "by": "PT10M"}),
        ("取消明天九点的提醒", {"at": "2026-03-05T09:00:00+08:00"}),
        ("取消买菜的提醒", {"match": "买菜"}),
        ("取消所有提醒", {"all": True}),
    ],
)
def test_a_move_and_a_cancel_keep_what_was_said(text: str, expected: dict[str, Any]) -> None:
    assert handed(text) == expected


def test_the_days_left_out_of_a_repetition_go_along() -> None:
    given = handed("除了3月10号，每天早上八点提醒我跑步")

    assert given["exdates"] == ["2026-03-10T08:00:00+08:00"]
    assert given["rrule"] == "FREQ=DAILY"

"""Texts that a fuzz run over pieces of sentences crashed on; readings that lost a half of what was said."""

from __future__ import annotations

from datetime import datetime

import pytest
from fencepost_intents import detect

CHINA = datetime.fromisoformat("2026-03-04T10:00:00+08:00")
NEW_YORK = datetime.fromisoformat("2026-03-04T10:00:00-05:00")


@pytest.mark.parametrize(
    "text", ["第一1个", "第一三十下", "明年 2027-01-02", "this 假期", "daily for seven quarters", "第十十天"]
)
def test_no_text_crashes(text: str) -> None:
    assert detect(text, reference=CHINA, zone="Asia/Shanghai").to_json()["times"] is not None


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("remind me at 7 every morning and 9 every night to stretch", "FREQ=DAILY;BYHOUR=7,21"),
        ("remind me every day at 8 in the morning and 8 in the evening to stretch", "FREQ=DAILY;BYHOUR=8,20"),
        ("remind me weekly on Tuesdays at 3 to call", "FREQ=WEEKLY;BYDAY=TU"),
        ("remind me once a month on the 3rd at 6pm to pay", "FREQ=MONTHLY;BYMONTHDAY=3"),
    ],
)
def test_each_time_of_a_repetition_keeps_its_own_half(text: str, rule: str) -> None:
    found = detect(text, reference=NEW_YORK, zone="America/New_York")

    assert found.times[0].rrule == rule
    assert found.required_slots == ()


@pytest.mark.parametrize(
    "text",
    [
        "remind me every 30 minutes until 5pm to drink",
        "remind me every hour between 9 and 5 to stand up",
        "remind me at 8 from Monday to Friday to stretch",
        "remind me to take pills three times a day at 8am and 8pm",
    ],
)
def test_a_repetition_that_no_rule_holds_is_asked_about(text: str) -> None:
    assert detect(text, reference=NEW_YORK, zone="America/New_York").required_slots == ("time",)


def test_an_end_said_for_each_day_is_told() -> None:
    found = detect("每天下午4点到5点提醒我锻炼", reference=CHINA, zone="Asia/Shanghai")

    assert "each time until 17:00" in found.times[0].inferred

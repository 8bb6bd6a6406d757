"""The golden tables pass whole, and nothing in them is wrong and sure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fencepost_intents.evaluate import evaluate

TABLES = Path(__file__).parents[2] / "evals" / "intents"
NAMES = sorted(path.name for path in TABLES.glob("*.jsonl"))


def rows_of(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (TABLES / name).read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("name", NAMES)
def test_a_golden_table_passes_whole(name: str) -> None:
    report = evaluate(rows_of(name))

    assert report.misses == ()
    assert report.wrong_and_sure == 0
    assert report.accuracy == 1.0


def test_the_tables_hold_enough_rows_of_the_language_side() -> None:
    rows = [row for name in NAMES for row in rows_of(name)]

    assert len(rows) >= 600
    assert sum(row["origin"] == "language" for row in rows) >= 200
    assert len({row["id"] for row in rows}) == len(rows)


def test_a_wrong_row_is_counted_as_wrong_and_sure_only_when_nothing_is_asked() -> None:
    sure = {"text": "明早九点提醒我交周报", "reference": "2026-03-04T10:00:00+08:00", "zone": "Asia/Shanghai"}
    wrong = sure | {"expected": {"intent": "reminder.create", "slots": {"title": {"value": "交月报"}}}}
    asked = sure | {"text": "提醒我交周报", "expected": {"intent": "reminder.create"}}

    report = evaluate([wrong, asked])

    assert (report.rows, report.right, report.wrong_and_sure, report.asked) == (2, 0, 1, 1)
    assert report.confusion == {("reminder.create", "reminder.create"): 2}
    assert report.to_json()["accuracy"] == 0.0

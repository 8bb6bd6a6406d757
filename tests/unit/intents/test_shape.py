# Tables: an entry or a pattern is easier to check on one line than broken up.
# ruff: noqa: E501
"""The binding JSON shape, and that a detection is a pure function of its arguments."""

from __future__ import annotations

import json
from datetime import date, datetime
from types import MappingProxyType

import pytest
from fencepost_intents import DEFAULT, VERSION, HolidayTable, detect

REFERENCE = datetime.fromisoformat("2026-03-04T10:00:00+08:00")
ZONE = "Asia/Shanghai"


def test_the_example_of_the_design_comes_out_as_written() -> None:
    time = {
        "kind": "instant",
        "value": "2026-03-05T09:00:00+08:00",
        "span": [0, 4],
        "text": "明早九点",
        "inferred": [],
    }
    slots = {"time": time, "title": {"value": "交周报", "span": [7, 10]}}

    body = detect("明早九点提醒我交周报", reference=REFERENCE, zone=ZONE).to_json()

    assert body == {
        "intent": "reminder.create",
        "confidence": 0.97,
        "fallback_required": False,
        "required_slots": [],
        "risk_level": "medium",
        "layer": "rules",
        "version": VERSION,
        "slots": slots,
        "intents": [{"intent": "reminder.create", "span": [0, 10], "slots": slots}],
        "times": [time],
        "amounts": [],
    }
    json.dumps(body)


def test_the_amount_of_the_design_comes_out_as_written() -> None:
    body = detect("打车35块5", reference=REFERENCE, zone=ZONE).to_json()

    assert body["amounts"] == [
        {"value": "35.50", "currency": "CNY", "currency_written": True, "text": "35块5", "span": [2, 6]}
    ]


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("明天", {"value"}),
        ("下周", {"start", "end"}),
        ("月底前", {"value"}),
        ("一个半小时", {"duration"}),
        ("每天早上八点", {"rrule", "dtstart", "next"}),
        ("next friday", {"candidates"}),
    ],
)
def test_each_kind_of_time_has_its_own_keys(text: str, keys: set[str]) -> None:
    (body,) = detect(text, reference=REFERENCE, zone=ZONE).to_json()["times"]

    assert set(body) == {"kind", "span", "text", "inferred"} | keys


def test_what_is_inferred_is_said() -> None:
    (found,) = detect("明天3点提醒我开会", reference=REFERENCE, zone=ZONE).times

    assert found.value == "2026-03-05T15:00:00+08:00"
    assert found.inferred == ("bare 3 taken as afternoon",)


def test_the_top_level_is_the_first_of_several_intents() -> None:
    result = detect("明天早上八点提醒我吃药，再记一笔打车30元", reference=REFERENCE, zone=ZONE)

    assert [one.intent for one in result.intents] == ["reminder.create", "ledger.add"]
    assert (result.intent, result.slots) == (result.intents[0].intent, result.intents[0].slots)


def test_a_holiday_table_overrides_the_built_in_days() -> None:
    table = HolidayTable(days=MappingProxyType({("mid_autumn", 2026): date(2026, 9, 26)}))

    (own,) = detect("中秋节", reference=REFERENCE, zone=ZONE, holidays=table).times
    (built_in,) = detect("中秋节", reference=REFERENCE, zone=ZONE).times

    assert (own.value, built_in.value) == ("2026-09-26", "2026-09-25")


def test_working_days_follow_the_announced_days_off() -> None:
    table = HolidayTable(off=frozenset({date(2026, 3, 5)}), worked=frozenset({date(2026, 3, 7)}))

    assert DEFAULT.add_workdays(REFERENCE.date(), 2) == date(2026, 3, 6)
    assert table.add_workdays(REFERENCE.date(), 2) == date(2026, 3, 7)
    (found,) = detect("两个工作日后", reference=REFERENCE, zone=ZONE, holidays=table).times
    assert found.value == "2026-03-07"


@pytest.mark.parametrize("year", range(2024, 2033))
def test_the_lunar_new_year_is_the_calendars(year: int) -> None:
    known = {2024: "02-10", 2025: "01-29", 2026: "02-17", 2027: "02-06", 2028: "01-26", 2029: "02-13", 2030: "02-03",
             2031: "01-23", 2032: "02-11"}  # fmt: skip

    assert DEFAULT.on("spring_festival", year).isoformat() == f"{year}-{known[year]}"


def test_the_same_arguments_give_the_same_result() -> None:
    for text in ("每月31号", "next Friday at 5", "三个人AA一共320"):
        first = detect(text, reference=REFERENCE, zone=ZONE).to_json()

        assert detect(text, reference=REFERENCE, zone=ZONE).to_json() == first


def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="no zone"):
        detect("明天", reference=REFERENCE, zone="Mars/Olympus")

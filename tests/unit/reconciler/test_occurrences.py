"""Occurrences keep the wall clock over changes of summer time, and each comes once (I31)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from fencepost_intents.recurrence import next_occurrence as first_after
from fencepost_reconciler.occurrences import MISSED_AT_ONCE, Plan, plan
from hypothesis import given, settings
from hypothesis import strategies as st

BERLIN, SHANGHAI = "Europe/Berlin", "Asia/Shanghai"


def at(text: str, zone: str = "UTC") -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)


def local(instant: datetime | None, zone: str) -> str:
    assert instant is not None
    return f"{instant.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M}"


def test_a_single_reminder_fires_and_is_over() -> None:
    due = at("2026-03-05T09:00", SHANGHAI)
    planned = plan(rule=None, dtstart=due, zone=SHANGHAI, next_at=due, now=due + timedelta(seconds=1))
    assert planned == Plan(due, False, (), None)


def test_a_daily_one_keeps_its_hour_over_both_changes() -> None:
    start = at("2026-03-28T09:00", BERLIN)
    for day, utc in (("2026-03-29", "07:00"), ("2026-10-25", "08:00")):
        found = first_after("FREQ=DAILY", start, BERLIN, at(f"{day}T00:00"))
        assert found == at(f"{day}T{utc}")


def test_a_time_that_does_not_exist_moves_behind_the_gap_and_back() -> None:
    start = at("2026-03-28T02:30", BERLIN)  # on the 29th, 02:00 to 03:00 is skipped
    on_the_day = first_after("FREQ=DAILY", start, BERLIN, start)
    assert local(on_the_day, BERLIN) == "2026-03-29 03:30"
    assert on_the_day is not None
    assert local(first_after("FREQ=DAILY", start, BERLIN, on_the_day), BERLIN) == "2026-03-30 02:30"


def test_a_time_that_is_there_twice_fires_the_first_time_only() -> None:
    start = at("2026-10-24T02:30", BERLIN)
    first = first_after("FREQ=DAILY", start, BERLIN, start)
    assert first == at("2026-10-25T00:30"), "summer time still"
    assert first_after("FREQ=DAILY", start, BERLIN, first) == at("2026-10-26T01:30")


def test_an_hourly_one_counts_elapsed_time() -> None:
    start = at("2026-10-24T22:00")
    found, instant = [], start
    for _ in range(6):
        instant = first_after("FREQ=HOURLY", start, BERLIN, instant)  # type: ignore[assignment]
        found.append(instant)
    assert [b - a for a, b in pairwise(found)] == [timedelta(hours=1)] * 5


def test_an_hourly_one_within_office_hours_follows_the_wall_clock() -> None:
    start = at("2026-03-02T09:00", BERLIN)
    rule = "FREQ=HOURLY;BYHOUR=9,17;BYMINUTE=0;BYSECOND=0"
    assert (
        local(first_after(rule, start, BERLIN, at("2026-03-30T10:00", BERLIN)), BERLIN) == "2026-03-30 17:00"
    )


def test_the_31st_comes_only_where_there_is_one() -> None:
    start = at("2026-01-31T09:00", SHANGHAI)
    found = first_after("FREQ=MONTHLY;BYMONTHDAY=31", start, SHANGHAI, start)
    assert local(found, SHANGHAI) == "2026-03-31 09:00"


@pytest.mark.parametrize("until", ["UNTIL=20260307T010000Z", "UNTIL=20260307T090000", "COUNT=3"])
def test_a_rule_ends(until: str) -> None:
    start = at("2026-03-05T09:00", SHANGHAI)
    last = at("2026-03-07T09:00", SHANGHAI)
    planned = plan(rule=f"RRULE:FREQ=DAILY;{until}", dtstart=start, zone=SHANGHAI, next_at=last, now=last)
    assert planned == Plan(last, False, (), None)


def test_of_missed_ones_the_last_fires_late_and_the_others_are_recorded() -> None:
    start = at("2026-03-02T09:00", SHANGHAI)
    now = at("2026-03-05T12:00", SHANGHAI)
    planned = plan(rule="FREQ=DAILY", dtstart=start, zone=SHANGHAI, next_at=start, now=now)
    assert planned.fires == at("2026-03-05T09:00", SHANGHAI)
    assert planned.late
    assert [local(skipped, SHANGHAI)[:10] for skipped in planned.skipped] == [
        "2026-03-02",
        "2026-03-03",
        "2026-03-04",
    ]
    assert planned.following == at("2026-03-06T09:00", SHANGHAI)


def test_very_many_missed_ones_are_recorded_in_portions() -> None:
    start = at("2026-03-01T00:00")
    now = start + timedelta(minutes=MISSED_AT_ONCE + 300, seconds=5)
    portion = plan(rule="FREQ=MINUTELY", dtstart=start, zone="UTC", next_at=start, now=now)
    assert (portion.fires, len(portion.skipped)) == (None, MISSED_AT_ONCE + 1)
    assert portion.following == start + timedelta(minutes=MISSED_AT_ONCE + 1)
    rest = plan(rule="FREQ=MINUTELY", dtstart=start, zone="UTC", next_at=portion.following, now=now)
    assert rest.fires == now - timedelta(seconds=5)
    assert not rest.late
    assert len(portion.skipped) + len(rest.skipped) == MISSED_AT_ONCE + 300


@pytest.mark.parametrize(("rule", "zone"), [("FREQ=SOMETIMES", "UTC"), ("FREQ=DAILY", "Mars/Base")])
def test_what_cannot_be_read_is_refused(rule: str, zone: str) -> None:
    start = at("2026-03-02T09:00")
    with pytest.raises((ValueError, KeyError)):
        plan(rule=rule, dtstart=start, zone=zone, next_at=start, now=start)


@settings(deadline=None)  # two shared cores
@given(
    start=st.datetimes(datetime(2024, 1, 1), datetime(2027, 12, 31)),
    rule=st.sampled_from(
        [
            "FREQ=DAILY",
            "FREQ=DAILY;INTERVAL=2",
            "FREQ=WEEKLY;BYDAY=MO,FR",
            "FREQ=MONTHLY;BYMONTHDAY=-1",
            "FREQ=HOURLY",
        ]
    ),
    zone=st.sampled_from([BERLIN, SHANGHAI, "America/New_York", "Australia/Lord_Howe", "UTC"]),
    down=st.timedeltas(timedelta(0), timedelta(days=20)),
)
def test_i31_no_occurrence_is_lost_or_doubled(start: datetime, rule: str, zone: str, down: timedelta) -> None:
    """However the looks fall, what is recorded is the rule's own sequence, each once, in order."""
    dtstart = start.replace(microsecond=0, tzinfo=ZoneInfo(zone)).astimezone(UTC)
    next_at, recorded = first_after(rule, dtstart, zone, dtstart), []
    for _ in range(4):
        assert next_at is not None
        now = next_at + down
        planned = plan(rule=rule, dtstart=dtstart, zone=zone, next_at=next_at, now=now)
        recorded += [*planned.skipped, *([planned.fires] if planned.fires else [])]
        assert planned.following is not None
        assert planned.following > recorded[-1]
        next_at = planned.following
    expected: list[datetime] = []
    instant = dtstart
    while len(expected) < len(recorded):
        instant = first_after(rule, dtstart, zone, instant)  # type: ignore[assignment]
        expected.append(instant)
        if len(expected) > 40:  # the first forty show it
            break
    assert recorded[: len(expected)] == expected
    assert all(a < b for a, b in pairwise(recorded))

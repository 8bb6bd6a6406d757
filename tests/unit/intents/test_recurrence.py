"""When a repetition is due next: wall clock over summer time, exceptions, rules that are not taken (I31)."""

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from fencepost_intents.recurrence import check_rule, next_occurrence, occurrences_after

NEW_YORK = "America/New_York"


def local(zone: str, *parts: int) -> datetime:
    return datetime(*parts, tzinfo=ZoneInfo(zone))  # type: ignore[misc, arg-type]


def times(rule: str, start: datetime, zone: str, after: datetime, count: int) -> list[str]:
    place = ZoneInfo(zone)
    found = islice(occurrences_after(rule, start, zone, after), count)
    return [one.astimezone(place).isoformat() for one in found]


def test_a_time_in_the_gap_is_moved_behind_it_and_comes_back_the_next_day() -> None:
    start = local(NEW_YORK, 2027, 3, 13, 2, 30)
    assert times("FREQ=DAILY", start, NEW_YORK, start - timedelta(days=1), 3) == [
        "2027-03-13T02:30:00-05:00",
        "2027-03-14T03:30:00-04:00",
        "2027-03-15T02:30:00-04:00",
    ]


def test_a_time_that_is_there_twice_counts_once_the_first_time() -> None:
    start = local(NEW_YORK, 2027, 11, 6, 1, 30)
    assert times("FREQ=DAILY", start, NEW_YORK, start - timedelta(days=1), 3) == [
        "2027-11-06T01:30:00-04:00",
        "2027-11-07T01:30:00-04:00",
        "2027-11-08T01:30:00-05:00",
    ]


def test_the_wall_clock_is_the_same_on_both_sides_of_the_change() -> None:
    start = local("Europe/Berlin", 2027, 3, 26, 9)
    found = times("FREQ=WEEKLY;BYDAY=FR", start, "Europe/Berlin", start, 2)
    assert found == ["2027-04-02T09:00:00+02:00", "2027-04-09T09:00:00+02:00"]


def test_hours_and_minutes_count_elapsed_time() -> None:
    start = local(NEW_YORK, 2027, 3, 13, 23)
    steps = list(islice(occurrences_after("FREQ=HOURLY;INTERVAL=6", start, NEW_YORK, start), 3))
    assert [b - a for a, b in pairwise(steps)] == [timedelta(hours=6)] * 2


def test_a_rule_by_the_minute_is_not_walked_through_from_its_start() -> None:
    start = datetime(2000, 1, 1, tzinfo=UTC)
    now = datetime(2026, 11, 30, 12, 0, 30, tzinfo=UTC)
    assert next_occurrence("FREQ=MINUTELY", start, "UTC", now) == datetime(2026, 11, 30, 12, 1, tzinfo=UTC)
    assert next_occurrence("FREQ=MINUTELY", start, "UTC", start - timedelta(1)) == start


def test_short_months_are_skipped_and_leap_days_kept() -> None:
    start = local("Asia/Shanghai", 2027, 1, 31, 9)
    found = times("FREQ=MONTHLY;BYMONTHDAY=31", start, "Asia/Shanghai", start, 2)
    assert [one[:10] for one in found] == ["2027-03-31", "2027-05-31"]
    leap = local("Asia/Shanghai", 2028, 2, 29, 9)
    assert times("FREQ=YEARLY", leap, "Asia/Shanghai", leap, 1)[0][:10] == "2032-02-29"


def test_exceptions_are_left_out_in_whatever_zone_they_are_written() -> None:
    start = local("Asia/Shanghai", 2027, 3, 1, 8)
    without = [datetime(2027, 3, 2, 0, tzinfo=UTC), local("Asia/Shanghai", 2027, 3, 4, 8)]
    found = islice(occurrences_after("FREQ=DAILY", start, "Asia/Shanghai", start, without), 2)
    assert [one.astimezone(ZoneInfo("Asia/Shanghai")).day for one in found] == [3, 5]


def test_a_rule_ends_by_count_or_until_and_then_nothing_comes() -> None:
    start = local("Asia/Shanghai", 2027, 3, 1, 8)
    assert len(list(occurrences_after("FREQ=DAILY;COUNT=3", start, "Asia/Shanghai", start))) == 2
    until = "FREQ=DAILY;UNTIL=20270303T000000Z"  # 08:00 in Shanghai: included
    assert len(list(occurrences_after(until, start, "Asia/Shanghai", start))) == 2
    assert next_occurrence(until, start, "Asia/Shanghai", local("Asia/Shanghai", 2027, 3, 4)) is None


@pytest.mark.parametrize(
    "rule",
    [
        "",
        "X",
        "FREQ=SECONDLY",
        "FREQ=DAILY;FREQ=DAILY",
        "FREQ=DAILY;COUNT=0",
        "FREQ=DAILY;INTERVAL=0",
        "FREQ=DAILY;INTERVAL=x",
        "FREQ=WEEKLY;BYDAY=XX",
        "FREQ=DAILY;BYMONTHDAY=31",
        "FREQ=MINUTELY;BYMONTH=2",
        "FREQ=HOURLY;INTERVAL=7;BYDAY=MO",
        "FREQ=DAILY;COUNT=2;UNTIL=20300101T000000Z",
        "FREQ=DAILY;UNTIL=soon",
        "FREQ=DAILY\nEXDATE:20270101",
        "FREQ=YEARLY;BYEASTER=1",
        "FREQ=DAILY;DTSTART=20270101",
        "FREQ=DAILY;" * 50,
    ],
)
def test_rules_that_are_not_taken_are_refused_in_words(rule: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        check_rule(rule)


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=DAILY",
        "RRULE:FREQ=WEEKLY;BYDAY=MO,FR",
        "FREQ=MONTHLY;BYDAY=1MO",
        "FREQ=YEARLY;BYMONTH=3;BYMONTHDAY=5",
        "FREQ=MINUTELY;INTERVAL=30",
        "FREQ=DAILY;BYHOUR=9,18",
        "FREQ=MONTHLY;BYSETPOS=-1;BYDAY=MO,TU,WE,TH,FR",
    ],
)
def test_rules_people_use_are_taken(rule: str) -> None:
    check_rule(rule)

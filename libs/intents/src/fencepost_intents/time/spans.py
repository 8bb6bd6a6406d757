"""Spans: from one day or time of day to another."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta

from fencepost_intents.result import TimeResult
from fencepost_intents.time.calendar import month_end
from fencepost_intents.time.dates import days_of, shift_day
from fencepost_intents.time.halves import hours_of, is_open
from fencepost_intents.time.model import Clock, DateSpec, Days, Expr, Setting, Unreadable
from fencepost_intents.time.moments import moments
from fencepost_intents.time.readings import day_result, one_or_open
from fencepost_intents.time.zones import on_clock


def resolve_span(expr: Expr, setting: Setting, blank: TimeResult) -> TimeResult:
    """A span of days, or of times of day; Raises Unreadable for one that ends before it begins."""
    if expr.clock is None:
        return _day_span(expr, setting, blank)
    start, end = expr.clock, expr.clock_end
    if (
        end is not None
        and end.exact
        and end.hour > 12
        and expr.date_end is None
        and is_open(start, expr.part)
    ):
        start = replace(start, exact=True)  # 9点到18点 begins in the morning
        expr = replace(expr, clock=start)
    found = [_clock_span(at, notes, expr, setting, blank) for at, notes in moments(expr, start, setting)]
    return one_or_open(blank, found)


def _day_span(expr: Expr, setting: Setting, blank: TimeResult) -> TimeResult:
    readings: list[TimeResult] = []
    starts = days_of(expr.date, setting) if expr.date else (Days(setting.today, setting.today),)
    for start in starts:
        last = end_day(expr.date_end, start.last, setting) if expr.date_end else start.last
        if last < start.first:
            raise Unreadable("a span that ends before it begins")
        readings.append(day_result(Days(start.first, last, start.notes), False, blank))
    if expr.part or expr.clock_end:
        raise Unreadable("a part of day in a span of days")
    # A weekday range said today of all days has two starts; the nearest is plain.
    return readings[0]


def end_day(spec: DateSpec, start: date, setting: Setting) -> date:
    """The end of a span, counted from its start: 5日到7日 ends in the same month, Friday to Monday in the
    next week.
    """
    if spec[0] == "dom" and len(spec) == 2:
        day = start.replace(day=min(spec[1], month_end(start).day))
        return day if day >= start else shift_day(day, 1, "month", setting)
    if spec[0] == "weekday":
        return start + timedelta(days=(spec[1] - start.weekday()) % 7)
    if spec[0] == "named_month" and len(spec) == 2:
        spec = ("named_month", spec[1], start.year + (spec[1] < start.month))
    elif spec[0] == "ymd" and spec[1] is None:
        year = start.year + ((spec[2], spec[3]) < (start.month, start.day))
        spec = ("ymd", year, *spec[2:])
    return days_of(spec, setting)[-1].last


def _clock_span(
    start: datetime, notes: tuple[str, ...], expr: Expr, setting: Setting, blank: TimeResult
) -> TimeResult:
    day = end_day(expr.date_end, start.date(), setting) if expr.date_end else start.date()
    clock = expr.clock_end
    if clock is None:
        end = on_clock(datetime(day.year, day.month, day.day) + timedelta(days=1), setting.tz)[-1]
        return replace(blank, kind="span", start=start.isoformat(), end=end.isoformat(), inferred=notes)
    hour = _end_hour(clock, start, expr)
    wall = datetime(day.year, day.month, day.day) + timedelta(
        hours=hour, minutes=clock.minute, seconds=clock.second
    )
    end = on_clock(wall, setting.tz)[-1]
    if end <= start:
        end = on_clock(wall + timedelta(days=1), setting.tz)[-1]
    return replace(blank, kind="span", start=start.isoformat(), end=end.isoformat(), inferred=notes)


def _end_hour(clock: Clock, start: datetime, expr: Expr) -> int:
    if not is_open(clock, None) or expr.date_end is not None:
        return hours_of(clock, None if expr.date_end is None else expr.part, None)[0][0]
    # 3点到5点: the first time after the start at which the clock shows the hour.
    hour = clock.hour % 12
    while (hour, clock.minute) <= (start.hour, start.minute):
        hour += 12
    return hour

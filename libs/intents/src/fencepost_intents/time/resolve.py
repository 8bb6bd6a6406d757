"""An expression laid on the calendar: one reading, or all that are open.

Future-preferring where the sentence is of the future. What was decided without the words saying so stands in
`inferred`; where speakers differ the result is `ambiguous`.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Final

from fencepost_intents.result import TimeKind, TimeResult
from fencepost_intents.time.dates import days_of, shift_day
from fencepost_intents.time.durations import iso_duration, whole_units
from fencepost_intents.time.model import (
    PARTS,
    DateSpec,
    Days,
    Duration,
    Expr,
    Recurrence,
    Setting,
    Unreadable,
)
from fencepost_intents.time.moments import moments
from fencepost_intents.time.readings import day_result, left_open, one_or_open, point
from fencepost_intents.time.spans import resolve_span
from fencepost_intents.time.zones import on_clock, settle_zone, zone_info

_NOON_PARTS: Final = {"noon": 12}


def resolve(expr: Expr, setting: Setting, span: tuple[int, int], text: str) -> TimeResult:
    """The result of one expression. Never raises: what can't be read is ambiguous without candidates."""
    blank = TimeResult("ambiguous", span, text, confidence=0.3)
    try:
        if expr.zone:
            name = settle_zone(expr.zone, setting.zone)
            found = _elsewhere(expr, setting, zone_info(name), replace(blank, zone=name))
        else:
            found = _resolve(expr, setting, blank)
    except (Unreadable, OverflowError, ValueError):
        return replace(blank, inferred=("no such day or time",))
    if expr.leftover and found.kind != "ambiguous":
        # Part of the phrase wasn't understood, so its reading is only a proposal.
        found = left_open(blank, (found,), ("part of the phrase was not understood",))
    return found


def _elsewhere(expr: Expr, setting: Setting, tz: tzinfo, blank: TimeResult) -> TimeResult:
    """On another zone's clock. Its today may not be the speaker's: then both are tried, and what is past
    drops out.
    """
    there = replace(setting, tz=tz, reference=setting.reference.astimezone(tz))
    found = _resolve(expr, there, blank)
    if there.today == setting.today or expr.date is None or expr.date[0] not in _SPEAKERS_DAY:
        return found
    # The speaker's calendar day with that zone's clock hands: "past" is judged below, against the real
    # instant.
    midnight = on_clock(datetime.combine(setting.today, time(0)), tz)[-1]
    own = _resolve(expr, replace(there, reference=midnight), blank)
    readings = [one for one in (own, found) if one.value and "already past" not in one.inferred]
    readings = [one for one in readings if setting.direction <= 0 or _is_ahead(one, setting)]
    return one_or_open(blank, readings) if readings else found


def _is_ahead(found: TimeResult, setting: Setting) -> bool:
    value = found.value or ""
    return "T" not in value or datetime.fromisoformat(value) > setting.reference


_SPEAKERS_DAY: Final = frozenset(("day", "weekday", "week_weekday", "next_weekday", "this_weekday", "rel"))


def _resolve(expr: Expr, setting: Setting, blank: TimeResult) -> TimeResult:
    if expr.recurrence is not None:
        from fencepost_intents.time.recur import resolve_recurrence  # dateutil's 20 ms, for repetitions only

        return resolve_recurrence(expr, setting, blank)
    if expr.duration is not None:
        return _from_duration(expr, expr.duration, setting, blank)
    one_clock = (expr.clock is None) != (expr.clock_end is None)
    weekdays = (
        expr.date is not None and expr.date_end is not None and expr.date[0] == expr.date_end[0] == "weekday"
    )
    if expr.date and expr.date_end and one_clock and (weekdays or expr.clock is None):
        return _each_day(expr, setting, blank)
    if expr.date_end is not None or expr.clock_end is not None:
        return resolve_span(expr, setting, blank)
    if expr.clock is not None:
        kind: TimeKind = "deadline" if expr.deadline else "instant"
        return one_or_open(
            blank, [point(blank, kind, moment) for moment in moments(expr, expr.clock, setting)]
        )
    if expr.part is not None:
        return _part_of_day(expr, setting, blank)
    if expr.date is None:
        raise Unreadable("the end of a repetition that is nowhere said")
    return _days(expr, expr.date, setting, blank)


def _each_day(expr: Expr, setting: Setting, blank: TimeResult) -> TimeResult:
    """周一到周五早八点: on each of these days, of every week or of the one ahead; nobody can tell."""
    from fencepost_intents.time.recur import resolve_recurrence

    daily = replace(expr, clock=expr.clock or expr.clock_end, clock_end=None, recurrence=Recurrence("DAILY"))
    assert expr.date is not None
    first = days_of(expr.date, setting)[0].first
    once = replace(daily, date=("ymd", first.year, first.month, first.day))
    readings = [resolve_recurrence(one, setting, blank) for one in (daily, once)]
    distinct = {one.choice_value: one for one in readings if one.kind == "recurrence"}
    return left_open(blank, tuple(distinct.values()))


def _days(expr: Expr, spec: DateSpec, setting: Setting, blank: TimeResult) -> TimeResult:
    return one_or_open(blank, [day_result(one, expr.deadline, blank) for one in days_of(spec, setting)])


def _part_of_day(expr: Expr, setting: Setting, blank: TimeResult) -> TimeResult:
    part = expr.part or ""
    if part not in PARTS:
        raise Unreadable(part)
    if expr.date is None:
        days: tuple[Days, ...] = (Days(setting.today, setting.today),)
        if setting.direction > 0 and _ends_at(setting, setting.today, part) <= setting.reference:
            tomorrow = setting.today + timedelta(days=1)
            days = (Days(tomorrow, tomorrow, (f"{part} already past today, taken as tomorrow",)),)
        elif setting.direction < 0 and setting.reference.hour < PARTS[part][0]:
            yesterday = setting.today - timedelta(days=1)
            days = (Days(yesterday, yesterday),)
    else:
        days = days_of(expr.date, setting)
    return one_or_open(blank, [_part_result(one, part, expr, setting, blank) for one in days])


def _ends_at(setting: Setting, day: date, part: str) -> datetime:
    wall = datetime(day.year, day.month, day.day) + timedelta(hours=PARTS[part][1])
    return on_clock(wall, setting.tz)[-1]


def _part_result(days: Days, part: str, expr: Expr, setting: Setting, blank: TimeResult) -> TimeResult:
    if not days.is_day:
        return day_result(days, expr.deadline, blank)
    midnight = datetime(days.first.year, days.first.month, days.first.day)
    first, last = PARTS[part]
    if part in _NOON_PARTS and not expr.deadline:
        at = on_clock(midnight + timedelta(hours=12), setting.tz)[-1]
        return point(blank, "instant", (at, (*days.notes, "noon taken as 12:00")))
    start = on_clock(midnight + timedelta(hours=first), setting.tz)[-1]
    end = on_clock(midnight + timedelta(hours=last), setting.tz)[-1]
    if part == "later":
        start = max(start, setting.reference)
    if expr.deadline:
        return point(blank, "deadline", (end, (*days.notes, f"by the end of the {part}")))
    return replace(blank, kind="span", start=start.isoformat(), end=end.isoformat(), inferred=days.notes)


def _from_duration(expr: Expr, duration: Duration, setting: Setting, blank: TimeResult) -> TimeResult:
    if expr.clock is not None:
        sign = -1 if expr.mode == "before" else 1
        points = [
            (_moved(at, duration, sign, setting), notes) for at, notes in moments(expr, expr.clock, setting)
        ]
        return one_or_open(blank, [point(blank, "instant", moment) for moment in points])
    if expr.mode == "":
        return replace(blank, kind="duration", duration=iso_duration(duration), confidence=1.0)
    sign = -1 if expr.mode == "ago" else 1
    at = _moved(setting.reference, duration, sign, setting)
    if expr.mode == "within":
        value = at.isoformat() if duration.has_clock else at.date().isoformat()
        return replace(blank, kind="deadline", value=value, confidence=1.0)
    if duration.vague:
        unit, count = duration.units[0]
        low = _moved(setting.reference, Duration(((unit, count - 1), *duration.units[1:])), sign, setting)
        return left_open(blank, (point(blank, "instant", (low, ())), point(blank, "instant", (at, ()))))
    return point(blank, "instant", (at, ()))


def _moved(at: datetime, duration: Duration, sign: int, setting: Setting) -> datetime:
    """Days keep the clock, hours count real time: both across a change of the clocks."""
    seconds = 0
    day = at.date()
    for unit, count in whole_units(duration):
        if unit in ("hour", "minute", "second"):
            seconds += sign * count * {"hour": 3600, "minute": 60, "second": 1}[unit]
        else:
            day = shift_day(day, sign * count, unit, setting)
    if day != at.date():
        at = on_clock(datetime.combine(day, at.time()), setting.tz)[-1]
    if not seconds:
        return at
    return datetime.fromtimestamp(at.timestamp() + seconds, setting.tz)

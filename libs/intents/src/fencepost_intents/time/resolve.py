"""An expression laid on the calendar: one reading, or all that are open.

Future-preferring where the sentence is of the future. What was decided without the words saying so stands in
`inferred`; where speakers differ the result is `ambiguous`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Final

from fencepost_intents.result import TimeResult
from fencepost_intents.time.dates import days_of, month_end, shift_day
from fencepost_intents.time.durations import iso_duration, whole_units
from fencepost_intents.time.halves import hours_of, is_open
from fencepost_intents.time.model import PARTS, Clock, DateSpec, Days, Duration, Expr, Setting, Unreadable
from fencepost_intents.time.zones import on_clock, settle_zone, zone_info

Moment = tuple[datetime, tuple[str, ...]]  # an instant and what was inferred for it

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
        found = _open(blank, (found,), ("part of the phrase was not understood",))
    return found


def _elsewhere(expr: Expr, setting: Setting, tz: tzinfo, blank: TimeResult) -> TimeResult:
    """On another zone's clock. Its today may not be the speaker's: then both are tried, and what is past drops out."""
    there = replace(setting, tz=tz, reference=setting.reference.astimezone(tz))
    found = _resolve(expr, there, blank)
    if there.today == setting.today or expr.date is None or expr.date[0] not in _SPEAKERS_DAY:
        return found
    # The speaker's calendar day with that zone's clock hands: "past" is judged below, against the real instant.
    midnight = on_clock(datetime.combine(setting.today, time(0)), tz)[-1]
    own = _resolve(expr, replace(there, reference=midnight), blank)
    readings = [one for one in (own, found) if one.value and "already past" not in one.inferred]
    readings = [one for one in readings if setting.direction <= 0 or _is_ahead(one, setting)]
    return _one_or_open(blank, readings) if readings else found


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
    if expr.date_end is not None or expr.clock_end is not None:
        return _span(expr, setting, blank)
    if expr.clock is not None:
        kind = "deadline" if expr.deadline else "instant"
        return _one_or_open(blank, [_point(blank, kind, moment) for moment in moments(expr, expr.clock, setting)])
    if expr.part is not None:
        return _part_of_day(expr, setting, blank)
    assert expr.date is not None
    return _days(expr, expr.date, setting, blank)


# --- Points --------------------------------------------------------------------------------------------------------


def _point(blank: TimeResult, kind: str, moment: Moment) -> TimeResult:
    at, notes = moment
    confidence = 1.0 if not notes else 0.9
    return replace(blank, kind=kind, value=at.isoformat(), inferred=notes, confidence=confidence)


def _one_or_open(blank: TimeResult, readings: Sequence[TimeResult]) -> TimeResult:
    distinct = {(one.value, one.start, one.end): one for one in readings}
    if len(distinct) == 1:
        return readings[0]
    return _open(blank, tuple(distinct.values()))


def _open(blank: TimeResult, readings: tuple[TimeResult, ...], notes: tuple[str, ...] = ()) -> TimeResult:
    return replace(blank, kind="ambiguous", candidates=readings, inferred=notes, confidence=0.5)


def moments(expr: Expr, clock: Clock, setting: Setting) -> list[Moment]:
    """Every instant that a day (said or not) and a clock may name."""
    if expr.part == "both":
        raise Unreadable("morning and evening at once")
    hours = hours_of(clock, expr.part, setting.hint)
    found: list[Moment] = []
    if expr.date is None:
        for hour in hours:
            found += _undated(clock, hour, expr.part, setting)
        return _first_ahead(found, setting) if len(hours) > 1 and clock.alternative is None else found
    days = days_of(expr.date, setting)
    for day in days:
        if not day.is_day:
            raise Unreadable("a time of day in a longer period")
        for hour, note in hours:
            found += _wall(day.first, hour, clock, (*day.notes, *_notes(note)), setting)
    if setting.direction > 0:
        found = _prefer_ahead(found, days, clock, expr.part, setting)
    return found


def _notes(*notes: str) -> tuple[str, ...]:
    return tuple(note for note in notes if note)


def _wall(day: date, hour: int, clock: Clock, notes: tuple[str, ...], setting: Setting) -> list[Moment]:
    wall = datetime(day.year, day.month, day.day) + timedelta(hours=hour, minutes=clock.minute, seconds=clock.second)
    return [(at, notes) for at in on_clock(wall, setting.tz)]


def _undated(clock: Clock, hour: tuple[int, str], part: str | None, setting: Setting) -> list[Moment]:
    """A clock without a day: the next time it shows, or the last when the talk is of the past."""
    value, note = hour
    today = _wall(setting.today, value, clock, _notes(note), setting)
    passed = today[-1][0] <= setting.reference
    if setting.direction < 0:
        return today if passed else _wall(setting.today - timedelta(days=1), value, clock, _notes(note), setting)
    if not passed or setting.direction == 0:
        return today
    said = f"{value % 24:02}:{clock.minute:02} already past today, taken as tomorrow"
    tomorrow = _wall(setting.today + timedelta(days=1), value, clock, _notes(note, said), setting)
    if is_open(clock, part) and value <= 12:
        other = _wall(setting.today, value + 12, clock, (), setting)
        if other[0][0] > setting.reference:
            return [*other, *tomorrow]
    return tomorrow


def _prefer_ahead(
    found: list[Moment], days: Sequence[Days], clock: Clock, part: str | None, setting: Setting
) -> list[Moment]:
    ahead = [moment for moment in found if moment[0] > setting.reference]
    if ahead:
        return ahead
    if len(days) == 1 and is_open(clock, part) and days[0].first == setting.today and clock.hour < 12:
        later = _wall(setting.today, clock.hour + 12, clock, (f"{clock.hour:02}:{clock.minute:02} already past today, taken as evening",), setting)
        if later[0][0] > setting.reference:
            return later
    return [(at, (*notes, "already past")) for at, notes in found[:1]]


def _first_ahead(found: list[Moment], setting: Setting) -> list[Moment]:
    ahead = sorted(moment for moment in found if moment[0] > setting.reference)
    return ahead[:1] or found[:1]


# --- Days and parts ------------------------------------------------------------------------------------------------


def _days(expr: Expr, spec: DateSpec, setting: Setting, blank: TimeResult) -> TimeResult:
    return _one_or_open(blank, [_day_result(one, expr.deadline, blank) for one in days_of(spec, setting)])


def _day_result(days: Days, deadline: bool, blank: TimeResult) -> TimeResult:
    confidence = 1.0 if not days.notes else 0.9
    if deadline:
        return replace(blank, kind="deadline", value=days.last.isoformat(), inferred=days.notes, confidence=confidence)
    if days.is_day:
        return replace(blank, kind="date", value=days.first.isoformat(), inferred=days.notes, confidence=confidence)
    start, end = days.first.isoformat(), days.last.isoformat()
    return replace(blank, kind="span", start=start, end=end, inferred=days.notes, confidence=confidence)


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
    return _one_or_open(blank, [_part_result(one, part, expr, setting, blank) for one in days])


def _ends_at(setting: Setting, day: date, part: str) -> datetime:
    wall = datetime(day.year, day.month, day.day) + timedelta(hours=PARTS[part][1])
    return on_clock(wall, setting.tz)[-1]


def _part_result(days: Days, part: str, expr: Expr, setting: Setting, blank: TimeResult) -> TimeResult:
    if not days.is_day:
        return _day_result(days, expr.deadline, blank)
    midnight = datetime(days.first.year, days.first.month, days.first.day)
    first, last = PARTS[part]
    if part in _NOON_PARTS and not expr.deadline:
        at = on_clock(midnight + timedelta(hours=12), setting.tz)[-1]
        return _point(blank, "instant", (at, (*days.notes, "noon taken as 12:00")))
    start = on_clock(midnight + timedelta(hours=first), setting.tz)[-1]
    end = on_clock(midnight + timedelta(hours=last), setting.tz)[-1]
    if part == "later":
        start = max(start, setting.reference)
    if expr.deadline:
        return _point(blank, "deadline", (end, (*days.notes, f"by the end of the {part}")))
    return replace(blank, kind="span", start=start.isoformat(), end=end.isoformat(), inferred=days.notes)


# --- Durations -----------------------------------------------------------------------------------------------------


def _from_duration(expr: Expr, duration: Duration, setting: Setting, blank: TimeResult) -> TimeResult:
    if expr.clock is not None:
        sign = -1 if expr.mode == "before" else 1
        points = [(_moved(at, duration, sign, setting), notes) for at, notes in moments(expr, expr.clock, setting)]
        return _one_or_open(blank, [_point(blank, "instant", moment) for moment in points])
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
        return _open(blank, (_point(blank, "instant", (low, ())), _point(blank, "instant", (at, ()))))
    return _point(blank, "instant", (at, ()))


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


# --- Spans ---------------------------------------------------------------------------------------------------------


def _span(expr: Expr, setting: Setting, blank: TimeResult) -> TimeResult:
    if expr.clock is None:
        return _day_span(expr, setting, blank)
    found = [_clock_span(start, notes, expr, setting, blank) for start, notes in moments(expr, expr.clock, setting)]
    return _one_or_open(blank, found)


def _day_span(expr: Expr, setting: Setting, blank: TimeResult) -> TimeResult:
    readings: list[TimeResult] = []
    starts = days_of(expr.date, setting) if expr.date else (Days(setting.today, setting.today),)
    for start in starts:
        last = _end_day(expr.date_end, start.last, setting) if expr.date_end else start.last
        if last < start.first:
            raise Unreadable("a span that ends before it begins")
        readings.append(_day_result(Days(start.first, last, start.notes), False, blank))
    if expr.part or expr.clock_end:
        raise Unreadable("a part of day in a span of days")
    # A weekday range said today of all days has two starts; the nearest is plain.
    return readings[0]


def _end_day(spec: DateSpec, start: date, setting: Setting) -> date:
    """The end of a span, counted from its start: 5日到7日 ends in the same month, Friday to Monday in the next week."""
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


def _clock_span(start: datetime, notes: tuple[str, ...], expr: Expr, setting: Setting, blank: TimeResult) -> TimeResult:
    day = _end_day(expr.date_end, start.date(), setting) if expr.date_end else start.date()
    clock = expr.clock_end
    if clock is None:
        end = on_clock(datetime(day.year, day.month, day.day) + timedelta(days=1), setting.tz)[-1]
        return replace(blank, kind="span", start=start.isoformat(), end=end.isoformat(), inferred=notes)
    hour = _end_hour(clock, start, expr)
    wall = datetime(day.year, day.month, day.day) + timedelta(hours=hour, minutes=clock.minute, seconds=clock.second)
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

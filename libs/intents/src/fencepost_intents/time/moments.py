"""The instants that a day (said or not) and a time of day may name, and what was inferred for each."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta

from fencepost_intents.time.dates import days_of
from fencepost_intents.time.halves import Hour, hours_of, is_open
from fencepost_intents.time.model import Clock, Days, Expr, Setting, Unreadable
from fencepost_intents.time.zones import on_clock

_SMALL_HOURS = 5  # until then the day before isn't over for who is still up
Moment = tuple[datetime, tuple[str, ...]]  # an instant and what was inferred for it


def moments(expr: Expr, clock: Clock, setting: Setting) -> list[Moment]:
    """Every instant that a day (said or not) and a clock may name."""
    if expr.part == "both":
        raise Unreadable("morning and evening at once")
    hours = hours_of(clock, expr.part, setting.hint)
    found: list[Moment] = []
    if expr.date is None:
        for reading in hours:
            found += _undated(clock, reading, expr.part, setting)
        return _first_ahead(found, setting) if len(hours) > 1 and clock.alternative is None else found
    days = days_of(expr.date, setting)
    for day in days:
        if not day.is_day:
            raise Unreadable("a time of day in a longer period")
        for hour, note in hours:
            found += _wall(day.first, hour, clock, (*day.notes, *_notes(note)), setting)
    if setting.reference.hour < _SMALL_HOURS:
        found = [*_before_sleep(expr, clock, hours, setting), *found]
    if setting.direction > 0:
        found = _prefer_ahead(found, days, clock, expr.part, setting)
    return found


def _before_sleep(expr: Expr, clock: Clock, hours: Sequence[Hour], setting: Setting) -> list[Moment]:
    """Said after midnight: 明早 may be the morning ahead, and 今晚三点 the night that isn't over."""
    part = clock.part or expr.part
    day, hour = setting.today, hours[0][0]
    if expr.date == ("day", 1) and part == "morning" and len(hours) == 1:
        return _wall(day, hour, clock, ("the morning ahead",), setting)
    if expr.date == ("day", 0) and part in ("evening", "night") and 24 < hour < 24 + _SMALL_HOURS + 2:
        return _wall(day, hour - 24, clock, ("the night that is not over",), setting)
    return []


def _notes(*notes: str) -> tuple[str, ...]:
    return tuple(note for note in notes if note)


def _wall(day: date, hour: int, clock: Clock, notes: tuple[str, ...], setting: Setting) -> list[Moment]:
    wall = datetime(day.year, day.month, day.day) + timedelta(
        hours=hour, minutes=clock.minute, seconds=clock.second
    )
    return [(at, notes) for at in on_clock(wall, setting.tz)]


def _undated(clock: Clock, hour: tuple[int, str], part: str | None, setting: Setting) -> list[Moment]:
    """A clock without a day: the next time it shows, or the last when the talk is of the past."""
    value, note = hour
    today = _wall(setting.today, value, clock, _notes(note), setting)
    passed = today[-1][0] <= setting.reference
    if setting.direction < 0:
        return (
            today if passed else _wall(setting.today - timedelta(days=1), value, clock, _notes(note), setting)
        )
    if not passed or setting.direction == 0:
        return today
    said = f"{value % 24:02}:{clock.minute:02} already past today, taken as tomorrow"
    tomorrow = _wall(setting.today + timedelta(days=1), value, clock, _notes(note, said), setting)
    if is_open(clock, part) and value <= 12 and setting.hint is None:
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
        later = _wall(
            setting.today,
            clock.hour + 12,
            clock,
            (f"{clock.hour:02}:{clock.minute:02} already past today, taken as evening",),
            setting,
        )
        if later[0][0] > setting.reference:
            return later
    return [(at, (*notes, "already past")) for at, notes in found[:1]]


def _first_ahead(found: list[Moment], setting: Setting) -> list[Moment]:
    ahead = sorted(moment for moment in found if moment[0] > setting.reference)
    return ahead[:1] or found[:1]

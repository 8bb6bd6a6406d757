"""Weekdays, Monday first, as said: bare, this, next, last, of a week. Two readings where speakers differ."""

from __future__ import annotations

from datetime import timedelta

from fencepost_intents.time.calendar import Readings, monday_of, one_day
from fencepost_intents.time.model import Setting


def weekday(setting: Setting, weekday: int) -> Readings:
    """Friday: the nearest ahead (or behind); said on a Friday it may be today."""
    today = setting.today
    if setting.direction < 0:
        gap = (today.weekday() - weekday) % 7
        day = today - timedelta(days=gap)
        return one_day(day) if gap else (*one_day(day), *one_day(day - timedelta(days=7)))
    gap = (weekday - today.weekday()) % 7
    day = today + timedelta(days=gap)
    return one_day(day) if gap else (*one_day(day), *one_day(day + timedelta(days=7)))


def week_weekday(setting: Setting, weeks: int, weekday: int) -> Readings:
    """下周一, "Monday next week": weeks are counted from this one, Monday first."""
    return one_day(monday_of(setting.today) + timedelta(days=7 * weeks + weekday))


def next_weekday(setting: Setting, weekday: int) -> Readings:
    """ "next Friday": the coming one for some, that of next week for others. One reading where they agree."""
    coming = setting.today + timedelta(days=(weekday - setting.today.weekday() - 1) % 7 + 1)
    of_next_week = monday_of(setting.today) + timedelta(days=7 + weekday)
    return one_day(coming) if coming == of_next_week else (*one_day(coming), *one_day(of_next_week))


def last_weekday(setting: Setting, weekday: int) -> Readings:
    latest = setting.today - timedelta(days=(setting.today.weekday() - weekday - 1) % 7 + 1)
    of_last_week = monday_of(setting.today) + timedelta(days=weekday - 7)
    return one_day(latest) if latest == of_last_week else (*one_day(latest), *one_day(of_last_week))


def this_weekday(setting: Setting, weekday: int) -> Readings:
    """ "this Friday": of this week; a day gone by leaves open whether it or the coming one is meant."""
    day = monday_of(setting.today) + timedelta(days=weekday)
    if setting.direction >= 0 and day < setting.today:
        return (
            (*one_day(day + timedelta(days=7)), *one_day(day))
            if setting.direction == 0
            else one_day(day + timedelta(days=7))
        )
    return one_day(day)


def coming_weekday(setting: Setting, weekday: int) -> Readings:
    return one_day(setting.today + timedelta(days=(weekday - setting.today.weekday() - 1) % 7 + 1))

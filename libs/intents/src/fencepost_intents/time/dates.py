# Tables: an entry or a pattern is easier to check on one line than broken up.
# ruff: noqa: E501
"""Dates as said, laid on the calendar: one function an operation, each giving every reading that is open.

More than one reading means that speakers differ; the caller asks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from typing import Final

from fencepost_intents.time import periods, weekdays
from fencepost_intents.time.calendar import Readings, add_months, day_span, monday_of, month_end, one_day
from fencepost_intents.time.durations import whole_units
from fencepost_intents.time.holidays import lunar_day, nth_weekday
from fencepost_intents.time.model import DateSpec, Days, Duration, Setting, Unreadable


def days_of(spec: DateSpec, setting: Setting) -> Readings:
    """All readings of a date. Raises Unreadable for a day that doesn't exist."""
    name, *arguments = spec
    try:
        return OPERATIONS[name](setting, *arguments)
    except (ValueError, OverflowError) as cause:
        raise Unreadable(str(cause)) from cause


def _day(setting: Setting, offset: int) -> Readings:
    return one_day(setting.today + timedelta(days=offset))


def _ymd(setting: Setting, year: int | None, month: int, day: int) -> Readings:
    if year is not None:
        return one_day(date(year + 2000 if year < 100 else year, month, day))
    return one_day(_nearest_year(setting, lambda year: date(year, month, day)))


def _nearest_year(setting: Setting, of_year: Callable[[int], date]) -> date:
    """Without a year: the next one ahead, or the last one behind when the talk is of the past."""
    this = setting.today.year
    if setting.direction < 0:
        behind = (_try(of_year, year) for year in range(this, this - 9, -1))
        found = [day for day in behind if day and day <= setting.today]
        if not found:
            raise Unreadable("no such day in any year")
        return found[0]
    if setting.direction == 0 and (day := _try(of_year, this)):
        return day
    found = [day for year in range(this, this + 2) if (day := _try(of_year, year)) and day >= setting.today]
    if not found:
        raise Unreadable("no such day this year or next")
    return found[0]


def _try(of_year: Callable[[int], date], year: int) -> date | None:
    try:
        return of_year(year)
    except ValueError:
        return None


def _slash(setting: Setting, first: int, second: int, year: int | None, mark: str) -> Readings:
    """3/5: month first in Chinese and the US, day first elsewhere; open where the place isn't known."""
    orders = {(first, second), (second, first)}
    valid = [(month, day) for month, day in orders if month <= 12 and day <= 31]
    if len(valid) == 2:
        chosen = _slash_order(setting, mark)
        if chosen:
            valid = [(first, second) if chosen == "month" else (second, first)]
    found: list[Days] = []
    for month, day in sorted(valid):
        found += _ymd(setting, year, month, day)
    if not found:
        raise Unreadable("no such date")
    return tuple(found)


def _slash_order(setting: Setting, mark: str) -> str | None:
    locale, zone = (setting.locale or "").lower(), setting.zone or ""
    if mark == ".":
        return "day"
    if setting.language == "zh" or locale.startswith(("zh", "ja", "ko")) or locale == "en-us":
        return "month"
    if locale.startswith(("en-gb", "en-au", "en-nz", "en-ie", "en-in", "de", "fr", "es", "it")):
        return "day"
    if zone.startswith(
        ("America/New", "America/Los", "America/Chi", "America/Den", "America/Phoenix", "US/")
    ):
        return "month"
    if zone.startswith(
        ("Asia/Shanghai", "Asia/Taipei", "Asia/Tokyo", "Asia/Seoul", "Asia/Chong", "Asia/Urumqi")
    ):
        return "month"
    return "day" if zone.startswith(("Europe/", "Australia/")) else None


def _day_of_month(setting: Setting, day: int, months: int | None = None) -> Readings:
    """The 15th: of this month or the next that has it; or `months` from this one."""
    first = setting.today.replace(day=1)
    if months is not None:
        target = add_months(first, months)
        return one_day(target.replace(day=day))
    step = -1 if setting.direction < 0 else 1
    for ahead in range(12):
        target = add_months(first, step * ahead)
        if day > month_end(target).day:
            continue
        found = target.replace(day=day)
        if setting.direction == 0 or (found - setting.today).days * step >= 0:
            return one_day(found)
    raise Unreadable(f"no {day}th")


def _month_day(setting: Setting, years: int, month: int, day: int) -> Readings:
    return one_day(date(setting.today.year + years, month, day))


def _lunar(
    setting: Setting, month: int, day: int, years: int | None = None, year: int | None = None
) -> Readings:
    if year is not None or years is not None:
        return one_day(lunar_day(year or setting.today.year + (years or 0), month, day))
    # A lunar year begins in February: its last months may still be ahead though its number is last year's.
    candidates = [lunar_day(setting.today.year + step, month, day) for step in (-1, 0, 1)]
    if setting.direction < 0:
        return one_day(max(one for one in candidates if one <= setting.today))
    return one_day(min(one for one in candidates if one >= setting.today))


def _holiday(
    setting: Setting, name: str, years: int | None = None, year: int | None = None, shift: int = 0
) -> Readings:
    table, moved = setting.holidays, timedelta(days=shift)
    if year is not None or years is not None:
        return one_day(
            table.on(name, year if year is not None else setting.today.year + (years or 0)) + moved
        )
    days = [table.on(name, setting.today.year + step) + moved for step in (-1, 0, 1)]
    if setting.direction < 0:
        return one_day(max(one for one in days if one <= setting.today))
    return one_day(min(one for one in days if one >= setting.today))


def _past_holiday(setting: Setting, name: str) -> Readings:
    days = [setting.holidays.on(name, setting.today.year + step) for step in (-2, -1, 0)]
    return one_day(max(one for one in days if one < setting.today))


def _since(setting: Setting, spec: DateSpec) -> Readings:
    """ "since Monday": from then to today."""
    found = days_of(spec, replace(setting, direction=-1))
    return day_span(min(found[0].first, setting.today), setting.today)


def _past_month(setting: Setting, month: int) -> Readings:
    year = setting.today.year - (month >= setting.today.month)
    return periods.named_month(setting, month, year)


def _either(setting: Setting, *specs: DateSpec) -> Readings:
    return tuple(days for spec in specs for days in days_of(spec, setting))


def _shifted(setting: Setting, base: DateSpec, count: int, unit: str) -> Readings:
    """A number of days, weeks, months or working days from another date."""
    found: list[Days] = []
    for one in days_of(base, setting):
        start = one.last if count > 0 else one.first
        found += one_day(shift_day(start, count, unit, setting))
    return tuple(found)


def shift_day(day: date, count: int, unit: str, setting: Setting) -> date:
    """`count` units on from a day (back when negative)."""
    match unit:
        case "workday":
            return setting.holidays.add_workdays(day, count)
        case "month" | "quarter" | "year":
            return add_months(day, count * {"month": 1, "quarter": 3, "year": 12}[unit])
        case "hour" | "minute" | "second":
            raise Unreadable("days counted in hours")
        case _:
            return day + timedelta(days=count * {"day": 1, "week": 7, "fortnight": 14}[unit])


def _beside(setting: Setting, weekday: int, base: DateSpec, sign: int) -> Readings:
    """The nearest such weekday before (or after) a day."""
    day = days_of(base, setting)[0].first
    gap = (sign * (weekday - day.weekday()) - 1) % 7 + 1
    return one_day(day + timedelta(days=sign * gap))


def _nth(setting: Setting, n: int, weekday: int, month: DateSpec) -> Readings:
    """The nth weekday (or, weekday -1, the nth day) of a month."""
    found: list[Days] = []
    for one in days_of(month, setting):
        if weekday < 0:
            found += one_day(one.last + timedelta(days=n + 1) if n < 0 else one.first + timedelta(days=n - 1))
        else:
            found += one_day(nth_weekday(one.first.year, one.first.month, n, weekday))
    return tuple(found)


def _check_weekday(setting: Setting, base: DateSpec, weekday: int) -> Readings:
    """A date said with its weekday: where the two disagree, both are open."""
    readings = days_of(base, setting)
    agreeing = tuple(one for one in readings if one.first.weekday() == weekday)
    if agreeing or not readings:
        return agreeing
    day = readings[0].first
    nearest = min(
        (day + timedelta(days=gap) for gap in range(-3, 4)), key=lambda one: (one.weekday() != weekday, one)
    )
    return (*one_day(day), *one_day(nearest))


def _edge(setting: Setting, unit: str, edge: str, base: DateSpec | None = None) -> Readings:
    """月底, "end of the month": its last day. Beginnings and middles are vague and say so."""
    if unit == "week" and edge == "end" and base is None:
        monday = monday_of(setting.today)
        return (*one_day(monday + timedelta(days=4)), *one_day(monday + timedelta(days=6)))
    spec = base or {"month": ("month", 0), "year": ("year", 0), "quarter": ("quarter", 0), "week": ("week", 0),
                    "day": ("day", 0)}[unit]  # fmt: skip
    found: list[Days] = []
    for one in days_of(spec, setting):
        if edge == "end":
            found += one_day(one.last)
        elif edge == "start":
            ahead = base is None and setting.direction > 0 and one.first < setting.today and unit == "month"
            first = add_months(one.first, 1) if ahead else one.first
            found += one_day(first, f"start of the {unit} taken as its first day")
        else:
            middle = one.first + (one.last - one.first) // 2 if unit != "month" else one.first.replace(day=15)
            found += one_day(middle, f"middle of the {unit} taken as {middle.isoformat()}")
    return tuple(found)


def _third(setting: Setting, third: int, base: DateSpec | None) -> Readings:
    """上旬, 中旬, 下旬: the three parts of a month."""
    found: list[Days] = []
    for one in days_of(base or ("month", 0), setting):
        first = one.first.replace(day=10 * third + 1)
        found += day_span(first, one.last if third == 2 else one.first.replace(day=10 * third + 10))
    return tuple(found)


def _rel(setting: Setting, duration: Duration) -> Readings:
    """三天后, "in 2 weeks", 两天前: counted from today. A vague count leaves two readings."""
    day = setting.today
    for unit, count in whole_units(duration):
        day = shift_day(day, count, unit, setting)
    if not duration.vague:
        return one_day(day)
    unit, count = whole_units(duration)[0]
    return (
        *one_day(shift_day(setting.today, count - (1 if count > 0 else -1), unit, setting)),
        *one_day(day),
    )


def _nth_week(setting: Setting, n: int, month: DateSpec) -> Readings:
    """The nth seven days of a month, or its last seven."""
    found: list[Days] = []
    for one in days_of(month, setting):
        first = one.last - timedelta(days=6) if n < 0 else one.first + timedelta(days=7 * (n - 1))
        found += day_span(first, min(first + timedelta(days=6), one.last))
    return tuple(found)


def _week_of(setting: Setting, base: DateSpec) -> Readings:
    first = monday_of(days_of(base, setting)[0].first)
    return day_span(first, first + timedelta(days=6))


def _last_n(setting: Setting, count: int, unit: str) -> Readings:
    """The last 7 days, the past two weeks: up to and including today."""
    first = shift_day(setting.today, -count, unit, setting) + timedelta(days=1)
    return day_span(first, setting.today)


def _next_n(setting: Setting, count: int, unit: str) -> Readings:
    last = shift_day(setting.today, count, unit, setting)
    return day_span(setting.today + timedelta(days=1), last)


OPERATIONS: Final[dict[str, Callable[..., Readings]]] = {
    "day": _day, "ymd": _ymd, "slash": _slash, "dom": _day_of_month, "month_day": _month_day, "lunar": _lunar,
    "holiday": _holiday, "shifted": _shifted, "beside": _beside, "weekday": weekdays.weekday, "week_weekday": weekdays.week_weekday,
    "next_weekday": weekdays.next_weekday, "last_weekday": weekdays.last_weekday, "this_weekday": weekdays.this_weekday,
    "coming_weekday": weekdays.coming_weekday, "nth": _nth, "check_weekday": _check_weekday, "week": periods.week, "month": periods.month,
    "named_month": periods.named_month, "quarter": periods.quarter, "named_quarter": periods.named_quarter, "year": periods.year,
    "named_year": periods.named_year, "half_year": periods.half_year, "weekend": periods.weekend, "en_weekend": periods.en_weekend, "edge": _edge,
    "third": _third, "past_holiday": _past_holiday, "past_month": _past_month, "either": _either, "rel": _rel, "since": _since, "nth_week": _nth_week, "week_of": _week_of, "last_n": _last_n, "next_n": _next_n,
}  # fmt: skip

"""Dates as said, laid on the calendar: one function an operation, each giving every reading that is open.

More than one reading means that speakers differ; the caller asks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from typing import Any, Final

from fencepost_intents.time.durations import whole_units
from fencepost_intents.time.holidays import lunar_day, nth_weekday
from fencepost_intents.time.model import DateSpec, Days, Duration, Setting, Unreadable

Readings = tuple[Days, ...]


def days_of(spec: DateSpec, setting: Setting) -> Readings:
    """All readings of a date. Raises Unreadable for a day that doesn't exist."""
    name, *arguments = spec
    try:
        return OPERATIONS[name](setting, *arguments)
    except (ValueError, OverflowError) as cause:
        raise Unreadable(str(cause)) from cause


def month_end(day: date) -> date:
    return date(day.year + day.month // 12, day.month % 12 + 1, 1) - timedelta(days=1)


def add_months(day: date, months: int) -> date:
    """The same day of another month, or that month's last day where it is shorter."""
    index = day.year * 12 + day.month - 1 + months
    first = date(index // 12, index % 12 + 1, 1)
    return first.replace(day=min(day.day, month_end(first).day))


def _one(day: date, *notes: str) -> Readings:
    return (Days(day, day, notes),)


def _span(first: date, last: date, *notes: str) -> Readings:
    return (Days(first, last, notes),)


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


# --- Days ----------------------------------------------------------------------------------------------------------


def _day(setting: Setting, offset: int) -> Readings:
    return _one(setting.today + timedelta(days=offset))


def _ymd(setting: Setting, year: int | None, month: int, day: int) -> Readings:
    if year is not None:
        return _one(date(year + 2000 if year < 100 else year, month, day))
    return _one(_nearest_year(setting, lambda year: date(year, month, day)))


def _nearest_year(setting: Setting, of_year: Callable[[int], date]) -> date:
    """Without a year: the next one ahead, or the last one behind when the talk is of the past."""
    this = setting.today.year
    if setting.direction < 0:
        return next(day for year in range(this, this - 9, -1) if (day := _try(of_year, year)) and day <= setting.today)
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
    if zone.startswith(("America/New", "America/Los", "America/Chi", "America/Den", "America/Phoenix", "US/")):
        return "month"
    if zone.startswith(("Asia/Shanghai", "Asia/Taipei", "Asia/Tokyo", "Asia/Seoul", "Asia/Chong", "Asia/Urumqi")):
        return "month"
    return "day" if zone.startswith(("Europe/", "Australia/")) else None


def _day_of_month(setting: Setting, day: int, months: int | None = None) -> Readings:
    """The 15th: of this month or the next that has it; or `months` from this one."""
    first = setting.today.replace(day=1)
    if months is not None:
        target = add_months(first, months)
        return _one(target.replace(day=day))
    step = -1 if setting.direction < 0 else 1
    for ahead in range(12):
        target = add_months(first, step * ahead)
        if day > month_end(target).day:
            continue
        found = target.replace(day=day)
        if setting.direction == 0 or (found - setting.today).days * step >= 0:
            return _one(found)
    raise Unreadable(f"no {day}th")


def _month_day(setting: Setting, years: int, month: int, day: int) -> Readings:
    return _one(date(setting.today.year + years, month, day))


def _lunar(setting: Setting, month: int, day: int, years: int | None = None, year: int | None = None) -> Readings:
    if year is not None or years is not None:
        return _one(lunar_day(year or setting.today.year + (years or 0), month, day))
    # A lunar year begins in February: its last months may still be ahead though its number is last year's.
    candidates = [lunar_day(setting.today.year + step, month, day) for step in (-1, 0, 1)]
    if setting.direction < 0:
        return _one(max(one for one in candidates if one <= setting.today))
    return _one(min(one for one in candidates if one >= setting.today))


def _holiday(setting: Setting, name: str, years: int | None = None, year: int | None = None, shift: int = 0) -> Readings:
    table, moved = setting.holidays, timedelta(days=shift)
    if year is not None or years is not None:
        return _one(table.on(name, year if year is not None else setting.today.year + (years or 0)) + moved)
    days = [table.on(name, setting.today.year + step) + moved for step in (-1, 0, 1)]
    if setting.direction < 0:
        return _one(max(one for one in days if one <= setting.today))
    return _one(min(one for one in days if one >= setting.today))


def _past_holiday(setting: Setting, name: str) -> Readings:
    days = [setting.holidays.on(name, setting.today.year + step) for step in (-2, -1, 0)]
    return _one(max(one for one in days if one < setting.today))


def _since(setting: Setting, spec: DateSpec) -> Readings:
    """"since Monday": from then to today."""
    found = days_of(spec, replace(setting, direction=-1))
    return _span(min(found[0].first, setting.today), setting.today)


def _past_month(setting: Setting, month: int) -> Readings:
    year = setting.today.year - (month >= setting.today.month)
    return _named_month(setting, month, year)


def _either(setting: Setting, first: DateSpec, second: DateSpec) -> Readings:
    return (*days_of(first, setting), *days_of(second, setting))


def _shifted(setting: Setting, base: DateSpec, count: int, unit: str) -> Readings:
    """A number of days, weeks, months or working days from another date."""
    found: list[Days] = []
    for one in days_of(base, setting):
        start = one.last if count > 0 else one.first
        found += _one(shift_day(start, count, unit, setting))
    return tuple(found)


def shift_day(day: date, count: int, unit: str, setting: Setting) -> date:
    """`count` units on from a day (back when negative)."""
    match unit:
        case "workday":
            return setting.holidays.add_workdays(day, count)
        case "month" | "quarter" | "year":
            return add_months(day, count * {"month": 1, "quarter": 3, "year": 12}[unit])
        case _:
            return day + timedelta(days=count * {"day": 1, "week": 7, "fortnight": 14}[unit])


# --- Weekdays ------------------------------------------------------------------------------------------------------


def _weekday(setting: Setting, weekday: int) -> Readings:
    """Friday: the nearest ahead (or behind); said on a Friday it may be today."""
    today = setting.today
    if setting.direction < 0:
        gap = (today.weekday() - weekday) % 7
        day = today - timedelta(days=gap)
        return _one(day) if gap else (*_one(day), *_one(day - timedelta(days=7)))
    gap = (weekday - today.weekday()) % 7
    day = today + timedelta(days=gap)
    return _one(day) if gap else (*_one(day), *_one(day + timedelta(days=7)))


def _week_weekday(setting: Setting, weeks: int, weekday: int) -> Readings:
    """下周一, "Monday next week": weeks are counted from this one, Monday first."""
    return _one(_monday(setting.today) + timedelta(days=7 * weeks + weekday))


def _next_weekday(setting: Setting, weekday: int) -> Readings:
    """"next Friday": the coming one for some, that of next week for others. One reading where they agree."""
    coming = setting.today + timedelta(days=(weekday - setting.today.weekday() - 1) % 7 + 1)
    of_next_week = _monday(setting.today) + timedelta(days=7 + weekday)
    return _one(coming) if coming == of_next_week else (*_one(coming), *_one(of_next_week))


def _last_weekday(setting: Setting, weekday: int) -> Readings:
    latest = setting.today - timedelta(days=(setting.today.weekday() - weekday - 1) % 7 + 1)
    of_last_week = _monday(setting.today) + timedelta(days=weekday - 7)
    return _one(latest) if latest == of_last_week else (*_one(latest), *_one(of_last_week))


def _this_weekday(setting: Setting, weekday: int) -> Readings:
    """"this Friday": of this week; a day gone by leaves open whether it or the coming one is meant."""
    day = _monday(setting.today) + timedelta(days=weekday)
    if setting.direction >= 0 and day < setting.today:
        return (*_one(day + timedelta(days=7)), *_one(day)) if setting.direction == 0 else _one(day + timedelta(days=7))
    return _one(day)


def _coming_weekday(setting: Setting, weekday: int) -> Readings:
    return _one(setting.today + timedelta(days=(weekday - setting.today.weekday() - 1) % 7 + 1))


def _nth(setting: Setting, n: int, weekday: int, month: DateSpec) -> Readings:
    """The nth weekday (or, weekday -1, the nth day) of a month."""
    found: list[Days] = []
    for one in days_of(month, setting):
        if weekday < 0:
            found += _one(one.last + timedelta(days=n + 1) if n < 0 else one.first + timedelta(days=n - 1))
        else:
            found += _one(nth_weekday(one.first.year, one.first.month, n, weekday))
    return tuple(found)


def _check_weekday(setting: Setting, base: DateSpec, weekday: int) -> Readings:
    """A date said with its weekday: where the two disagree, both are open."""
    readings = days_of(base, setting)
    agreeing = tuple(one for one in readings if one.first.weekday() == weekday)
    if agreeing or not readings:
        return agreeing
    day = readings[0].first
    nearest = min((day + timedelta(days=gap) for gap in range(-3, 4)), key=lambda one: (one.weekday() != weekday, one))
    return (*_one(day), *_one(nearest))


# --- Periods -------------------------------------------------------------------------------------------------------


def _week(setting: Setting, weeks: int) -> Readings:
    first = _monday(setting.today) + timedelta(days=7 * weeks)
    return _span(first, first + timedelta(days=6))


def _month(setting: Setting, months: int) -> Readings:
    first = add_months(setting.today.replace(day=1), months)
    return _span(first, month_end(first))


def _named_month(setting: Setting, month: int, year: int | None = None, years: int | None = None) -> Readings:
    if years is not None:
        year = setting.today.year + years
    if year is None:
        year = setting.today.year
        if setting.direction > 0 and month < setting.today.month:
            year += 1
        elif setting.direction < 0 and month > setting.today.month:
            year -= 1
        elif setting.direction == 0 and month > setting.today.month:
            year -= 0
    first = date(year + 2000 if year < 100 else year, month, 1)
    return _span(first, month_end(first))


def _quarter(setting: Setting, quarters: int) -> Readings:
    first = add_months(setting.today.replace(month=(setting.today.month - 1) // 3 * 3 + 1, day=1), 3 * quarters)
    return _span(first, month_end(add_months(first, 2)))


def _named_quarter(setting: Setting, quarter: int, year: int | None = None, years: int = 0) -> Readings:
    first = date(year or setting.today.year + years, 3 * quarter - 2, 1)
    return _span(first, month_end(add_months(first, 2)))


def _year(setting: Setting, years: int) -> Readings:
    year = setting.today.year + years
    return _span(date(year, 1, 1), date(year, 12, 31))


def _named_year(setting: Setting, year: int) -> Readings:
    return _span(date(year, 1, 1), date(year, 12, 31))


def _half_year(setting: Setting, half: int, years: int = 0) -> Readings:
    year = setting.today.year + years
    return _span(date(year, 1, 1), date(year, 6, 30)) if half == 1 else _span(date(year, 7, 1), date(year, 12, 31))


def _weekend(setting: Setting, weeks: int | None) -> Readings:
    saturday = _monday(setting.today) + timedelta(days=5)
    if weeks is None:
        weeks = -1 if setting.direction < 0 and setting.today < saturday else 0
    saturday += timedelta(days=7 * weeks)
    return _span(saturday, saturday + timedelta(days=1))


def _en_weekend(setting: Setting, step: int) -> Readings:
    """"next weekend" said before Saturday: the coming one for some, the one after for others."""
    if step == 1 and setting.today.weekday() < 5:
        return (*_weekend(setting, 0), *_weekend(setting, 1))
    return _weekend(setting, step)


def _edge(setting: Setting, unit: str, edge: str, base: DateSpec | None = None) -> Readings:
    """月底, "end of the month": its last day. Beginnings and middles are vague and say so."""
    if unit == "week" and edge == "end" and base is None:
        monday = _monday(setting.today)
        return (*_one(monday + timedelta(days=4)), *_one(monday + timedelta(days=6)))
    spec = base or {"month": ("month", 0), "year": ("year", 0), "quarter": ("quarter", 0), "week": ("week", 0),
                    "day": ("day", 0)}[unit]  # fmt: skip
    found: list[Days] = []
    for one in days_of(spec, setting):
        if edge == "end":
            found += _one(one.last)
        elif edge == "start":
            ahead = base is None and setting.direction > 0 and one.first < setting.today and unit == "month"
            first = add_months(one.first, 1) if ahead else one.first
            found += _one(first, f"start of the {unit} taken as its first day")
        else:
            middle = one.first + (one.last - one.first) // 2 if unit != "month" else one.first.replace(day=15)
            found += _one(middle, f"middle of the {unit} taken as {middle.isoformat()}")
    return tuple(found)


def _third(setting: Setting, third: int, base: DateSpec | None) -> Readings:
    """上旬, 中旬, 下旬: the three parts of a month."""
    found: list[Days] = []
    for one in days_of(base or ("month", 0), setting):
        first = one.first.replace(day=10 * third + 1)
        found += _span(first, one.last if third == 2 else one.first.replace(day=10 * third + 10))
    return tuple(found)


def _rel(setting: Setting, duration: Duration) -> Readings:
    """三天后, "in 2 weeks", 两天前: counted from today. A vague count leaves two readings."""
    day = setting.today
    for unit, count in whole_units(duration):
        day = shift_day(day, count, unit, setting)
    if not duration.vague:
        return _one(day)
    unit, count = whole_units(duration)[0]
    return (*_one(shift_day(setting.today, count - (1 if count > 0 else -1), unit, setting)), *_one(day))


def _last_n(setting: Setting, count: int, unit: str) -> Readings:
    """The last 7 days, the past two weeks: up to and including today."""
    first = shift_day(setting.today, -count, unit, setting) + timedelta(days=1)
    return _span(first, setting.today)


def _next_n(setting: Setting, count: int, unit: str) -> Readings:
    last = shift_day(setting.today, count, unit, setting)
    return _span(setting.today + timedelta(days=1), last)


OPERATIONS: Final[dict[str, Callable[..., Any]]] = {
    "day": _day, "ymd": _ymd, "slash": _slash, "dom": _day_of_month, "month_day": _month_day, "lunar": _lunar,
    "holiday": _holiday, "shifted": _shifted, "weekday": _weekday, "week_weekday": _week_weekday,
    "next_weekday": _next_weekday, "last_weekday": _last_weekday, "this_weekday": _this_weekday,
    "coming_weekday": _coming_weekday, "nth": _nth, "check_weekday": _check_weekday, "week": _week, "month": _month,
    "named_month": _named_month, "quarter": _quarter, "named_quarter": _named_quarter, "year": _year,
    "named_year": _named_year, "half_year": _half_year, "weekend": _weekend, "en_weekend": _en_weekend, "edge": _edge,
    "third": _third, "past_holiday": _past_holiday, "past_month": _past_month, "either": _either, "rel": _rel, "since": _since, "last_n": _last_n, "next_n": _next_n,
}  # fmt: skip

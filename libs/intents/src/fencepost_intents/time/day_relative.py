"""What patterns of relative days, lunar days, holidays and quarters mean. See `day_numbers`."""

from __future__ import annotations

from typing import Any

from fencepost_intents.time.day_numbers import (
    CALENDAR_UNITS,
    DAY_UNITS,
    EN_PREFIX,
    EN_WEEKDAY,
    int_in,
    year_of,
)
from fencepost_intents.time.model import DateSpec


def rel_month_nth(prefix: Any, n: Any, weekday: Any) -> DateSpec | None:
    return ("nth", n, weekday, ("month", prefix)) if isinstance(prefix, int) else None


def rel_month_nth_day(prefix: Any, n: Any, unit: Any) -> DateSpec | None:
    return ("nth", n, -1, ("month", prefix)) if isinstance(prefix, int) and unit == "day" else None


def rel_month_day(prefix: Any, day: Any) -> DateSpec | None:
    number = int_in(day, 1, 31)
    return ("dom", number, prefix) if number and isinstance(prefix, int) else None


def rel_month(prefix: Any) -> DateSpec | None:
    return ("month", prefix) if isinstance(prefix, int) else None


def rel_weekday(prefix: Any, weekday: Any) -> DateSpec | None:
    if isinstance(prefix, int):
        return ("week_weekday", prefix, weekday)
    return (EN_WEEKDAY[prefix], weekday) if prefix in EN_WEEKDAY else None


def week_weekday(prefix: Any, unit: Any, weekday: Any) -> DateSpec | None:
    steps = EN_PREFIX.get(prefix, prefix)
    return ("week_weekday", steps, weekday) if unit == "week" and isinstance(steps, int) else None


def weekday_week(weekday: Any, prefix: Any, unit: Any) -> DateSpec | None:
    return week_weekday(prefix, unit, weekday)


def rel_unit(prefix: Any, unit: Any) -> DateSpec | None:
    steps = EN_PREFIX.get(prefix, prefix)
    if not isinstance(steps, int):
        return ("last_n", 1, unit) if prefix == "recent" and unit in DAY_UNITS else None
    if unit == "day" and prefix in ("next", "last", 1, -1):
        return ("day", steps)
    return (unit, steps) if unit in CALENDAR_UNITS else None


def rel_year(prefix: Any) -> DateSpec | None:
    return ("year", prefix) if isinstance(prefix, int) else None


def rel_n_units(prefix: Any, count: Any, unit: Any) -> DateSpec | None:
    number = int_in(count, 1, 400)
    if number is None or unit not in DAY_UNITS:
        return None
    if prefix in ("last", "recent", "this"):
        return ("last_n", number, unit)
    return ("next_n", number, unit) if prefix in ("next", "coming") else None


def rel_n_years(prefix: Any, count: Any) -> DateSpec | None:
    return rel_n_units(prefix, count, "year")


def rel_n_months(prefix: Any, count: Any) -> DateSpec | None:
    return rel_n_units(prefix, count, "month")


def rel_weekend(prefix: Any) -> DateSpec | None:
    if isinstance(prefix, int):
        return ("weekend", prefix)
    return ("en_weekend", EN_PREFIX[prefix]) if prefix in EN_PREFIX else None


def day_alone(day: Any) -> DateSpec | None:
    number = int_in(day, 1, 31)
    return None if number is None else ("dom", number)


def lunar_named(month: Any, day: Any) -> DateSpec | None:
    number = int_in(day, 1, 30)
    return None if number is None else ("lunar", month, number)


def lunar_number(month: Any, day: Any) -> DateSpec | None:
    number = int_in(month, 1, 12)
    return None if number is None else lunar_named(number, day)


def rel_lunar(years: Any, month: Any, day: Any) -> DateSpec | None:
    number, days = int_in(month, 1, 12), int_in(day, 1, 30)
    return None if number is None or days is None else ("lunar", number, days, years)


def year_lunar(year: Any, month: Any, day: Any) -> DateSpec | None:
    """2027年农历正月初一, 农历2026年十月初一."""
    years = year_of(year)
    base = lunar_named(month, day) if isinstance(month, int) else lunar_number(month, day)
    return None if years is None or base is None else (*base, None, years)


def year_quarter(year: Any, n: Any, unit: Any) -> DateSpec | None:
    years, base = year_of(year), quarter_(n, unit)
    return None if years is None or base is None else (*base, years)


def holiday_of_year(name: Any, prefix: Any, unit: Any) -> DateSpec | None:
    """ "Thanksgiving of next year"."""
    steps = EN_PREFIX.get(prefix, prefix)
    return ("holiday", name, steps) if unit == "year" and isinstance(steps, int) and name != "*" else None


def holiday_shift(name: Any, side: Any, count: Any, unit: Any) -> DateSpec | None:
    number = int_in(count, 1, 60)
    if number is None or unit not in DAY_UNITS or name == "*":
        return None
    return ("shifted", ("holiday", name), -number if side == "before" else number, unit)


def holiday_year(name: Any, year: Any) -> DateSpec | None:
    number = int_in(year, 1900, 2200)
    return None if number is None or name == "*" else ("holiday", name, None, number)


def year_holiday(year: Any, name: Any) -> DateSpec | None:
    return holiday_year(name, year)


def rel_holiday(prefix: Any, name: Any) -> DateSpec | None:
    if name == "*":
        return None
    if prefix == "last":
        return ("past_holiday", name)
    return ("holiday", name)


def quarter_(n: Any, unit: Any) -> DateSpec | None:
    number = int_in(n, 1, 4)
    return ("named_quarter", number) if number and unit == "quarter" else None


def rel_quarter(years: Any, n: Any, unit: Any) -> DateSpec | None:
    number = int_in(n, 1, 4)
    return ("named_quarter", number, None, years) if number and unit == "quarter" else None


def rel_literal(years: Any, spec: Any) -> DateSpec | None:
    if spec[0] == "half_year":
        return (*spec, years)
    return (spec[0], spec[1], None, years) if spec[0] == "named_quarter" else None

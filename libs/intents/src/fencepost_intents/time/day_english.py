"""What English patterns of days mean. See `day_numbers`."""

from __future__ import annotations

from typing import Any

from fencepost_intents.time.day_numbers import CALENDAR_UNITS, EN_PREFIX, int_in
from fencepost_intents.time.model import DateSpec


def en_month_day(month: int, day: Any) -> DateSpec | None:
    number = int_in(day, 1, 31)
    return None if number is None else ("ymd", None, month, number)


def en_month_day_year(month: int, day: Any, year: Any) -> DateSpec | None:
    days, years = int_in(day, 1, 31), int_in(year, 1900, 2200)
    return None if days is None or years is None else ("ymd", years, month, days)


def en_day_month(day: Any, month: int) -> DateSpec | None:
    return en_month_day(month, day)


def en_day_month_year(day: Any, month: int, year: Any) -> DateSpec | None:
    return en_month_day_year(month, day, year)


def en_month_year(month: int, year: Any) -> DateSpec | None:
    number = int_in(year, 1900, 2200)
    return None if number is None else ("named_month", month, number)


def en_rel_month(prefix: Any, month: int) -> DateSpec | None:
    return ("past_month", month) if prefix == "last" else ("named_month", month)


def edge_unit(edge: str, unit: str) -> DateSpec | None:
    return ("edge", unit, edge) if unit in (*CALENDAR_UNITS, "day") else None


def edge_rel_unit(edge: str, prefix: Any, unit: str) -> DateSpec | None:
    steps = EN_PREFIX.get(prefix, prefix)
    if unit not in CALENDAR_UNITS or not isinstance(steps, int):
        return None
    return ("edge", unit, edge) if steps == 0 else ("edge", unit, edge, (unit, steps))


def edge_month(edge: str, month: int) -> DateSpec | None:
    return ("edge", "month", edge, ("named_month", month))


def edge_day(edge: str, day: Any) -> DateSpec | None:
    return ("day", day[0]) if edge == "end" else None


def nth_of(n: Any, weekday: Any, prefix: Any, unit: Any) -> DateSpec | None:
    steps = EN_PREFIX.get(prefix or "this", 0)
    return ("nth", n, weekday, ("month", steps)) if unit == "month" else None


def nth_of_month(n: Any, weekday: Any, month: Any, year: Any = None) -> DateSpec | None:
    base = ("named_month", month) if year is None else en_month_year(month, year)
    return ("nth", n, weekday, base) if base else None


def last_of(prefix: Any, weekday: Any, inner: Any, unit: Any) -> DateSpec | None:
    return nth_of(-1, weekday, inner, unit) if prefix == "last" else None


def last_of_month(prefix: Any, weekday: Any, month: Any, year: Any = None) -> DateSpec | None:
    return nth_of_month(-1, weekday, month, year) if prefix == "last" else None


def last_day_of(prefix: Any, day: Any, inner: Any, unit: Any) -> DateSpec | None:
    return nth_of(-1, -1, inner, unit) if prefix == "last" and day == "day" else None


def nth_unit_of_month(n: Any, unit: Any, month: Any, year: Any = None) -> DateSpec | None:
    """ "the third day of October", "first week of August"."""
    base = ("named_month", month) if year is None else en_month_year(month, year)
    if base is None or unit not in ("day", "week"):
        return None
    return ("nth", n, -1, base) if unit == "day" else ("nth_week", n, base)


def last_unit_of_month(prefix: Any, unit: Any, month: Any, year: Any = None) -> DateSpec | None:
    return nth_unit_of_month(-1, unit, month, year) if prefix == "last" else None


def after_next(weekday: int, prefix: Any) -> DateSpec | None:
    """ "Friday after next": of next week for some, of the week after for others."""
    if prefix != "next":
        return None
    return ("either", ("week_weekday", 1, weekday), ("week_weekday", 2, weekday))


def nth_weekday_on(count: Any, plural: Any) -> DateSpec | None:
    """ "two Fridays from now"."""
    number = int_in(count, 1, 52)
    if number is None or len(plural) < 4 or len(plural[3]) != 1:
        return None
    return ("shifted", ("coming_weekday", plural[3][0]), number - 1, "week")


def week_of(unit: Any, month: Any, day: Any) -> DateSpec | None:
    base = en_month_day(month, day)
    return ("week_of", base) if unit == "week" and base else None


def nth_day_of(n: Any, day: Any, inner: Any, unit: Any) -> DateSpec | None:
    return nth_of(n, -1, inner, unit) if day == "day" else None


def ordinal_of(n: Any, prefix: Any, unit: Any) -> DateSpec | None:
    if unit != "month" or not 1 <= n <= 31:
        return None
    return ("dom", n, EN_PREFIX.get(prefix or "this", 0)) if prefix else ("dom", n)


def on_ordinal(glue: Any, n: Any) -> DateSpec | None:
    return ("dom", n) if glue == "on" and 1 <= n <= 31 else None


def the_ordinal(n: Any) -> DateSpec | None:
    return ("dom", n) if 1 <= n <= 31 else None


def rel_quarter_word(prefix: Any) -> DateSpec | None:
    return ("quarter", EN_PREFIX[prefix]) if prefix in EN_PREFIX else None


def quarter_word(n: Any) -> DateSpec | None:
    return ("named_quarter", n) if 1 <= n <= 4 else None


def quarter_year(n: Any, year: Any) -> DateSpec | None:
    number = int_in(year, 1900, 2200)
    return ("named_quarter", n, number) if number and 1 <= n <= 4 else None


def edge_quarter(edge: str) -> DateSpec:
    return ("edge", "quarter", edge)


def weekday_ordinal(weekday: int, n: Any) -> DateSpec | None:
    return ("check_weekday", ("dom", n), weekday) if 1 <= n <= 31 else None


def weekday_day(weekday: int) -> DateSpec:
    return ("weekday", weekday)


def literal(spec: DateSpec) -> DateSpec:
    return spec


def literal_year(spec: DateSpec, year: Any) -> DateSpec | None:
    """ "Q1 2027"."""
    number = int_in(year, 1900, 2200)
    return (*spec, number) if spec[0] == "named_quarter" and number else None


def day_word(value: tuple[int, str | None]) -> DateSpec:
    return ("day", value[0])


def edge_word(edge: tuple[str, str]) -> DateSpec:
    return ("edge", *edge)


def holiday_word(name: str) -> DateSpec:
    return ("holiday", name)


def rel_year_holiday(years: int, name: str) -> DateSpec | None:
    return None if name == "*" else ("holiday", name, years)


def rel_year_alone(years: int) -> DateSpec:
    return ("year", years)


def weekend_word() -> DateSpec:
    return ("weekend", None)


def month_word(month: int) -> DateSpec:
    return ("named_month", month)

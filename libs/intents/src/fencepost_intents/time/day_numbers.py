"""What patterns of numbered days mean, as operations of `dates`.

Each takes the values of a pattern's groups and answers the operation with its arguments, or None when the
values
name no such day (a 13th month): then the next pattern is tried.
"""

from __future__ import annotations

from typing import Any, Final

from fencepost_intents.literals import full_year
from fencepost_intents.numbers import Number
from fencepost_intents.time.model import DateSpec

EN_PREFIX: Final = {"next": 1, "last": -1, "this": 0, "coming": 0}
EN_WEEKDAY: Final = {
    "next": "next_weekday",
    "last": "last_weekday",
    "this": "this_weekday",
    "coming": "coming_weekday",
}
CALENDAR_UNITS: Final = ("week", "month", "quarter", "year")
DAY_UNITS: Final = ("day", "workday", "week", "fortnight", "month", "quarter", "year")


def int_in(value: Any, low: int, high: int) -> int | None:
    if isinstance(value, int):
        return value if low <= value <= high else None
    if (
        not isinstance(value, Number)
        or not value.is_int
        or value.low is not None
        or not low <= int(value) <= high
    ):
        return None
    return int(value)


def year_of(value: Any) -> int | None:
    if isinstance(value, Number) and value.low is not None and value.width == 2:
        return full_year(10 * int(value.low) + int(value.value))  # 二六年
    number = int_in(value, 0, 2200)
    if number is None or not (number >= 1900 or value.width == 2):
        return None
    return number if number >= 1900 else full_year(number)


def year_month_day(year: Any, month: Any, day: Any) -> DateSpec | None:
    found = (year_of(year), int_in(month, 1, 12), int_in(day, 1, 31))
    return None if None in found else ("ymd", *found)


def month_day(month: Any, day: Any) -> DateSpec | None:
    months, days = int_in(month, 1, 12), int_in(day, 1, 31)
    if months is None or days is None:
        return None
    return ("ymd", None, months, days)


def month_day_bare(month: Any, day: Any) -> DateSpec | None:
    found = month_day(month, day)
    if found == ("ymd", None, 8, 15) and not month.digits and not day.digits:
        return ("either", ("lunar", 8, 15), found)  # 八月十五 is mid-autumn for most, 15 August for some
    return found


def year_month(year: Any, month: Any) -> DateSpec | None:
    found = (int_in(month, 1, 12), year_of(year))
    return None if None in found else ("named_month", *found)


def year_alone(year: Any) -> DateSpec | None:
    number = int_in(year, 1900, 2200)
    return None if number is None else ("named_year", number)


def month_alone(month: Any) -> DateSpec | None:
    number = int_in(month, 1, 12)
    return None if number is None else ("named_month", number)


def rel_year_month_day(years: int, month: Any, day: Any) -> DateSpec | None:
    months, days = int_in(month, 1, 12), int_in(day, 1, 31)
    return None if months is None or days is None else ("month_day", years, months, days)


def rel_year_month(years: int, month: Any) -> DateSpec | None:
    number = int_in(month, 1, 12)
    return None if number is None else ("named_month", number, None, years)


def month_edge(month: Any, edge: Any) -> DateSpec | None:
    base = month_alone(month)
    return ("edge", *edge, base) if base and edge[0] == "month" else None


def rel_year_edge(years: int, edge: Any) -> DateSpec | None:
    return ("edge", *edge, ("year", years)) if edge[0] == "year" else None


def rel_edge(prefix: Any, edge: Any) -> DateSpec | None:
    steps = EN_PREFIX.get(prefix, prefix)
    return ("edge", *edge, (edge[0], steps)) if isinstance(steps, int) and edge[0] != "day" else None


def month_third(month: Any, third: Any) -> DateSpec | None:
    base = month_alone(month)
    return ("third", third, base) if base and isinstance(third, int) else None


def rel_month_third(prefix: Any, third: Any) -> DateSpec | None:
    return ("third", third, ("month", prefix)) if isinstance(prefix, int) and isinstance(third, int) else None


def third(third: Any) -> DateSpec | None:
    return ("third", third, None) if isinstance(third, int) else None


def month_nth(month: Any, n: Any, weekday: Any) -> DateSpec | None:
    base = month_alone(month)
    return ("nth", n, weekday, base) if base else None


def year_month_nth(year: Any, month: Any, n: Any, weekday: Any) -> DateSpec | None:
    """2027年五月最后一个星期一, 2027年五月第三天."""
    return _nth(year_month(year, month), n, weekday)


def rel_year_month_nth(years: int, month: Any, n: Any, weekday: Any) -> DateSpec | None:
    return _nth(rel_year_month(years, month), n, weekday)


def _nth(base: DateSpec | None, n: Any, weekday: Any) -> DateSpec | None:
    if base is None or not (weekday == "day" or isinstance(weekday, int)):
        return None
    return ("nth", n, -1 if weekday == "day" else weekday, base)


def month_nth_day(month: Any, n: Any, unit: Any) -> DateSpec | None:
    base = month_alone(month)
    if base and unit == "week":
        return ("nth_week", n, base)
    return ("nth", n, -1, base) if base and unit == "day" else None

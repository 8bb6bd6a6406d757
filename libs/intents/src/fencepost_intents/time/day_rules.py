"""Days and periods as said: patterns over token kinds, each with what it means as an operation of `dates`.

Longer patterns stand before shorter ones of the same first kind; a builder that answers None passes to the next.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from fencepost_intents.lexer import Tokens
from fencepost_intents.numbers import Number
from fencepost_intents.patterns import lazy
from fencepost_intents.time.model import DateSpec

_EN_PREFIX: Final = {"next": 1, "last": -1, "this": 0, "coming": 0}
_EN_WEEKDAY: Final = {"next": "next_weekday", "last": "last_weekday", "this": "this_weekday", "coming": "coming_weekday"}
_CALENDAR_UNITS: Final = ("week", "month", "quarter", "year")
_DAY_UNITS: Final = ("day", "workday", "week", "fortnight", "month", "quarter", "year")


def read_day(tokens: Tokens, at: int) -> tuple[DateSpec, int, str | None] | None:
    """The day or period at token `at`: its operation, the token after it, and a part of day it carries (今晚)."""
    for pattern, build in RULES.get(tokens.kinds[at : at + 1], ()):
        found = pattern.match(tokens.kinds, at)
        if found is None:
            continue
        values = [tokens.values[found.start(n)] if found.start(n) >= 0 else None for n in range(1, pattern.groups + 1)]
        spec = build(*values)
        if spec is not None:
            part = values[0][1] if tokens.kinds[at] == "D" else None
            return spec, found.end(), part
    return None


def _int(value: Any, low: int, high: int) -> int | None:
    if isinstance(value, int):
        return value if low <= value <= high else None
    if not isinstance(value, Number) or not value.is_int or value.low is not None or not low <= int(value) <= high:
        return None
    return int(value)


def _year_of(value: Any) -> int | None:
    number = _int(value, 0, 2200)
    if number is None or not (number >= 1900 or value.width == 2):
        return None
    return number if number >= 1900 else 2000 + number


def _year_month_day(year: Any, month: Any, day: Any) -> DateSpec | None:
    found = (_year_of(year), _int(month, 1, 12), _int(day, 1, 31))
    return None if None in found else ("ymd", *found)


def _month_day(month: Any, day: Any) -> DateSpec | None:
    months, days = _int(month, 1, 12), _int(day, 1, 31)
    if months is None or days is None:
        return None
    return ("ymd", None, months, days)


def _month_day_bare(month: Any, day: Any) -> DateSpec | None:
    found = _month_day(month, day)
    if found == ("ymd", None, 8, 15) and not month.digits and not day.digits:
        return ("either", ("lunar", 8, 15), found)  # 八月十五 is mid-autumn for most, 15 August for some
    return found


def _year_month(year: Any, month: Any) -> DateSpec | None:
    found = (_int(month, 1, 12), _year_of(year))
    return None if None in found else ("named_month", *found)


def _year_alone(year: Any) -> DateSpec | None:
    number = _int(year, 1900, 2200)
    return None if number is None else ("named_year", number)


def _month_alone(month: Any) -> DateSpec | None:
    number = _int(month, 1, 12)
    return None if number is None else ("named_month", number)


def _rel_year_month_day(years: int, month: Any, day: Any) -> DateSpec | None:
    months, days = _int(month, 1, 12), _int(day, 1, 31)
    return None if months is None or days is None else ("month_day", years, months, days)


def _rel_year_month(years: int, month: Any) -> DateSpec | None:
    number = _int(month, 1, 12)
    return None if number is None else ("named_month", number, None, years)


def _month_edge(month: Any, edge: Any) -> DateSpec | None:
    base = _month_alone(month)
    return ("edge", *edge, base) if base and edge[0] == "month" else None


def _rel_year_edge(years: int, edge: Any) -> DateSpec | None:
    return ("edge", *edge, ("year", years)) if edge[0] == "year" else None


def _rel_edge(prefix: Any, edge: Any) -> DateSpec | None:
    steps = _EN_PREFIX.get(prefix, prefix)
    return ("edge", *edge, (edge[0], steps)) if isinstance(steps, int) and edge[0] != "day" else None


def _month_third(month: Any, third: Any) -> DateSpec | None:
    base = _month_alone(month)
    return ("third", third, base) if base and isinstance(third, int) else None


def _rel_month_third(prefix: Any, third: Any) -> DateSpec | None:
    return ("third", third, ("month", prefix)) if isinstance(prefix, int) and isinstance(third, int) else None


def _third(third: Any) -> DateSpec | None:
    return ("third", third, None) if isinstance(third, int) else None


def _month_nth(month: Any, n: Any, weekday: Any) -> DateSpec | None:
    base = _month_alone(month)
    return ("nth", n, weekday, base) if base else None


def _month_nth_day(month: Any, n: Any, unit: Any) -> DateSpec | None:
    base = _month_alone(month)
    return ("nth", n, -1, base) if base and unit == "day" else None


def _rel_month_nth(prefix: Any, n: Any, weekday: Any) -> DateSpec | None:
    return ("nth", n, weekday, ("month", prefix)) if isinstance(prefix, int) else None


def _rel_month_nth_day(prefix: Any, n: Any, unit: Any) -> DateSpec | None:
    return ("nth", n, -1, ("month", prefix)) if isinstance(prefix, int) and unit == "day" else None


def _rel_month_day(prefix: Any, day: Any) -> DateSpec | None:
    number = _int(day, 1, 31)
    return ("dom", number, prefix) if number and isinstance(prefix, int) else None


def _rel_month(prefix: Any) -> DateSpec | None:
    return ("month", prefix) if isinstance(prefix, int) else None


def _rel_weekday(prefix: Any, weekday: Any) -> DateSpec | None:
    if isinstance(prefix, int):
        return ("week_weekday", prefix, weekday)
    return (_EN_WEEKDAY[prefix], weekday) if prefix in _EN_WEEKDAY else None


def _week_weekday(prefix: Any, unit: Any, weekday: Any) -> DateSpec | None:
    steps = _EN_PREFIX.get(prefix, prefix)
    return ("week_weekday", steps, weekday) if unit == "week" and isinstance(steps, int) else None


def _weekday_week(weekday: Any, prefix: Any, unit: Any) -> DateSpec | None:
    return _week_weekday(prefix, unit, weekday)


def _rel_unit(prefix: Any, unit: Any) -> DateSpec | None:
    steps = _EN_PREFIX.get(prefix, prefix)
    if not isinstance(steps, int):
        return ("last_n", 1, unit) if prefix == "recent" and unit in _DAY_UNITS else None
    if unit == "day" and prefix in ("next", "last", 1, -1):
        return ("day", steps)
    return (unit, steps) if unit in _CALENDAR_UNITS else None


def _rel_year(prefix: Any) -> DateSpec | None:
    return ("year", prefix) if isinstance(prefix, int) else None


def _rel_n_units(prefix: Any, count: Any, unit: Any) -> DateSpec | None:
    number = _int(count, 1, 400)
    if number is None or unit not in _DAY_UNITS:
        return None
    if prefix in ("last", "recent", "this"):
        return ("last_n", number, unit)
    return ("next_n", number, unit) if prefix in ("next", "coming") else None


def _rel_n_months(prefix: Any, count: Any) -> DateSpec | None:
    return _rel_n_units(prefix, count, "month")


def _rel_weekend(prefix: Any) -> DateSpec | None:
    if isinstance(prefix, int):
        return ("weekend", prefix)
    return ("en_weekend", _EN_PREFIX[prefix]) if prefix in _EN_PREFIX else None


def _day_alone(day: Any) -> DateSpec | None:
    number = _int(day, 1, 31)
    return None if number is None else ("dom", number)


def _lunar_named(month: Any, day: Any) -> DateSpec | None:
    number = _int(day, 1, 30)
    return None if number is None else ("lunar", month, number)


def _lunar_number(month: Any, day: Any) -> DateSpec | None:
    number = _int(month, 1, 12)
    return None if number is None else _lunar_named(number, day)


def _rel_lunar(years: Any, month: Any, day: Any) -> DateSpec | None:
    number, days = _int(month, 1, 12), _int(day, 1, 30)
    return None if number is None or days is None else ("lunar", number, days, years)


def _holiday_shift(name: Any, side: Any, count: Any, unit: Any) -> DateSpec | None:
    number = _int(count, 1, 60)
    if number is None or unit not in _DAY_UNITS:
        return None
    return ("shifted", ("holiday", name), -number if side == "before" else number, unit)


def _holiday_year(name: Any, year: Any) -> DateSpec | None:
    number = _int(year, 1900, 2200)
    return None if number is None else ("holiday", name, None, number)


def _year_holiday(year: Any, name: Any) -> DateSpec | None:
    return _holiday_year(name, year)


def _rel_holiday(prefix: Any, name: Any) -> DateSpec | None:
    if prefix == "last":
        return ("past_holiday", name)
    return ("holiday", name)


def _quarter(n: Any, unit: Any) -> DateSpec | None:
    number = _int(n, 1, 4)
    return ("named_quarter", number) if number and unit == "quarter" else None


def _rel_quarter(years: Any, n: Any, unit: Any) -> DateSpec | None:
    number = _int(n, 1, 4)
    return ("named_quarter", number, None, years) if number and unit == "quarter" else None


def _rel_literal(years: Any, spec: Any) -> DateSpec | None:
    return (*spec, years) if spec[0] == "half_year" else (spec[0], spec[1], None, years)


def _en_month_day(month: int, day: Any) -> DateSpec | None:
    number = _int(day, 1, 31)
    return None if number is None else ("ymd", None, month, number)


def _en_month_day_year(month: int, day: Any, year: Any) -> DateSpec | None:
    days, years = _int(day, 1, 31), _int(year, 1900, 2200)
    return None if days is None or years is None else ("ymd", years, month, days)


def _en_day_month(day: Any, month: int) -> DateSpec | None:
    return _en_month_day(month, day)


def _en_day_month_year(day: Any, month: int, year: Any) -> DateSpec | None:
    return _en_month_day_year(month, day, year)


def _en_month_year(month: int, year: Any) -> DateSpec | None:
    number = _int(year, 1900, 2200)
    return None if number is None else ("named_month", month, number)


def _en_rel_month(prefix: Any, month: int) -> DateSpec | None:
    return ("past_month", month) if prefix == "last" else ("named_month", month)


def _edge_unit(edge: str, unit: str) -> DateSpec | None:
    return ("edge", unit, edge) if unit in (*_CALENDAR_UNITS, "day") else None


def _edge_rel_unit(edge: str, prefix: Any, unit: str) -> DateSpec | None:
    steps = _EN_PREFIX.get(prefix, prefix)
    if unit not in _CALENDAR_UNITS or not isinstance(steps, int):
        return None
    return ("edge", unit, edge) if steps == 0 else ("edge", unit, edge, (unit, steps))


def _edge_month(edge: str, month: int) -> DateSpec | None:
    return ("edge", "month", edge, ("named_month", month))


def _edge_day(edge: str, day: Any) -> DateSpec | None:
    return ("day", day[0]) if edge == "end" else None


def _nth_of(n: Any, weekday: Any, prefix: Any, unit: Any) -> DateSpec | None:
    steps = _EN_PREFIX.get(prefix or "this", 0)
    return ("nth", n, weekday, ("month", steps)) if unit == "month" else None


def _nth_of_month(n: Any, weekday: Any, month: Any) -> DateSpec | None:
    return ("nth", n, weekday, ("named_month", month))


def _last_of(prefix: Any, weekday: Any, inner: Any, unit: Any) -> DateSpec | None:
    return _nth_of(-1, weekday, inner, unit) if prefix == "last" else None


def _last_of_month(prefix: Any, weekday: Any, month: Any) -> DateSpec | None:
    return _nth_of_month(-1, weekday, month) if prefix == "last" else None


def _last_day_of(prefix: Any, day: Any, inner: Any, unit: Any) -> DateSpec | None:
    return _nth_of(-1, -1, inner, unit) if prefix == "last" and day == "day" else None


def _last_day_of_month(prefix: Any, day: Any, month: Any) -> DateSpec | None:
    return _nth_of_month(-1, -1, month) if prefix == "last" and day == "day" else None


def _nth_day_of(n: Any, day: Any, inner: Any, unit: Any) -> DateSpec | None:
    return _nth_of(n, -1, inner, unit) if day == "day" else None


def _ordinal_of(n: Any, prefix: Any, unit: Any) -> DateSpec | None:
    if unit != "month" or not 1 <= n <= 31:
        return None
    return ("dom", n, _EN_PREFIX.get(prefix or "this", 0)) if prefix else ("dom", n)


def _on_ordinal(glue: Any, n: Any) -> DateSpec | None:
    return ("dom", n) if glue == "on" and 1 <= n <= 31 else None


def _the_ordinal(n: Any) -> DateSpec | None:
    return ("dom", n) if 1 <= n <= 31 else None


def _rel_quarter_word(prefix: Any) -> DateSpec | None:
    return ("quarter", _EN_PREFIX[prefix]) if prefix in _EN_PREFIX else None


def _quarter_word(n: Any) -> DateSpec | None:
    return ("named_quarter", n) if 1 <= n <= 4 else None


def _edge_quarter(edge: str) -> DateSpec:
    return ("edge", "quarter", edge)


def _weekday_ordinal(weekday: int, n: Any) -> DateSpec | None:
    return ("check_weekday", ("dom", n), weekday) if 1 <= n <= 31 else None


def _weekday_day(weekday: int) -> DateSpec:
    return ("weekday", weekday)


def _literal(spec: DateSpec) -> DateSpec:
    return spec


def _day_word(value: tuple[int, str | None]) -> DateSpec:
    return ("day", value[0])


def _edge_word(edge: tuple[str, str]) -> DateSpec:
    return ("edge", *edge)


def _holiday_word(name: str) -> DateSpec:
    return ("holiday", name)


def _rel_year_holiday(years: int, name: str) -> DateSpec:
    return ("holiday", name, years)


def _rel_year_alone(years: int) -> DateSpec:
    return ("year", years)


def _weekend_word() -> DateSpec:
    return ("weekend", None)


def _month_word(month: int) -> DateSpec:
    return ("named_month", month)


_NO_CLOCK: Final = r"(?![cugkKCJf%])"
_Build = Callable[..., "DateSpec | None"]
_TABLE: Final[tuple[tuple[str, _Build], ...]] = (
    (r"(L)", _literal), (r"(D)", _day_word),
    # Chinese, with numbers
    (r"(n)ys?(n)m(n)(?:d|(?![cugk]))", _year_month_day), (r"(n)ys?(n)m", _year_month), (r"(n)y(H)", _year_holiday),
    (r"(n)m([in])(?=d)d(?![a-z])", _month_day), (r"(n)m(i)", _lunar_number),
    (r"(n)ms?(o)(W)", _month_nth), (r"(n)ms?(o)(u)", _month_nth_day), (r"(n)m(n)d", _month_day),
    (r"(n)m(n)" + _NO_CLOCK, _month_day_bare), (r"(n)ms?(x)", _month_third), (r"(n)(x)", _month_third),
    (r"(n)(X)", _month_edge), (r"(n)m(?![A-Z]?u)", _month_alone), (r"(n)d", _day_alone), (r"(n)y", _year_alone),
    (r"(n)(u)", _quarter),
    (r"(q)s?l(n)m([in])d?", _rel_lunar), (r"(q)s?(n)m(n)(?:d|(?![cugk]))", _rel_year_month_day),
    (r"(q)s?(n)m", _rel_year_month), (r"(q)s?(X)", _rel_year_edge), (r"(q)s?(H)", _rel_year_holiday),
    (r"(q)s?(o)(u)", _rel_quarter), (r"(q)s?(n)(u)", _rel_quarter), (r"(q)s?(L)", _rel_literal), (r"(q)", _rel_year_alone),
    (r"l(n)m([in])d?", _lunar_number), (r"l?(j)([in])d?", _lunar_named), (r"(o)(u)(?![A-Z])", _quarter),
    (r"(p)ms?(n)d", _rel_month_day), (r"(p)ms?(o)(W)", _rel_month_nth), (r"(p)ms?(o)(u)", _rel_month_nth_day),
    (r"(p)ms?(x)", _rel_month_third), (r"(p)m", _rel_month), (r"(p)(X)", _rel_edge), (r"(p)y", _rel_year),
    (r"(p)(u)s?(W)", _week_weekday), (r"(p)(n)g?(u)", _rel_n_units), (r"(p)(n)gm", _rel_n_months),
    # English
    (r"(p)(W)s(?:s)?(p)?(u)", _last_of), (r"(p)(W)[sI]+([MU])", _last_of_month),
    (r"(p)(u)s(?:s)?(p)?(u)", _last_day_of), (r"(p)(u)[sI]+([MU])", _last_day_of_month),
    (r"(p)([WV])", _rel_weekday), (r"(p)E", _rel_weekend), (r"(p)(H)", _rel_holiday), (r"(p)([MU])", _en_rel_month),
    (r"(p)(u)", _rel_unit),
    (r"([MU])s?(o),?(n)", _en_month_day_year), (r"([MU])(n),?(n)", _en_month_day_year), (r"([MU])s?(o)", _en_month_day),
    (r"([MU])(n)(?![uKCJ%x])", _en_month_day), (r"([MU])s?(n)", _en_month_year), (r"(M)", _month_word), (r"(?<=[IspFBbt^])(U)", _month_word), (r"(?<=I)(n)", _year_alone), (r"(p)k", _rel_quarter_word), (r"(o)k", _quarter_word), (r"(\^)k", _edge_quarter), (r"s(o)(?=[@PTt,]|$)", _the_ordinal),
    (r"(o)(W)[sI]*(p)?(u)", _nth_of), (r"(o)(W)[sI]*([MU])", _nth_of_month), (r"(o)(u)s*(p)?(u)", _nth_day_of),
    (r"(o)s*([MU]),?(n)", _en_day_month_year), (r"(o)s*([MU])", _en_day_month), (r"(o)s+(p)?(u)", _ordinal_of),
    (r"(n)s?([MU]),?(n)", _en_day_month_year), (r"(n)s?([MU])", _en_day_month),
    (r"(s)(o)(?![Wu]|s+p?u|s*[MUW])", _on_ordinal),
    (r"(W)s?(p)(u)", _weekday_week), (r"(W)s*(o)(?!s*[MU])", _weekday_ordinal), (r"(W)", _weekday_day),
    (r"(V)(?=[@,PTn]|$)", _weekday_day), (r"(?<=s)(V)", _weekday_day),
    (r"(\^)(p)?(M)", lambda edge, _prefix, month: _edge_month(edge, month)), (r"(\^)(U)", _edge_month),
    (r"(\^)(p)(u)", _edge_rel_unit), (r"(\^)(u)", _edge_unit), (r"(\^)(D)", _edge_day),
    (r"(X)", _edge_word), (r"(x)(?=.?)", _third),
    (r"(H)s?([BA])(n)(u)", _holiday_shift), (r"(H),?(n)y?(?![ckKC])", _holiday_year), (r"(H)", _holiday_word),
    (r"E", _weekend_word),
)  # fmt: skip
RULES: Final[dict[str, tuple[tuple[re.Pattern[str], _Build], ...]]] = {}
for _source, _build in _TABLE:
    _first = _source.lstrip("(")
    _first = _first.removeprefix("?<=s)(").removeprefix("?<=[IspFBbt^])(").removeprefix("?<=I)(")
    _firsts = "MU" if _first.startswith("[MU") else _first.lstrip("\\")[0]
    if _first.startswith("l?"):
        _firsts = "lj"
    for _kind in _firsts:
        RULES[_kind] = (*RULES.get(_kind, ()), (lazy(_source), _build))

# Tables: an entry or a pattern is easier to check on one line than broken up.
# ruff: noqa: E501
"""Repetition as said: 每周一三五, 每隔两小时, "the first Monday of every month", "every other Friday"."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from fencepost_intents.numbers import Number
from fencepost_intents.patterns import lazy
from fencepost_intents.time.day_numbers import int_in
from fencepost_intents.time.model import Recurrence
from fencepost_intents.time.rules import first_meaning
from fencepost_intents.tokens import Tokens

DAYS: Final = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_FREQ: Final = {
    "second": ("SECONDLY", 1), "minute": ("MINUTELY", 1), "hour": ("HOURLY", 1), "day": ("DAILY", 1), "week": ("WEEKLY", 1),
    "fortnight": ("WEEKLY", 2), "month": ("MONTHLY", 1), "quarter": ("MONTHLY", 3), "year": ("YEARLY", 1),
}  # fmt: skip
_ROW: Final = lazy(r"[&,]?s?([WVn])")
_MONTH_DAYS: Final = lazy(r"[&,]s?(?:(n)d|(o))(?!s*[MU])")


def read_recurrence(tokens: Tokens, at: int) -> tuple[Recurrence, int] | None:
    """The repetition at token `at`, and the token after it."""
    if found := first_meaning(_RULES, tokens, at):
        return _more_days(tokens, *found)
    return None


def _more_days(tokens: Tokens, rule: Recurrence, at: int) -> tuple[Recurrence, int]:
    """周一、三、五; Monday, Wednesday and Friday; 周一到周五; the 1st and the 15th."""
    if rule.freq == "MONTHLY" and rule.by_month_day:
        while found := _MONTH_DAYS.match(tokens.kinds, at):
            value = tokens.values[found.start(1) if found.group(1) else found.start(2)]
            rule = _replace(rule, by_month_day=(*rule.by_month_day, int(value)))
            at = found.end()
        return rule, at
    if rule.freq != "WEEKLY" or not rule.by_day or rule.workdays:
        return rule, at
    days = [DAYS.index(day) for day in rule.by_day]
    if tokens.kinds[at : at + 1] == "t" and (last := _row(tokens, at + 1)) and len(last) == 1:
        first = days[-1]
        days += [day % 7 for day in range(first + 1, (last[0] if last[0] > first else last[0] + 7) + 1)]
        at += 2
    while found := _ROW.match(tokens.kinds, at):
        row = _row(tokens, found.end() - 1)
        following = tokens.kinds[found.end() : found.end() + 1]
        if row is None or (found.group(1) == "n" and following and following in "cmuydgkKCJ"):
            break
        days += row
        at = found.end()
    if tokens.kinds[at : at + 1] == "Q" or tokens.kinds[at : at + 2] == "&Q":
        step = at + (tokens.kinds[at] == "&")
        value = tokens.values[step]
        if len(value) > 3:
            days, at = days + list(value[3]), step + 1
            return _more_days(tokens, _replace(rule, by_day=_names(days)), at)
    return _replace(rule, by_day=_names(days)), at


def _row(tokens: Tokens, at: int) -> list[int] | None:
    """Weekdays of one token: a weekday, or a row of Chinese digits 1 to 7 (周一三五)."""
    kind = tokens.kinds[at : at + 1]
    value = tokens.values[at] if kind else None
    if kind in ("W", "V") and isinstance(value, int):
        return [value]
    if kind == "n" and isinstance(value, Number) and not value.digits:
        low = "" if value.low is None else str(value.low)
        digits = f"{low}{value.value}" if value.low is not None else str(value.value)
        return (
            [int(one) - 1 for one in digits]
            if digits.isdigit() and all(one in "1234567" for one in digits)
            else None
        )
    return None


def _names(days: list[int]) -> tuple[str, ...]:
    return tuple(DAYS[day] for day in sorted(set(days)))


def _replace(rule: Recurrence, **changes: Any) -> Recurrence:
    return replace(rule, **changes)


def _unit(unit: str, interval: int = 1) -> Recurrence | None:
    if unit == "workday":
        return Recurrence("WEEKLY", by_day=DAYS[:5], workdays=True) if interval == 1 else None
    if unit not in _FREQ:
        return None
    freq, times = _FREQ[unit]
    return Recurrence(freq, times * interval)


def _each_unit(unit: str) -> Recurrence | None:
    return _unit(unit)


def _workdays(unit: str) -> Recurrence | None:
    return _unit(unit) if unit == "workday" else None  # 工作日早上八点, without 每


def _n_units(count: Any, unit: str) -> Recurrence | None:
    number = int_in(count, 1, 1000)
    return None if number is None else _unit(unit, number)


def _half_unit(unit: str) -> Recurrence | None:
    return {"hour": Recurrence("MINUTELY", 30), "year": Recurrence("MONTHLY", 6)}.get(unit)


def _n_months(count: Any) -> Recurrence | None:
    return _n_units(count, "month")


def _skipping(count: Any, unit: str) -> Recurrence | None:
    """每隔一天 is every second day; 每隔两小时 every two hours; 每隔两天 differs between speakers, so both
    are kept.
    """
    number = int_in(count, 1, 1000)
    if number is None:
        return None
    if unit in ("hour", "minute", "second"):
        return _unit(unit, number)
    rule = _unit(unit, 2 if number == 1 else number)
    return rule if rule is None or number == 1 else replace(rule, other_interval=number + 1)


def _every_other(unit: str) -> Recurrence | None:
    return _unit(unit, 2)


def _weekday(weekday: int) -> Recurrence:
    return Recurrence("WEEKLY", by_day=(DAYS[weekday],))


def _unit_weekday(unit: str, weekday: int) -> Recurrence | None:
    return _weekday(weekday) if unit == "week" else None


def _n_unit_weekday(count: Any, unit: str, weekday: int) -> Recurrence | None:
    number = int_in(count, 1, 52)
    return Recurrence("WEEKLY", number, (DAYS[weekday],)) if number and unit == "week" else None


def _other_weekday(weekday: int) -> Recurrence:
    return Recurrence("WEEKLY", 2, (DAYS[weekday],))


def _weekends() -> Recurrence:
    return Recurrence("WEEKLY", by_day=("SA", "SU"))


def _month_day(day: Any) -> Recurrence | None:
    number = int_in(day, 1, 31)
    return None if number is None else Recurrence("MONTHLY", by_month_day=(number,))


def _n_month_day(count: Any, day: Any) -> Recurrence | None:
    months, number = int_in(count, 1, 24), int_in(day, 1, 31)
    return None if number is None or months is None else Recurrence("MONTHLY", months, by_month_day=(number,))


def _unit_month_day(unit: str, day: Any) -> Recurrence | None:
    return _month_day(day) if unit == "month" else None


def _day_each_unit(day: Any, unit: str) -> Recurrence | None:
    return _month_day(day) if unit == "month" else None


def _month_edge(edge: tuple[str, str]) -> Recurrence | None:
    if edge[0] != "month" or edge[1] == "middle":
        return None
    return Recurrence("MONTHLY", by_month_day=(-1 if edge[1] == "end" else 1,))


def _edge_each(edge: str, unit: str) -> Recurrence | None:
    return _month_edge((unit, edge))


def _nth_weekday(n: Any, weekday: int, unit: str = "month") -> Recurrence | None:
    return (
        Recurrence("MONTHLY", by_day=(f"{n}{DAYS[weekday]}",)) if unit == "month" and -1 <= n <= 5 else None
    )


def _run_of_days(word: Any, count: Any, unit: str) -> Recurrence | None:
    """连续三天: every day, three times."""
    number = int_in(count, 2, 366)
    return Recurrence("DAILY", count=number) if word == "run" and unit == "day" and number else None


def _quarter_day(quarter: str, n: Any, day: str) -> Recurrence | None:
    return _quarter_day_en(n, day) if quarter == "quarter" else None


def _quarter_day_en(n: Any, day: str) -> Recurrence | None:
    if day != "day" or n not in (1, -1):
        return None
    return Recurrence("YEARLY", by_month=(1, 4, 7, 10) if n == 1 else (3, 6, 9, 12), by_month_day=(n,))


def _day_of_year(day: Any, month: Any) -> Recurrence | None:
    return _year_day(month, day)


def _nth_day(n: Any, day: str, unit: str = "month") -> Recurrence | None:
    if day == "workday" and unit == "month":
        return Recurrence("MONTHLY", by_day=DAYS[:5], set_pos=n, workdays=True)
    return Recurrence("MONTHLY", by_month_day=(n,)) if day == "day" and unit == "month" else None


def _last_weekday(prefix: Any, weekday: int, unit: str) -> Recurrence | None:
    return _nth_weekday(-1, weekday, unit) if prefix == "last" else None


def _last_day(prefix: Any, day: str, unit: str) -> Recurrence | None:
    return _nth_day(-1, day, unit) if prefix == "last" else None


def _year_day(month: Any, day: Any) -> Recurrence | None:
    months, days = int_in(month, 1, 12), int_in(day, 1, 31)
    return (
        None
        if months is None or days is None
        else Recurrence("YEARLY", by_month=(months,), by_month_day=(days,))
    )


def _unit_year_day(unit: str, month: Any, day: Any) -> Recurrence | None:
    return _year_day(month, day) if unit == "year" else None


def _unit_day_year(unit: str, day: Any, month: Any) -> Recurrence | None:
    return _year_day(month, day) if unit == "year" else None


def _word(value: tuple[Any, ...]) -> Recurrence:
    freq, interval, part, *days = value
    if isinstance(part, int):
        return Recurrence(freq, interval, times=part)  # twice a day
    return Recurrence(freq, interval, tuple(DAYS[day] for day in days[0]) if days else (), part=part)


def _part(part: str) -> Recurrence | None:
    return Recurrence("DAILY", part=part)


_Build = Callable[..., "Recurrence | None"]
_TABLE: Final[tuple[tuple[str, _Build], ...]] = (
    (r"(4)(n)(u)", _run_of_days), (r"Rg?(u)s*(o)(u)", _quarter_day), (r"Rks*(o)(u)", _quarter_day_en), (r"s?(o)(u)s*Rk", _quarter_day_en),
    (r"R(o)s*([MU])", _day_of_year), (r"rhg?(u)", _half_unit),
    (r"Rg?ms*(o)(W)", _nth_weekday), (r"Rg?ms*(o)(u)", _nth_day), (r"Rg?ms*(n)d", _month_day), (r"Rg?(X)", _month_edge),
    (r"R(n)gms*(n)d", _n_month_day), (r"R(n)gm", _n_months), (r"Rg?ms*(X)", _month_edge),
    (r"Rg?m", lambda: Recurrence("MONTHLY")), (r"Rys*(n)m(n)d?", _year_day), (r"Ry", lambda: Recurrence("YEARLY")),
    (r"R(n)d", _month_day), (r"R(n)m(n)d", _year_day), (r"Rhs?[ag]?(u)", _half_unit), (r"Rhy", lambda: Recurrence("MONTHLY", 6)),
    (r"R(n)g?(u)s*(W)", _n_unit_weekday), (r"R(n)g?(u)", _n_units),
    (r"Rg?(u)s*(W)", _unit_weekday), (r"R(u)s*(o)(?!s*[MU])", _unit_month_day), (r"R(u)s*([MU])s?([on])", _unit_year_day),
    (r"R(u)s*([on])s?([MU])", _unit_day_year), (r"Rg?(u)", _each_unit), (r"Rg?(W)", _weekday), (r"R(V)", _weekday), (r"RE", _weekends),
    (r"R(o)(W)s*(u)", _nth_weekday), (r"R(o)(W)", _nth_weekday), (r"R(o)s+(u)", _day_each_unit), (r"R(p)(W)s*(u)", _last_weekday),
    (r"R(o)", _month_day), (r"R([MU])s?([on])", _year_day), (r"R(P)", _part),
    (r"Rk", lambda: Recurrence("MONTHLY", 3)), (r"r(n)g?(u)", _skipping), (r"r(u)s*(W)", lambda unit, day: _other_weekday(day) if unit == "week" else None),
    (r"r(u)", _every_other), (r"r(W)s+(u)", lambda day, unit: _nth_weekday(2, day, unit)), (r"r(W)", _other_weekday),
    (r"s?(o)(W)s*R(u)", _nth_weekday), (r"s?(o)s*R(u)", _day_each_unit), (r"s?(o)(u)s*R(u)", _nth_day),
    (r"(p)(W)s*R(u)", _last_weekday), (r"(p)(u)s*R(u)", _last_day),
    (r"(?<![np$])(u)(?=[Pn@T])", _workdays), (r"(\^)s*R(u)", _edge_each), (r"(Q)", _word),
)  # fmt: skip
_RULES: Final[dict[str, tuple[tuple[re.Pattern[str], _Build], ...]]] = {}
for _source, _build in _TABLE:
    _first = _source.removeprefix("(?<![np$])").lstrip("(").lstrip("\\")
    for _kind in ("s", "o") if _first.startswith("s?") else _first[0]:
        _RULES[_kind] = (*_RULES.get(_kind, ()), (lazy(_source), _build))

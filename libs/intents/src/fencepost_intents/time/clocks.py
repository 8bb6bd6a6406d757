# Tables: an entry or a pattern is easier to check on one line than broken up.
# ruff: noqa: E501
"""Times of day as said: 九点三刻, 差五分九点, "half past nine", 9:30pm, 15点."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from fencepost_intents.numbers import Number
from fencepost_intents.patterns import lazy
from fencepost_intents.time.model import Clock
from fencepost_intents.time.rules import first_meaning
from fencepost_intents.tokens import Tokens

# A bare English hour is one only after a word that leads to a time; never before a unit, a currency or a
# count.
_BARE: Final = r"(?![uygmdkKCJf$%zWMo*])"


def read_clock(tokens: Tokens, at: int, *, bare: bool = False) -> tuple[Clock, int] | None:
    """The time of day at token `at`, and the token after it.

    bare: a plain number counts as an hour here (after a day, or within a range).
    """
    if clock_and_end := first_meaning(_RULES, tokens, at):
        return clock_and_end
    if bare and (found := _PLAIN.match(tokens.kinds, at)):
        minute = tokens.values[found.start(2)] if found.start(2) >= 0 else None
        clock = _bare(tokens.values[at], minute)
        return None if clock is None else (clock, found.end())
    return None


def _int(value: Any, low: int, high: int) -> int | None:
    if (
        not isinstance(value, Number)
        or not value.is_int
        or value.low is not None
        or not low <= int(value) <= high
    ):
        return None
    return int(value)


def _at(hour: Any, minute: int = 0, about: Any = None) -> Clock | None:
    if isinstance(hour, Number) and hour.low is not None and 1 <= hour.value <= 12 and not minute:
        # 三四点: three or four.
        return Clock(int(hour.low), written=str(int(hour.low)), alternative=int(hour.value))
    number = _int(hour, 0, 24)
    if number is None:
        return None
    return Clock(
        number, minute, exact=number > 12 or number == 0, about=about == "about", written=str(number)
    )


def _zh(hour: Any, about: Any = None) -> Clock | None:
    return _at(hour, 0, about)


def _zh_half(hour: Any) -> Clock | None:
    return _at(hour, 30)


def _zh_minutes(hour: Any, minute: Any) -> Clock | None:
    number = _int(minute, 0, 59)
    # 三点五 is no time of day: five what? 三点零五 and 三点05 are.
    if number is None or (number < 10 and minute.width < 2):
        return None
    return _at(hour, number)


def _zh_minutes_said(hour: Any, minute: Any) -> Clock | None:
    number = _int(minute, 0, 59)
    return None if number is None else _at(hour, number)


def _zh_seconds(hour: Any, minute: Any, second: Any, unit: Any) -> Clock | None:
    clock, number = _zh_minutes_said(hour, minute), _int(second, 0, 59)
    return None if clock is None or number is None or unit != "second" else replace(clock, second=number)


def _after_base(minutes: Any, base: Any) -> Clock | None:
    """ "ten after 4pm"."""
    return _past_base(minutes, base) if _int(minutes, 5, 25) in (5, 10, 15, 20, 25) else None


def _zh_quarters(hour: Any, quarters: Any) -> Clock | None:
    number = _int(quarters, 1, 3)
    return None if number is None else _at(hour, 15 * number)


def _short_of(hour: Any, minutes: Any) -> Clock | None:
    whole, short = _int(hour, 1, 24), _int(minutes, 1, 59)
    if whole is None or short is None:
        return None
    return Clock(whole - 1 or 12, 60 - short, exact=whole > 13, written=str(whole))


def _zh_short(minutes: Any, hour: Any) -> Clock | None:
    return _short_of(hour, minutes)


def _zh_short_quarter(quarters: Any, hour: Any) -> Clock | None:
    number = _int(quarters, 1, 3)
    return None if number is None else _minus(hour, 15 * number)


def _minus(hour: Any, minutes: int) -> Clock | None:
    whole = _int(hour, 1, 24)
    return (
        None if whole is None else Clock(whole - 1 or 12, 60 - minutes, exact=whole > 13, written=str(whole))
    )


def _literal(value: tuple[int, int, int, str | None, str], half: str | None = None) -> Clock | None:
    hour, minute, second, own_half, written = value
    half = own_half or half
    if hour > 24 or (hour == 24 and minute) or (half and not 1 <= hour <= 12 and hour <= 12):
        return None
    exact = hour > 12 or hour == 0 or (half is None and len(written) == 2 and written[0] == "0")
    return Clock(hour, minute, second, None if hour > 12 else half, exact=exact, written=written)


def _en_half(hour: Any) -> Clock | None:
    return None if _int(hour, 1, 12) is None else _at(hour, 30)


def _en_half_past(hour: Any, half: Any = None) -> Clock | None:
    found = _en_half(hour)
    return found and Clock(found.hour, 30, half=half, written=found.written)


def _en_past(minutes: Any, hour: Any) -> Clock | None:
    number = _int(minutes, 1, 59)
    return None if number is None or _int(hour, 1, 12) is None else _at(hour, number)


def _en_quarter_past(hour: Any) -> Clock | None:
    return None if _int(hour, 1, 12) is None else _at(hour, 15)


def _en_quarter_to(hour: Any) -> Clock | None:
    return None if _int(hour, 1, 12) is None else _minus(hour, 15)


def _en_to(minutes: Any, hour: Any) -> Clock | None:
    # "9 to 10" is a range, "ten to nine" a time: spelt out, or with the word minutes.
    number = _int(minutes, 1, 29)
    spelt = isinstance(minutes, Number) and minutes.width >= 3  # 五到六点 is a range
    if (
        not spelt
        or number not in (5, 10, 20, 25)
        or minutes.digits
        or _int(hour, 1, 12) is None
        or hour.digits
    ):
        return None
    return _minus(hour, number)


def _en_minutes_to(minutes: Any, unit: Any, hour: Any) -> Clock | None:
    number = _int(minutes, 1, 59)
    if number is None or unit != "minute" or _int(hour, 1, 12) is None:
        return None
    return _minus(hour, number)


def _en_minutes_past(minutes: Any, unit: Any, hour: Any) -> Clock | None:
    return _en_past(minutes, hour) if unit == "minute" else None


def _half_of(hour: Any, half: Any) -> Clock | None:
    number = _int(hour, 1, 12)
    return (
        None if number is None or half not in ("am", "pm") else Clock(number, half=half, written=str(number))
    )


def _half_of_minutes(hour: Any, minute: Any, half: Any) -> Clock | None:
    number, minutes = _int(hour, 1, 12), _int(minute, 0, 59)
    if number is None or minutes is None or half not in ("am", "pm"):
        return None
    return Clock(number, minutes, half=half, written=str(number))


def _bare(hour: Any, minute: Any = None) -> Clock | None:
    number = _int(hour, 1, 24)
    if (
        number is None
        and _int(hour, 100, 2359)
        and hour.digits
        and hour.width in (3, 4)
        and int(hour) % 100 < 60
    ):
        # 1730, 930: hours and minutes written together.
        return Clock(int(hour) // 100, int(hour) % 100, exact=hour.width == 4, written=hour.integral_text)
    if number is None or (isinstance(hour, Number) and hour.digits and not hour.integral_text.isdigit()):
        return None
    if minute is not None:
        minutes = _int(minute, 10, 59)
        return None if minutes is None else Clock(number, minutes, exact=number > 12, written=str(number))
    return Clock(number, exact=number > 12, written=str(number))


def _of_base(base: Any, minutes: int) -> Clock | None:
    """A quarter or half from noon, midnight, or a clock with its own half: "quarter to noon", "half past 3pm"."""
    clock = _literal(base) if isinstance(base, tuple) else _noon(base)
    if clock is None or clock.minute:
        return None
    whole = (
        clock.hour % 12 + 12 if clock.half == "pm" else clock.hour % 12 if clock.half == "am" else clock.hour
    )
    moment = (whole * 60 + minutes) % 1440
    return Clock(moment // 60, moment % 60, exact=True, written=clock.written)


def _half_past_base(base: Any) -> Clock | None:
    return _of_base(base, 30)


def _quarter_past_base(base: Any) -> Clock | None:
    return _of_base(base, 15)


def _quarter_to_base(base: Any) -> Clock | None:
    return _of_base(base, -15)


def _past_base(minutes: Any, base: Any) -> Clock | None:
    number = _int(minutes, 1, 59)
    return None if number is None else _of_base(base, number)


def _noon(part: Any) -> Clock | None:
    if part == "noon_exact":
        return Clock(12, exact=True, written="noon")
    return Clock(24, exact=True, written="midnight") if part == "midnight" else None


_PLAIN: Final = lazy(r"(n)(n)?" + _BARE)
_Build = Callable[..., "Clock | None"]
_TABLE: Final[tuple[tuple[str, _Build], ...]] = (
    (r"(n)c(x)", _half_of), (r"(n)c(n)f(n)(u)", _zh_seconds), (r"(n)cI(n)f", _zh_minutes_said), (r"(n)A([TP])", _after_base), (r"(n)ch", _zh_half), (r"(n)c(n)k", _zh_quarters), (r"(n)c(n)f(?![KCJ])", _zh_minutes_said),
    (r"(n)c~(n)f", _short_of), (r"(n)c(n)(?![ugKCJhycmdk$z%])", _zh_minutes), (r"~(n)f(n)c", _zh_short),
    (r"~(n)k(n)c", _zh_short_quarter), (r"(n)(?=c)(c)?", _zh),
    (r"(T)c?(x)?", _literal), (r"S([TP])", _half_past_base), (r"kp([TP])", _quarter_past_base), (r"akp([TP])", _quarter_past_base), (r"k[tB]([TP])", _quarter_to_base), (r"ak[tB]([TP])", _quarter_to_base), (r"(n)p([TP])", _past_base), (r"S(n)(?:(?=x)(x))?", _en_half_past),
    (r"(n)(u)p(n)" + _BARE, _en_minutes_past), (r"(n)(u)[tB](n)" + _BARE, _en_minutes_to), (r"(n)p(n)" + _BARE, _en_past),
    (r"kp(n)", _en_quarter_past), (r"akp(n)", _en_quarter_past), (r"k[tB](n)", _en_quarter_to),
    (r"ak[tB](n)", _en_quarter_to), (r"(n)(n)(x)", _half_of_minutes), (r"(n)(x)", _half_of), (r"(n)t(n)" + _BARE, _en_to),
    (r"(P)", _noon), (r"@s?(n)(n)(x)", _half_of_minutes), (r"@s?(n)(x)", _half_of), (r"@s?(n)(n)" + _BARE, _bare), (r"@s?(n)(?!p[TPn]|A[TP]|c)" + _BARE, _bare),
)  # fmt: skip
_RULES: Final[dict[str, tuple[tuple[re.Pattern[str], _Build], ...]]] = {}
for _source, _build in _TABLE:
    _first = _source.lstrip("(")[0]
    _RULES[_first] = (*_RULES.get(_first, ()), (lazy(_source), _build))

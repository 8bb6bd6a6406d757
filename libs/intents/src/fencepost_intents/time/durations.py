"""Lengths of time as said: 一个半小时, 三刻钟, "an hour and a half", 1h30m."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, Final

from fencepost_intents.numbers import Number
from fencepost_intents.patterns import lazy
from fencepost_intents.time.model import Duration
from fencepost_intents.tokens import Tokens

_HALF: Final = Decimal("0.5")
# Kinds: n number, a article, h half, g 个, u unit, m 月, y 年, k quarter, f 分, & and, s of, # a few.
_TERM: Final = lazy(
    r"(?P<num>[na#])(?P<of>s)?(?P<mid>g?h|g|ah|&ah|&h)?(?P<unit>[umy])(?P<tail>h(?!s?[numy])|&ah(?!u)|&h(?!u))?"
    r"|(?P<half>h)s?[ag]?(?P<hunit>[umy])"
    r"|(?P<quarters>[na])(?P<kmid>g)?k(?:sau|su|su)?(?![t>Bn])"
    r"|(?P<minutes>n)f(?![KCJ])"
)
_SECONDS: Final = {
    "hour": 3600,
    "minute": 60,
    "second": 1,
    "day": 86400,
    "week": 604800,
    "fortnight": 1209600,
}
_WHOLE_PARTS: Final = {"year": ("month", 12), "quarter": ("month", 3), "month": ("day", 30)}
_ISO: Final = (("year", "Y"), ("month", "M"), ("week", "W"), ("day", "D"))


def read_duration(tokens: Tokens, at: int) -> tuple[Duration, int] | None:
    """The duration that begins at token `at`, and the token after it."""
    units: list[tuple[str, Decimal]] = []
    vague = False
    while found := _TERM.match(tokens.kinds, at):
        term = _term(tokens, found, bool(units))
        if term is None:
            break
        vague = vague or term[1]
        units.extend(term[0])
        at = found.end()
        # "an hour and 20 minutes", 1小时零5分: a joint goes on only into another, smaller term.
        joint = at
        if tokens.kinds[joint : joint + 1] in ("&", ","):
            joint += 1
        following = _TERM.match(tokens.kinds, joint)
        if following is None or not _is_smaller(tokens, following, units):
            break
        at = joint
    return (Duration(tuple(units), vague), at) if units else None


def _term(tokens: Tokens, found: re.Match[str], later: bool) -> tuple[list[tuple[str, Decimal]], bool] | None:
    if found.group("half"):
        unit = _unit(tokens, found.start("hunit"))
        return None if unit is None else ([(unit, _HALF)], False)
    if found.group("quarters"):
        count, _ = _count(tokens, found.start("quarters"))
        return ([("minute", 15 * count)], False) if count is not None and count <= 8 else None
    if found.group("minutes"):
        count, _ = _count(tokens, found.start("minutes"))
        return ([("minute", count)], False) if later and count is not None else None
    unit = _unit(tokens, found.start("unit"))
    count, vague = _count(tokens, found.start("num"))
    if unit is None or count is None:
        return None
    if found.group("unit") == "m" and "g" not in (found.group("mid") or ""):
        return None  # 三月 is March, 三个月 three months
    if found.group("unit") == "y" and count >= 1000:
        return None
    if "h" in (found.group("mid") or "") or found.group("tail"):
        count += _HALF
    return [(unit, count)], vague


def _unit(tokens: Tokens, at: int) -> str | None:
    kind = tokens.kinds[at]
    if kind == "m":
        return "month"
    return "year" if kind == "y" else tokens.values[at]


def _count(tokens: Tokens, at: int) -> tuple[Decimal | None, bool]:
    kind, value = tokens.kinds[at], tokens.values[at]
    if kind == "a":
        return Decimal(1), False
    if kind == "#":
        return Decimal(3), True
    if isinstance(value, Number):
        return value.value, value.low is not None
    return None, False


def _is_smaller(tokens: Tokens, found: re.Match[str], units: list[tuple[str, Decimal]]) -> bool:
    order = ("year", "quarter", "month", "fortnight", "week", "workday", "day", "hour", "minute", "second")
    if found.group("minutes") or found.group("quarters"):
        name: Any = "minute"
    else:
        name = _unit(tokens, found.start("unit") if found.group("unit") else found.start("hunit"))
    return name in order and order.index(name) > order.index(units[-1][0])


def whole_units(duration: Duration) -> list[tuple[str, int]]:
    """Fractions moved into smaller units: half a year is 6 months, half a day 12 hours."""
    found: list[tuple[str, int]] = []
    for unit, count in duration.units:
        whole, rest = int(count), count - int(count)
        if whole:
            found.append((unit, whole))
        if not rest:
            continue
        if unit in _WHOLE_PARTS:
            part, size = _WHOLE_PARTS[unit]
            found.append((part, round(rest * size)))
        else:
            found.append(("second", round(rest * _SECONDS.get(unit, 86400))))
    return found


def iso_duration(duration: Duration) -> str:
    """ISO 8601: `PT1H30M`, `P3D`, `P2W`."""
    totals: dict[str, int] = {}
    for unit, count in whole_units(duration):
        match unit:
            case "quarter":
                unit, count = "month", 3 * count
            case "fortnight":
                unit, count = "week", 2 * count
            case "workday":
                unit = "day"
        totals[unit] = totals.get(unit, 0) + count
    if "week" in totals and len(totals) > 1:
        totals["day"] = totals.get("day", 0) + 7 * totals.pop("week")
    dates = "".join(f"{totals[unit]}{letter}" for unit, letter in _ISO if totals.get(unit))
    seconds = totals.get("hour", 0) * 3600 + totals.get("minute", 0) * 60 + totals.get("second", 0)
    if not seconds:
        return f"P{dates}" if dates else "PT0S"
    hours, rest = divmod(seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    clock = "".join(
        f"{count}{letter}" for count, letter in ((hours, "H"), (minutes, "M"), (seconds, "S")) if count
    )
    return f"P{dates}T{clock}"

"""Times and amounts in words, Chinese and English: what a preview and a question must state.

Every instant is said with weekday, date, time and zone; every amount with its currency's name.
"""

from __future__ import annotations

from typing import Final

from fencepost_intents.naming import is_zh, say_amount, say_date, say_instant, say_moment
from fencepost_intents.result import TimeResult
from fencepost_intents.saying import say_rule

__all__ = [
    "is_zh",
    "say_amount",
    "say_date",
    "say_duration",
    "say_instant",
    "say_moment",
    "say_recurrence",
    "say_time",
]


def say_time(found: TimeResult, locale: str | None, zone: str | None = None) -> str:
    """Any time result in words, of whatever kind."""
    zone = found.zone or zone
    match found.kind:
        case "instant" | "date":
            return say_moment(found.value, zone, locale)
        case "deadline":
            said = say_moment(found.value, zone, locale)
            return f"{said}之前（含）" if is_zh(locale) else f"by {said}"
        case "span":
            first, last = say_moment(found.start, zone, locale), say_moment(found.end, zone, locale)
            return f"{first}至{last}" if is_zh(locale) else f"from {first} to {last}"
        case "duration":
            return say_duration(found.duration or "", locale)
        case "recurrence":
            return say_recurrence(found, locale, zone)
        case _:
            joint = "，还是" if is_zh(locale) else ", or "
            return joint.join(say_time(one, locale, zone) for one in found.candidates)


def say_duration(iso: str, locale: str | None) -> str:
    """`PT1H30M` as `1小时30分钟` or `1 hour 30 minutes`."""
    names = _ZH_UNITS if is_zh(locale) else _EN_UNITS
    parts: list[str] = []
    number = ""
    table = names["date"]
    for char in iso.removeprefix("P"):
        if char == "T":
            table = names["time"]
        elif char.isdigit() or char == ".":
            number += char
        else:
            plural = "" if is_zh(locale) or number == "1" else "s"
            parts.append(f"{number}{'' if is_zh(locale) else ' '}{table[char]}{plural}")
            number = ""
    return ("" if is_zh(locale) else " ").join(parts)


def say_recurrence(found: TimeResult, locale: str | None, zone: str | None = None) -> str:
    """The rule, its time of day, its end, its exceptions and the next occurrence, with zone."""
    return say_rule(found, locale, found.zone or zone)


_ZH_UNITS: Final = {
    "date": {"Y": "年", "M": "个月", "W": "周", "D": "天"},
    "time": {"H": "小时", "M": "分钟", "S": "秒"},
}
_EN_UNITS: Final = {
    "date": {"Y": "year", "M": "month", "W": "week", "D": "day"},
    "time": {"H": "hour", "M": "minute", "S": "second"},
}

"""Dates, clocks, zones and addresses in their written forms: 2026-03-05, 3/5, 9:30pm, UTC+8."""

from __future__ import annotations

import re
from typing import Any, Final

from fencepost_intents.patterns import lazy

CLOCK: Final = lazy(r"(\d{1,2})[:：](\d{2})(?::(\d{2}))?(?![\d:])(?: ?([ap])\.?m?\b\.?)?")
AMPM: Final = lazy(r"(\d{1,2})(?:\.?(\d{2}))? ?([ap])\.?m\b\.?")
DATES: Final = lazy(
    r"(?P<iso>(\d{4})-(\d{1,2})-(\d{1,2}))(?:[t ](?=\d{1,2}:))?"
    r"|(?P<ymd>(\d{4})[/.](\d{1,2})[/.](\d{1,2}))(?!\d)"
    r"|(?P<xyy>(\d{1,2})([/.-])(\d{1,2})\11(\d{4}|\d{2}))(?![\d.])"
    r"|(?P<dash>(\d{1,2})-(\d{1,2})(?= ?(?:上午|下午|中午|早上|晚上|凌晨|傍晚|早|晚|号|日|at\b)))"
    r"|(?P<md>(\d{1,2})/(\d{1,2}))(?![\d/])"
)
MILITARY: Final = lazy(r"([01]\d|2[0-3])([0-5]\d) ?(?:h|hrs|hours)\b")
ISO_OFFSET: Final = lazy(r"(z\b|([+-])(\d{2}):?(\d{2})(?!\d))")
ORDINAL: Final = lazy(r"(\d{1,2})(?:st|nd|rd|th)\b")
OFFSET: Final = lazy(r"(?:utc|gmt) ?([+-])(\d{1,2})(?::?(\d{2}))?")
IANA: Final = lazy(r"(?:asia|europe|america|australia|africa|pacific|atlantic)/[a-z_]+(?:/[a-z_]+)?")
URL: Final = lazy(r"https?://\S+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+")

_PIVOT: Final = 60  # two-digit years from here on are of the last century


def read_written(norm: str, at: int) -> tuple[str, Any, int] | None:
    """The clock, date or ordinal written at `at`: its token's kind and value, and its end."""
    if found := CLOCK.match(norm, at):
        hour, minute, second, half = found.groups()
        if int(hour) <= 24 and int(minute) < 60:
            return "T", (int(hour), int(minute), int(second or 0), half and half + "m", hour), found.end()
    if found := MILITARY.match(norm, at):
        hour, minute = found.groups()
        return "T", (int(hour), int(minute), 0, None, "0" + hour), found.end()
    if found := AMPM.match(norm, at):
        hour, minute, half = found.groups()
        if 0 < int(hour) <= 12 and int(minute or 0) < 60:
            return "T", (int(hour), int(minute or 0), 0, half + "m", hour), found.end()
    if (found := DATES.match(norm, at)) and (date := written_date(found)):
        return "L", date, found.end()
    if found := ORDINAL.match(norm, at):
        return "o", int(found.group(1)), found.end()
    return None


def full_year(year: int) -> int:
    """A year of two digits in full: 31 is 2031, 85 is 1985."""
    return year if year >= 100 else year + (1900 if year >= _PIVOT else 2000)


def is_quarter(norm: str, at: int) -> bool:
    """Whether a quarter's number follows `q`, as in Q3."""
    return norm[at : at + 1] in ("1", "2", "3", "4") and not norm[at + 1 : at + 2].isalnum()


def written_date(found: re.Match[str]) -> tuple[Any, ...] | None:
    """("ymd", y, m, d), or ("slash", first, second, year | None, separator) where the order depends on the
    place.
    """
    groups = [int(one) if one and one.isdigit() else one for one in found.groups()]
    if found.group("iso"):
        return ("ymd", *groups[1:4])
    if found.group("ymd"):
        return ("ymd", *groups[5:8])
    if found.group("xyy"):
        first, mark, second, year = groups[9:13]
        if mark in (".", "-") and isinstance(year, int) and year < 100:
            return None
        return ("slash", first, second, full_year(year) if isinstance(year, int) else year, mark)
    first, second = groups[14:16] if found.group("dash") else groups[17:19]
    if (
        not (isinstance(first, int) and isinstance(second, int))
        or not 0 < first <= 31
        or not 0 < second <= 31
    ):
        return None
    return ("slash", first, second, None, "/")


def offset_name(found: re.Match[str]) -> str:
    """`UTC+08:00` for a match of OFFSET."""
    sign, hours, minutes = found.groups()
    return f"UTC{sign}{int(hours):02}:{minutes or '00'}"

"""When a repetition is due next: its rule in its own zone, the wall clock kept over changes of summer time.

A time that doesn't exist (the clock is put forward) is moved forward by the gap; one that is there twice
counts the first time. Rules by the hour or minute without further conditions count elapsed time instead.
Pure functions, shared by who plans a reminder and who fires it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from dateutil.rrule import rrule, rrulestr

LONGEST_RULE: Final = 300  # characters
_ELAPSED: Final = {"SECONDLY": "seconds", "MINUTELY": "minutes", "HOURLY": "hours"}
_PARTS: Final = frozenset({"FREQ", "INTERVAL", "COUNT", "UNTIL", "BYDAY", "BYMONTHDAY", "BYMONTH", "BYSETPOS",
                           "BYHOUR", "BYMINUTE", "WKST"})  # fmt: skip
# What a frequency may be narrowed by. Other combinations may never come true, and looking for their next
# occurrence would go through every minute up to the year 9999.
_NARROWED_BY: Final = {
    "MINUTELY": frozenset({"BYDAY", "BYHOUR"}),
    "HOURLY": frozenset({"BYDAY", "BYHOUR"}),
    "DAILY": frozenset({"BYDAY", "BYMONTH", "BYHOUR", "BYMINUTE"}),
    "WEEKLY": frozenset({"BYDAY", "BYMONTH", "BYHOUR", "BYMINUTE"}),
    "MONTHLY": _PARTS,
    "YEARLY": _PARTS,
}
_COMMON: Final = frozenset({"FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST"})


def check_rule(rule: str) -> None:
    """Raise ValueError, in words for the user, for a rule that isn't taken."""
    parts = _parts(rule)
    if len(rule) > LONGEST_RULE:
        raise ValueError(f"the rule is longer than {LONGEST_RULE} characters")
    if unknown := parts.keys() - _PARTS:
        raise ValueError(f"{', '.join(sorted(unknown))} is not taken in a rule")
    freq = parts.get("FREQ", "")
    allowed = _NARROWED_BY.get(freq)
    if allowed is None:
        raise ValueError("FREQ is YEARLY, MONTHLY, WEEKLY, DAILY, HOURLY or MINUTELY")
    if beyond := parts.keys() - allowed - _COMMON:
        raise ValueError(f"{', '.join(sorted(beyond))} is not taken with {freq}")
    if "COUNT" in parts and "UNTIL" in parts:
        raise ValueError("a rule ends by COUNT or by UNTIL, not by both")
    narrowed = parts.keys() - _COMMON
    if freq in ("MINUTELY", "HOURLY", "DAILY") and narrowed and parts.get("INTERVAL", "1") != "1":
        raise ValueError(f"{freq} with an INTERVAL is not narrowed further")
    for name in ("INTERVAL", "COUNT"):
        if name in parts and not (
            parts[name].isascii() and parts[name].isdigit() and 0 < int(parts[name]) <= 10_000
        ):
            raise ValueError(f"{name} is a number from 1 to 10000")
    _rule(rule, datetime(2026, 1, 1), UTC)


def next_occurrence(
    rule: str, dtstart: datetime, zone: str, after: datetime, exdates: Collection[datetime] = ()
) -> datetime | None:
    """The first occurrence later than `after`, in UTC; None when the rule has ended.

    dtstart, after, exdates: aware; exdates are occurrences left out.
    Raises ValueError for a rule or zone that can't be read.
    """
    return next(occurrences_after(rule, dtstart, zone, after, exdates), None)


def occurrences_after(
    rule: str, dtstart: datetime, zone: str, after: datetime, exdates: Collection[datetime] = ()
) -> Iterator[datetime]:
    """Occurrences later than `after` in UTC, each later than the one before; exdates are left out."""
    left_out = frozenset(exdates)
    place: tzinfo = UTC if _is_elapsed(rule) else ZoneInfo(zone)
    wall = _nearer(rule, dtstart, after).astimezone(place).replace(tzinfo=None)
    last = after
    for local in _rule(rule, wall, place):
        # fold=0: of two equal times the first; in a gap the offset before it, which lands behind the gap.
        occurrence = local.replace(tzinfo=place, fold=0).astimezone(UTC)
        if occurrence > last:
            last = occurrence
            if occurrence not in left_out:
                yield occurrence


def _nearer(rule: str, dtstart: datetime, after: datetime) -> datetime:
    """Skip whole steps of an elapsed-time rule: a year by the minute is half a million of them."""
    parts = _parts(rule)
    if not _is_elapsed(rule) or "COUNT" in parts or after <= dtstart:
        return dtstart
    step = timedelta(**{_ELAPSED[parts["FREQ"]]: int(parts.get("INTERVAL", "1"))})
    return dtstart + (after - dtstart) // step * step


def _parts(rule: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in rule.strip().upper().removeprefix("RRULE:").split(";"):
        name, equals, value = part.partition("=")
        if not equals or name in found:
            raise ValueError("a rule is NAME=VALUE;NAME=VALUE, each name once")
        found[name] = value
    return found


def _is_elapsed(rule: str) -> bool:
    upper = rule.upper()
    return any(f"FREQ={freq}" in upper for freq in _ELAPSED) and ";BY" not in upper


def _rule(rule: str, wall: datetime, place: tzinfo) -> Iterator[datetime]:
    """Wall-clock occurrences; an UNTIL in UTC is brought to the same wall clock."""
    parts = []
    for name, value in _parts(rule).items():
        if name == "UNTIL" and value.endswith("Z"):
            until = datetime.strptime(value, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).astimezone(place)
            value = until.strftime("%Y%m%dT%H%M%S")
        parts.append(f"{name}={value}")
    parsed = rrulestr("RRULE:" + ";".join(parts), dtstart=wall)
    if not isinstance(parsed, rrule):
        raise ValueError("a repetition has one rule")
    return iter(parsed)

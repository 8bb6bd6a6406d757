"""When a reminder is due next: its rule in its own zone, wall clock kept over changes of summer time.

A time that doesn't exist (the clock is put forward) is moved forward by the gap; one that is there twice
counts the first time. Rules by the hour or minute without further conditions count elapsed time instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import islice
from typing import Final
from zoneinfo import ZoneInfo

from dateutil.rrule import rrule, rrulestr

LATE_AFTER: Final = timedelta(seconds=60)  # told so late that the text should say when it was due
MISSED_AT_ONCE: Final = 500  # recorded in one transaction; a rule by the minute may have missed thousands
_ELAPSED: Final = ("SECONDLY", "MINUTELY", "HOURLY")


@dataclass(frozen=True, slots=True)
class Plan:
    """fires: the last occurrence due (None: only missed ones this time). following: the next after now."""

    fires: datetime | None
    late: bool
    skipped: tuple[datetime, ...]
    following: datetime | None


def plan(*, rule: str | None, dtstart: datetime, zone: str, next_at: datetime, now: datetime) -> Plan:
    """What to record of a reminder that is due: `next_at` is at or before `now`. All instants aware.

    Raises ValueError for a rule or zone that can't be read.
    """
    due, following = [next_at], None
    for occurrence in _after(rule, dtstart, zone, next_at) if rule else iter(()):
        if occurrence > now:
            following = occurrence
            break
        if len(due) > MISSED_AT_ONCE:
            return Plan(None, True, tuple(due), occurrence)
        due.append(occurrence)
    return Plan(due[-1], now - due[-1] > LATE_AFTER, tuple(due[:-1]), following)


def first_after(rule: str, dtstart: datetime, zone: str, instant: datetime) -> datetime | None:
    """The next occurrence after `instant`, or None when the rule has ended."""
    return next(iter(islice(_after(rule, dtstart, zone, instant), 1)), None)


def _after(rule: str, dtstart: datetime, zone: str, instant: datetime) -> Iterator[datetime]:
    """Occurrences after `instant` in UTC, each later than the one before."""
    place: tzinfo = UTC if _is_elapsed(rule) else ZoneInfo(zone)
    wall = dtstart.astimezone(place).replace(tzinfo=None)
    last = instant
    for local in _rule(rule, wall, place):
        # fold=0: of two equal times the first; in a gap the offset before it, which lands behind the gap.
        occurrence = local.replace(tzinfo=place, fold=0).astimezone(UTC)
        if occurrence > last:
            last = occurrence
            yield occurrence


def _is_elapsed(rule: str) -> bool:
    upper = rule.upper()
    return any(f"FREQ={freq}" in upper for freq in _ELAPSED) and ";BY" not in upper


def _rule(rule: str, wall: datetime, place: tzinfo) -> Iterator[datetime]:
    """Wall-clock occurrences; an UNTIL in UTC is brought to the same wall clock."""
    parts = []
    for part in rule.strip().removeprefix("RRULE:").split(";"):
        name, _, value = part.partition("=")
        if name.upper() == "UNTIL" and value.upper().endswith("Z"):
            until = datetime.strptime(value.upper(), "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).astimezone(place)
            value = until.strftime("%Y%m%dT%H%M%S")
        parts.append(f"{name}={value}")
    parsed = rrulestr("RRULE:" + ";".join(parts), dtstart=wall)
    if not isinstance(parsed, rrule):
        raise ValueError("a reminder has one rule")
    return iter(parsed)

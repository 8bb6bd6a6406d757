"""When a reminder is due next: its rule in its own zone, wall clock kept over changes of summer time.

A time that doesn't exist (the clock is put forward) is moved forward by the gap; one that is there twice
counts the first time. Rules by the hour or minute without further conditions count elapsed time instead.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from fencepost_intents.recurrence import occurrences_after

LATE_AFTER: Final = timedelta(seconds=60)  # told so late that the text should say when it was due
MISSED_AT_ONCE: Final = 500  # recorded in one transaction; a rule by the minute may have missed thousands


@dataclass(frozen=True, slots=True)
class Plan:
    """fires: the last occurrence due (None: only missed ones this time). following: the next after now."""

    fires: datetime | None
    late: bool
    skipped: tuple[datetime, ...]
    following: datetime | None


def plan(
    *,
    rule: str | None,
    dtstart: datetime,
    zone: str,
    next_at: datetime,
    now: datetime,
    exdates: Collection[datetime] = (),
) -> Plan:
    """What to record of a reminder that is due: `next_at` is at or before `now`. All instants aware.

    Raises ValueError for a rule or zone that can't be read.
    """
    due, following = [next_at], None
    for occurrence in occurrences_after(rule, dtstart, zone, next_at, exdates) if rule else iter(()):
        if occurrence > now:
            following = occurrence
            break
        if len(due) > MISSED_AT_ONCE:
            return Plan(None, True, tuple(due), occurrence)
        due.append(occurrence)
    return Plan(due[-1], now - due[-1] > LATE_AFTER, tuple(due[:-1]), following)

"""Results of one reading, or of several that are open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fencepost_intents.result import TimeKind, TimeResult
from fencepost_intents.time.model import Days
from fencepost_intents.time.moments import Moment


def point(blank: TimeResult, kind: TimeKind, moment: Moment) -> TimeResult:
    """An instant or deadline."""
    at, notes = moment
    confidence = 1.0 if not notes else 0.9
    return replace(blank, kind=kind, value=at.isoformat(), inferred=notes, confidence=confidence)


def one_or_open(blank: TimeResult, readings: Sequence[TimeResult]) -> TimeResult:
    """The reading where all agree; else all of them, open."""
    distinct = {(one.value, one.start, one.end): one for one in readings}
    if len(distinct) == 1:
        return readings[0]
    return left_open(blank, tuple(distinct.values()))


def left_open(blank: TimeResult, readings: tuple[TimeResult, ...], notes: tuple[str, ...] = ()) -> TimeResult:
    return replace(blank, kind="ambiguous", candidates=readings, inferred=notes, confidence=0.5)


def day_result(days: Days, deadline: bool, blank: TimeResult) -> TimeResult:
    confidence = 1.0 if not days.notes else 0.9
    if deadline:
        return replace(
            blank, kind="deadline", value=days.last.isoformat(), inferred=days.notes, confidence=confidence
        )
    if days.is_day:
        return replace(
            blank, kind="date", value=days.first.isoformat(), inferred=days.notes, confidence=confidence
        )
    start, end = days.first.isoformat(), days.last.isoformat()
    return replace(blank, kind="span", start=start, end=end, inferred=days.notes, confidence=confidence)

"""Which half of the day an hour means: what the words say, and what any speaker takes for granted."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from fencepost_intents.time.model import Clock

# An hour of 24 or more lies on the next day. The note says what was inferred, or is empty.
Hour = tuple[int, str]

AFTERNOON_TO: Final = 6  # bare 1 to 6 are taken as afternoon, 7 to 11 as morning


def hours_of(clock: Clock, part: str | None, hint: str | None) -> tuple[Hour, ...]:
    """The readings of a clock's hour."""
    hour, part = clock.hour, clock.part or part
    if clock.alternative is not None:
        both = (
            replace(clock, alternative=None),
            replace(clock, hour=clock.alternative, written=str(clock.alternative), alternative=None),
        )
        return tuple(one for each in both for one in hours_of(each, part, hint))
    if clock.half:
        return ((hour % 12 + (12 if clock.half == "pm" else 0), ""),)
    if clock.exact and not (part in ("evening", "night") and hour in (0, 24)):
        return ((hour, ""),)
    if part in _BY_PART:
        return _BY_PART[part](hour)
    return (bare_hour(clock, hint),)


def bare_hour(clock: Clock, hint: str | None) -> Hour:
    """An hour with nothing beside it."""
    hour = clock.hour
    said = f"bare {clock.written or hour}"
    if hour == 12:
        return 12, f"{said} taken as noon"
    if hint == "wake" and 3 <= hour <= 11:
        return hour, f"{said} taken as morning"
    if hint == "dinner" and 4 <= hour <= 11:
        return hour + 12, f"{said} taken as evening"
    if 1 <= hour <= AFTERNOON_TO:
        return hour + 12, f"{said} taken as afternoon"
    return hour, f"{said} taken as morning"


def is_open(clock: Clock, part: str | None) -> bool:
    """Whether the other half of the day is as possible as the one inferred."""
    return not (clock.half or clock.exact or clock.part or part) and 1 <= clock.hour <= 12


def _dawn(hour: int) -> tuple[Hour, ...]:
    return ((0 if hour == 12 else hour, ""),)


def _morning(hour: int) -> tuple[Hour, ...]:
    return ((hour, ""),)


def _noon(hour: int) -> tuple[Hour, ...]:
    return ((hour + 12 if 1 <= hour <= 3 else hour, ""),)


def _afternoon(hour: int) -> tuple[Hour, ...]:
    return ((hour + 12 if hour < 12 else hour, ""),)


def _evening(hour: int) -> tuple[Hour, ...]:
    if hour in (0, 12, 24):
        return ((24, "midnight at the end of that day"),)
    if hour < 4:
        return ((hour + 24, f"{hour} at night taken as after midnight"),)
    return ((hour + 12 if hour < 12 else hour, ""),)


def _night(hour: int) -> tuple[Hour, ...]:
    if hour in (0, 12, 24):
        return ((24, "midnight at the end of that day"),)
    if hour <= 6:
        return ((hour + 24, ""), (hour, ""))
    return ((hour + 12 if hour < 12 else hour, ""),)


_BY_PART: Final = {
    "dawn": _dawn, "morning": _morning, "forenoon": _morning, "noon": _noon, "afternoon": _afternoon,
    "dusk": _afternoon, "evening": _evening, "night": _night,
}  # fmt: skip

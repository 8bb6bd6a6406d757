"""What the time grammar hands to the resolver: what was said, before it is laid on a calendar.

A date is an operation with its arguments (`("weekday", 4)`), looked up in `dates.OPERATIONS`; so the grammar
needs no reference instant and the calendar knows no words.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime, tzinfo
from decimal import Decimal
from typing import Any, Final, Literal

from fencepost_intents.time.holidays import HolidayTable

DateSpec = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time as said, unit -> count. Months and years stay apart: they have no fixed length."""

    units: tuple[tuple[str, Decimal], ...]
    vague: bool = False

    @property
    def has_clock(self) -> bool:
        return any(
            unit in ("hour", "minute", "second") or (unit in ("day", "week") and count != int(count))
            for unit, count in self.units
        )


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of day as said.

    alternative: the other hour of 三四点.  half: am or pm.  part: part of day in words.  exact: written so
    that no half is open (15:00, 09:00).
    about: said with 多 or "around".
    """

    hour: int
    minute: int = 0
    second: int = 0
    half: str | None = None
    part: str | None = None
    exact: bool = False
    about: bool = False
    written: str = ""
    alternative: int | None = None


@dataclass(frozen=True, slots=True)
class Recurrence:
    """freq and interval of RFC 5545, the days it falls on, its times of day, start, end, exceptions.

    times: how many a day, where that is said ("twice a day"): then as many times of day must be known.
    """

    freq: str
    interval: int = 1
    by_day: tuple[str, ...] = ()
    by_month_day: tuple[int, ...] = ()
    by_month: tuple[int, ...] = ()
    part: str | None = None
    workdays: bool = False
    other_interval: int | None = None
    set_pos: int | None = None
    count: int | None = None
    times: int = 0


@dataclass(slots=True)
class Expr:
    """One time expression over tokens [first, last)."""

    first: int
    last: int
    date: DateSpec | None = None
    date_end: DateSpec | None = None
    clock: Clock | None = None
    clock_end: Clock | None = None
    more_clocks: list[Clock] = field(default_factory=list)
    part: str | None = None
    duration: Duration | None = None
    mode: Literal["", "after", "ago", "before", "within", "tail"] = ""
    zone: str | None = None
    deadline: bool = False
    ranged: bool = False
    recurrence: Recurrence | None = None
    starts: DateSpec | None = None
    until: DateSpec | None = None
    count: int | None = None
    lasts: Duration | None = None
    except_days: tuple[int, ...] = ()
    except_dates: tuple[DateSpec, ...] = ()
    leftover: bool = False


@dataclass(frozen=True, slots=True)
class Setting:
    """What a reading depends on besides the words.

    reference: aware, on the clock of `zone`.  direction: +1 future, -1 past, 0 either (as in a question).
    hint: `wake` or `dinner` when the rest of the sentence tells the half of the day.
    """

    reference: datetime
    tz: tzinfo
    direction: int
    language: str
    zone: str | None
    locale: str | None
    holidays: HolidayTable
    hint: str | None = None

    @property
    def today(self) -> date:
        return self.reference.date()


@dataclass(frozen=True, slots=True)
class Days:
    """One reading of a date: first and last day, both included."""

    first: date
    last: date
    notes: tuple[str, ...] = ()

    @property
    def is_day(self) -> bool:
        return self.first == self.last


class Unreadable(ValueError):
    """The words name no day or time that exists (30 February, 25 o'clock)."""


# Part of day -> (first hour, last hour excluded) of the span it names.
PARTS: Final = {
    "dawn": (0, 6), "morning": (6, 12), "forenoon": (8, 12), "noon": (11, 13), "afternoon": (12, 18),
    "dusk": (17, 19), "evening": (18, 24), "night": (22, 24), "later": (0, 24),
}  # fmt: skip

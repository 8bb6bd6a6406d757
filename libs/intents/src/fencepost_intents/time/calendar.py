"""The bare calendar: days and months counted on and back, and readings of days."""

from __future__ import annotations

from datetime import date, timedelta

from fencepost_intents.time.model import Days

Readings = tuple[Days, ...]


def month_end(day: date) -> date:
    """The last day of its month."""
    return date(day.year + day.month // 12, day.month % 12 + 1, 1) - timedelta(days=1)


def add_months(day: date, months: int) -> date:
    """The same day of another month, or that month's last day where it is shorter."""
    index = day.year * 12 + day.month - 1 + months
    first = date(index // 12, index % 12 + 1, 1)
    return first.replace(day=min(day.day, month_end(first).day))


def one_day(day: date, *notes: str) -> Readings:
    """A single reading: one day."""
    return (Days(day, day, notes),)


def day_span(first: date, last: date, *notes: str) -> Readings:
    """A single reading: first to last, both included."""
    return (Days(first, last, notes),)


def monday_of(day: date) -> date:
    """The Monday of its week."""
    return day - timedelta(days=day.weekday())

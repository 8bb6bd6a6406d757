"""Instants, zones and rules of reminders: read strictly, refused in words, never guessed."""

from __future__ import annotations

import asyncio
from datetime import date, datetime, time, timedelta
from itertools import islice
from typing import Final
from zoneinfo import ZoneInfo

from fencepost import ToolContext, ToolRefused
from fencepost_intents.recurrence import check_rule, next_occurrence, occurrences_after

LATE_BY: Final = timedelta(
    seconds=60
)  # an approval may take a moment; later than this nothing is due any more
FARTHEST: Final = timedelta(days=366 * 20)


def read_zone(name: str | None, ctx: ToolContext) -> str:
    """The zone named, or the user's own. Raises ToolRefused when neither is known."""
    name = name or ctx.zone
    if not name:
        raise ToolRefused("no time zone is known; ask the user for it", pointer="/zone", code="zone_unknown")
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ToolRefused("there is no such time zone", pointer="/zone", code="zone_unknown") from None
    return name


def read_instant(text: str, pointer: str) -> datetime:
    """An aware instant. The schema checked RFC 3339 already; leap seconds and year 0 it lets through."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise ToolRefused("this is no instant with an offset", pointer=pointer)
    return at


def read_day(text: str, pointer: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ToolRefused("this is no day of the calendar", pointer=pointer) from None


def read_bound(
    text: str | None, pointer: str, ctx: ToolContext, *, whole_day: bool = False
) -> datetime | None:
    """An instant, or a day's first instant on the user's clock (whole_day: the next day's)."""
    if text is None or "T" in text.upper():
        return read_instant(text, pointer) if text else None
    day = read_day(text, pointer) + timedelta(days=1 if whole_day else 0)
    return datetime.combine(day, time(), ZoneInfo(read_zone(None, ctx)))


def read_local_day(text: str, pointer: str, ctx: ToolContext) -> date:
    """A day, or the day that an instant falls on, on the user's clock."""
    if "T" not in text.upper():
        return read_day(text, pointer)
    return read_instant(text, pointer).astimezone(ZoneInfo(read_zone(None, ctx))).date()


async def first_due(at: datetime, rrule: str | None, zone: str, now: datetime) -> datetime:
    """When it is due next, at or after `at`.

    Raises ToolRefused for a time that is over, a rule that isn't taken, one that never comes.
    """
    if at > now + FARTHEST:
        raise ToolRefused("this is more than twenty years away", pointer="/at")
    if rrule is None:
        if at <= now - LATE_BY:
            raise ToolRefused("this time is over", pointer="/at", code="time_passed")
        return at
    if at <= now - timedelta(days=366):
        raise ToolRefused("a repetition begins at most a year ago", pointer="/at", code="time_passed")
    try:
        check_rule(rrule)
        # Off the loop: a rule that never comes is looked for up to the year 9999.
        due = await asyncio.to_thread(
            next_occurrence, rrule, at, zone, max(at, now) - timedelta(microseconds=1)
        )
    except ValueError as error:
        raise ToolRefused(str(error), pointer="/rrule", code="rule_invalid") from None
    if due is None:
        raise ToolRefused("this repetition never comes", pointer="/rrule", code="rule_invalid")
    return due


async def upcoming(rrule: str, dtstart: datetime, zone: str, first: datetime, count: int) -> list[datetime]:
    """`first` and what follows it, `count` at most."""

    def following() -> list[datetime]:
        return list(islice(occurrences_after(rrule, dtstart, zone, first), count - 1))

    return [first, *await asyncio.to_thread(following)]


def today(ctx: ToolContext) -> date | None:
    """Today where the user is; None when no zone is known."""
    return ctx.now.astimezone(ZoneInfo(read_zone(None, ctx))).date() if ctx.zone else None

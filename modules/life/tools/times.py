"""Instants, zones and rules of reminders: read strictly, refused in words, never guessed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from itertools import islice
from typing import Any, Final
from zoneinfo import ZoneInfo

from fencepost import ToolContext, ToolRefused
from fencepost_intents.recurrence import check_rule, occurrences_after

from .wording import pick

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


@dataclass(frozen=True, slots=True)
class Rule:
    """When a reminder is due. rrule None: once, at dtstart. exdates: occurrences of the rule left out."""

    rrule: str | None
    dtstart: datetime
    zone: str
    exdates: tuple[datetime, ...] = ()

    def after(self, instant: datetime) -> Iterator[datetime]:
        """Occurrences of the rule later than `instant`; none for a single one."""
        if self.rrule is None:
            return iter(())
        return occurrences_after(self.rrule, self.dtstart, self.zone, instant, self.exdates)


def read_exdates(args: Mapping[str, Any], rrule: str | None) -> tuple[datetime, ...]:
    """The occurrences to leave out. Raises ToolRefused where there is no rule to leave them out of."""
    given = args.get("exdates", ())
    if given and rrule is None:
        raise ToolRefused("only a repetition can leave occurrences out", pointer="/exdates")
    return tuple(read_instant(text, f"/exdates/{place}") for place, text in enumerate(given))


async def keeps_to(rule: Rule, at: datetime, locale: str) -> None:
    """Raises ToolRefused unless the repetition has an occurrence at `at`.

    A weekly one on Mondays that is moved to "Tuesday at 10" must not quietly become Mondays at 10.
    """
    if await first_due(rule, at) != at:
        zh = "这个时间不在它的重复规则里，请连同重复一起说，例如“每周二10点”"
        en = "this time is not one of its repetition's: say the repetition too, such as “every Tuesday at 10”"
        raise ToolRefused(pick(locale, zh, en), pointer="/rrule", code="rule_invalid")


async def first_due(rule: Rule, now: datetime) -> datetime:
    """When it is due next, at or after its start.

    Raises ToolRefused for a time that is over, a rule that isn't taken, one that never comes.
    """
    if rule.dtstart > now + FARTHEST:
        raise ToolRefused("this is more than twenty years away", pointer="/at")
    if rule.rrule is None:
        if rule.dtstart <= now - LATE_BY:
            raise ToolRefused("this time is over", pointer="/at", code="time_passed")
        return rule.dtstart
    if rule.dtstart <= now - timedelta(days=366):
        raise ToolRefused("a repetition begins at most a year ago", pointer="/at", code="time_passed")
    try:
        check_rule(rule.rrule)
        from_here = max(rule.dtstart, now) - timedelta(microseconds=1)
        # Off the loop: a rule that never comes is looked for up to the year 9999.
        due = await asyncio.to_thread(next, rule.after(from_here), None)
    except ValueError as error:
        raise ToolRefused(str(error), pointer="/rrule", code="rule_invalid") from None
    if due is None:
        raise ToolRefused("this repetition never comes", pointer="/rrule", code="rule_invalid")
    return due


async def upcoming(rule: Rule, first: datetime, count: int) -> list[datetime]:
    """`first` and what follows it, `count` at most."""
    return [first, *await asyncio.to_thread(lambda: list(islice(rule.after(first), count - 1)))]


def today(ctx: ToolContext) -> date | None:
    """The day on which the user asked, on the user's clock; None when no zone is known.

    Not the day of the commit: an approval after midnight writes the day that was approved.
    """
    return ctx.asked_at.astimezone(ZoneInfo(read_zone(None, ctx))).date() if ctx.zone else None

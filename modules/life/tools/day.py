"""The plan for a day: what is due, what is overdue, what was written down."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time, timedelta
from itertools import takewhile
from typing import Any, Final
from zoneinfo import ZoneInfo

from fencepost import Plan, ToolContext, ToolRefused, tool
from fencepost_intents.recurrence import occurrences_after

from .ledger import sum_up
from .reminders import Reminder, read, reading
from .times import read_day, read_zone, today
from .wording import day_words, instant_words, pick

Arguments = Mapping[str, Any]
MOST_A_DAY: Final = 48  # times of one reminder on one day; a rule by the minute is not written out


@tool("life.plan_day")
class PlanDay:
    async def prepare(self, args: Arguments, ctx: ToolContext) -> Plan:
        return reading(pick(ctx.locale, "今天的安排", "The plan for the day"))

    async def commit(self, args: Arguments, ctx: ToolContext) -> dict[str, Any]:
        zone = read_zone(None, ctx)
        day = read_day(args["date"], "/date") if "date" in args else today(ctx)
        if day is None:
            raise ToolRefused("no time zone is known", pointer="/date", code="zone_unknown")
        begins, ends = _bounds(day, zone)
        rows = await ctx.tx.rows("active_reminders", user_id=ctx.user_id, before=ends)
        reminders = [read(row) for row in rows]
        due = await asyncio.to_thread(_due, reminders, begins, ends)
        overdue = [one for one in reminders if one.next_at and one.next_at < min(begins, ctx.now)]
        sums = await ctx.tx.rows(
            "sum_entries", user_id=ctx.user_id, from_on=day, to_on=day, category=None, currency=None
        )
        return {
            "text": _text(day, due, overdue, zone, ctx.locale),
            "date": day.isoformat(),
            "reminders": [
                {**one.shown(), "at": at.astimezone(ZoneInfo(zone)).isoformat()} for at, one in due
            ],
            "overdue": [one.shown() for one in overdue],
            "ledger": sum_up(sums),
        }


def _bounds(day: date, zone: str) -> tuple[datetime, datetime]:
    """The day's first instant and the next day's, on the clock of the zone (23 to 25 hours apart)."""
    place = ZoneInfo(zone)
    return datetime.combine(day, time(), place), datetime.combine(day + timedelta(days=1), time(), place)


def _due(reminders: Iterable[Reminder], begins: datetime, ends: datetime) -> list[tuple[datetime, Reminder]]:
    found: list[tuple[datetime, Reminder]] = []
    for one in reminders:
        if one.next_at is None or one.next_at >= ends:
            continue
        times = [one.next_at] if one.next_at >= begins else []
        if one.rrule:
            after = max(one.next_at, begins - timedelta(microseconds=1))
            later = takewhile(
                lambda at: at < ends, occurrences_after(one.rrule, one.dtstart, one.zone, after, one.exdates)
            )
            times += [at for _, at in zip(range(MOST_A_DAY), later, strict=False)]
        found += [(at, one) for at in times]
    return sorted(found, key=lambda pair: (pair[0], str(pair[1].id)))


def _text(
    day: date, due: list[tuple[datetime, Reminder]], overdue: list[Reminder], zone: str, locale: str
) -> str:
    lines = [pick(locale, f"{day_words(day, locale)}的安排：", f"The plan for {day_words(day, locale)}:")]
    lines += [f"- {instant_words(at, zone, locale)}: {one.title}" for at, one in due]
    if not due:
        lines.append(pick(locale, "- 没有提醒。", "- no reminders."))
    if overdue:
        lines.append(pick(locale, "已过时间：", "Overdue:"))
        lines += [f"- {one.title}: {one.when(locale)}" for one in overdue]
    return "\n".join(lines)

"""Reminders: make, list, change, cancel. What fires them is the reconciler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from fencepost import Change, Plan, PreconditionChanged, ToolContext, ToolRefused, tool

from .meant import closest, which
from .times import Rule, first_due, keeps_to, read_bound, read_exdates, read_instant, read_zone, upcoming
from .wording import instant_words, line, one_line, pick, preview, rule_words

Arguments = Mapping[str, Any]
FEW: Final = 20
COMING: Final = 3  # dates of a repetition that a preview states


@dataclass(frozen=True, slots=True)
class Reminder:
    """As stored. rrule None: a single one. next_at None: nothing comes any more."""

    id: UUID
    title: str
    note: str
    zone: str
    dtstart: datetime
    rrule: str | None
    exdates: tuple[datetime, ...]
    next_at: datetime | None
    status: str
    version: int

    def shown(self) -> dict[str, Any]:
        """JSON values; instants on the reminder's own clock."""
        clock = ZoneInfo(self.zone)
        return {
            "id": str(self.id),
            "title": self.title,
            "note": self.note,
            "zone": self.zone,
            "at": self.dtstart.astimezone(clock).isoformat(),
            "rrule": self.rrule,
            "exdates": [one.astimezone(clock).isoformat() for one in self.exdates],
            "next_at": self.next_at.astimezone(clock).isoformat() if self.next_at else None,
            "status": self.status,
            "version": self.version,
        }

    def when(self, locale: str) -> str:
        """Its time in words: the rule of a repetition, the instant of a single one."""
        if self.rrule:
            return rule_words(self.rrule, self.dtstart, self.zone, locale, self.exdates)
        return instant_words(self.next_at or self.dtstart, self.zone, locale)


def read(row: Mapping[str, Any]) -> Reminder:
    fields = {name: row[name] for name in Reminder.__slots__}
    return Reminder(**{**fields, "exdates": tuple(fields["exdates"])})


async def _lines(reminder: Reminder, locale: str) -> list[Any]:
    """What a person reads; of a repetition the next dates too, so that a rule misread is seen."""
    lines = [line("what", reminder.title, locale)]
    if reminder.rrule and reminder.next_at:
        lines.append(line("repeats", reminder.when(locale), locale))
        rule = Rule(reminder.rrule, reminder.dtstart, reminder.zone, reminder.exdates)
        coming = await upcoming(rule, reminder.next_at, COMING)
        dates = pick(locale, "；", "; ").join(instant_words(at, reminder.zone, locale) for at in coming)
        lines.append(line("next", dates, locale))
    else:
        lines.append(line("when", reminder.when(locale), locale))
    if reminder.note:
        lines.append(line("note", reminder.note, locale))
    return lines


@tool("life.create_reminder")
class CreateReminder:
    """One reminder under the effect's key. A natural duplicate is shown in the preview, not refused."""

    async def prepare(self, args: Arguments, ctx: ToolContext) -> Plan:
        new = await self._new(args, ctx)
        lines = await _lines(new, ctx.locale)
        found = await ctx.tx.row("same_reminders", user_id=ctx.user_id, title=new.title, next_at=new.next_at)
        if found is not None and found["same"]:
            already = pick(ctx.locale, "已有一条相同的提醒", "there is the same reminder already")
            lines.append(line("duplicate", already, ctx.locale))
        title = pick(ctx.locale, "新建提醒", "New reminder")
        after = {name: value for name, value in new.shown().items() if name not in ("id", "version")}
        summary = pick(ctx.locale, f"新建提醒「{new.title}」", f"a new reminder “{new.title}”")
        return Plan(preview(title, lines, ctx.locale), Change(before=None, after=after, summary=summary))

    async def commit(self, args: Arguments, ctx: ToolContext) -> dict[str, Any]:
        new = await self._new(args, ctx)
        row = await ctx.tx.row(
            "insert_reminder",
            id=ctx.new_id,
            tenant_id=ctx.tenant_id,
            user_id=ctx.user_id,
            conversation_id=ctx.conversation_id,
            title=new.title,
            note=new.note,
            locale=ctx.locale,
            zone=new.zone,
            dtstart=new.dtstart,
            rrule=new.rrule,
            exdates=list(new.exdates),
            next_at=new.next_at,
            effect_key=ctx.effect_key,
        )
        made = read(_there(row))
        when = made.when(ctx.locale)
        text = pick(
            ctx.locale, f"已设置提醒「{made.title}」：{when}。", f"Reminder “{made.title}” is set: {when}."
        )
        return {"reminder": made.shown(), "text": text}

    async def _new(self, args: Arguments, ctx: ToolContext) -> Reminder:
        zone = read_zone(args.get("zone"), ctx)
        at = read_instant(args["at"], "/at")
        rule = Rule(args.get("rrule"), at, zone, read_exdates(args, args.get("rrule")))
        due = await first_due(rule, ctx.now)
        title, note = read_title(args["title"], "/title"), args.get("note", "").strip()
        note = "" if one_line(note) == title else note  # said twice is said once
        return Reminder(ctx.new_id, title, note, zone, at, rule.rrule, rule.exdates, due, "active", 1)


@tool("life.list_reminders")
class ListReminders:
    async def prepare(self, args: Arguments, ctx: ToolContext) -> Plan:
        return reading(pick(ctx.locale, "查看提醒", "Look at reminders"))

    async def commit(self, args: Arguments, ctx: ToolContext) -> dict[str, Any]:
        limit = args.get("limit", FEW)
        rows = await ctx.tx.rows(
            "list_reminders",
            user_id=ctx.user_id,
            status=args.get("status", "active"),
            from_at=read_bound(args.get("from"), "/from", ctx),
            to_at=read_bound(args.get("to"), "/to", ctx, whole_day=True),
            words=args.get("text"),
            limit=limit,
        )
        found = [read(row) for row in rows]
        shown = found[:limit]
        none = pick(ctx.locale, "没有提醒。", "There are no reminders.")
        text = "\n".join(f"- {one.title}: {one.when(ctx.locale)}" for one in shown) or none
        return {"text": text, "reminders": [one.shown() for one in shown], "more": len(found) > limit}


class _Existing:
    """What change and cancel share: the one reminder meant, and its version as precondition."""

    async def precondition(self, args: Arguments, ctx: ToolContext) -> dict[str, Any]:
        try:
            meant = await self._meant(args, ctx)
        except ToolRefused:
            return {"gone": True}  # another outcome than at prepare is a difference, not a failure
        return {"reminder_id": str(meant.id), "version": meant.version}

    async def _meant(self, args: Arguments, ctx: ToolContext) -> Reminder:
        if ("reminder_id" in args) == ("match" in args):
            raise ToolRefused("name the reminder by `reminder_id` or by `match`, not by both")
        if "reminder_id" in args:
            row = await ctx.tx.row("reminder_by_id", id=UUID(args["reminder_id"]), user_id=ctx.user_id)
            if row is None or row["status"] != "active":
                raise ToolRefused(
                    "there is no such active reminder", pointer="/reminder_id", code="not_found"
                )
            return read(row)
        words = one_line(args["match"])
        rows = await ctx.tx.rows("active_reminders_like", user_id=ctx.user_id, words=words)
        meant = closest([read(row) for row in rows], words.casefold())
        if len(meant) != 1:
            raise ToolRefused(which(meant, ctx.locale), pointer="/match",
                              code="ambiguous" if meant else "not_found")  # fmt: skip
        return meant[0]


@tool("life.change_reminder")
class ChangeReminder(_Existing):
    async def prepare(self, args: Arguments, ctx: ToolContext) -> Plan:
        before = await self._meant(args, ctx)
        after = await self._after(before, args, ctx)
        title = pick(ctx.locale, f"修改提醒「{before.title}」", f"Change reminder “{before.title}”")
        change = Change(
            before=before.shown(), after={**after.shown(), "version": before.version + 1}, summary=title
        )
        return Plan(preview(title, await _lines(after, ctx.locale), ctx.locale), change)

    async def commit(self, args: Arguments, ctx: ToolContext) -> dict[str, Any]:
        before = await self._meant(args, ctx)
        after = await self._after(before, args, ctx)
        row = await ctx.tx.row(
            "change_reminder",
            id=before.id,
            user_id=ctx.user_id,
            version=before.version,
            title=after.title,
            note=after.note,
            zone=after.zone,
            dtstart=after.dtstart,
            rrule=after.rrule,
            exdates=list(after.exdates),
            next_at=after.next_at,
            effect_key=ctx.effect_key,
        )
        if row is None:
            raise PreconditionChanged
        changed = read(row)
        when = changed.when(ctx.locale)
        text = pick(ctx.locale, f"提醒「{changed.title}」已改为：{when}。",
                    f"Reminder “{changed.title}” is now: {when}.")  # fmt: skip
        return {"reminder": changed.shown(), "text": text}

    async def _after(self, before: Reminder, args: Arguments, ctx: ToolContext) -> Reminder:
        zone = read_zone(args.get("zone") or before.zone, ctx)
        rrule = (args["rrule"] or None) if "rrule" in args else before.rrule
        at = read_instant(args["at"], "/at") if "at" in args else None
        if at is None and rrule is None and before.next_at is not None:
            at = before.next_at  # a repetition that becomes a single one keeps its next time
        elif at is not None and rrule is not None and "rrule" not in args:
            await keeps_to(Rule(rrule, at, zone), at, ctx.locale)
        at = at or before.dtstart
        exdates = read_exdates(args, rrule) if "exdates" in args else (before.exdates if rrule else ())
        timed = {"at", "rrule", "zone", "exdates"} & args.keys()
        due = await first_due(Rule(rrule, at, zone, exdates), ctx.now) if timed else before.next_at
        return replace(
            before,
            title=read_title(args["new_title"], "/new_title") if "new_title" in args else before.title,
            note=args.get("note", before.note).strip(),
            zone=zone,
            rrule=rrule,
            exdates=exdates,
            dtstart=at,
            next_at=due,
        )


@tool("life.cancel_reminder")
class CancelReminder(_Existing):
    async def prepare(self, args: Arguments, ctx: ToolContext) -> Plan:
        before = await self._meant(args, ctx)
        title = pick(ctx.locale, f"取消提醒「{before.title}」", f"Cancel reminder “{before.title}”")
        after = {**before.shown(), "status": "cancelled", "next_at": None, "version": before.version + 1}
        change = Change(before=before.shown(), after=after, summary=title)
        return Plan(preview(title, await _lines(before, ctx.locale), ctx.locale), change)

    async def commit(self, args: Arguments, ctx: ToolContext) -> dict[str, Any]:
        before = await self._meant(args, ctx)
        row = await ctx.tx.row(
            "cancel_reminder",
            id=before.id,
            user_id=ctx.user_id,
            version=before.version,
            effect_key=ctx.effect_key,
        )
        if row is None:
            raise PreconditionChanged
        gone = read(row)
        text = pick(ctx.locale, f"已取消提醒「{gone.title}」。", f"Reminder “{gone.title}” is cancelled.")
        return {"reminder": gone.shown(), "text": text}


def read_title(text: str, pointer: str) -> str:
    title = one_line(text)
    if not title:
        raise ToolRefused("a reminder has a title that can be read", pointer=pointer)
    return title


def reading(title: str) -> Plan:
    """The plan of a tool that only reads."""
    return Plan(preview(title, [], ""), Change(before=None, after=None, summary=title))


def _there(row: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if row is None:
        raise PreconditionChanged
    return row

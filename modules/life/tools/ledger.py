"""Ledger entries: exact decimals in their own currency; totals never add one currency to another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, Final

from fencepost import Change, Plan, ToolContext, ToolRefused, tool

from .currencies import CURRENCIES
from .reminders import reading
from .times import read_day, read_local_day, today
from .wording import (
    amount_words,
    category_words,
    day_words,
    kind_words,
    line,
    one_line,
    pick,
    preview,
    shown_amount,
)

Arguments = Mapping[str, Any]
FEW: Final = 20
_KIND: Final = {"income": "income", "refund": "refund", "expense": "expense", "paid": "expense"}
KINDS: Final = ("expense", "income", "refund")


@dataclass(frozen=True, slots=True)
class Entry:
    """amount: exact decimal text."""

    kind: str
    amount: str
    currency: str
    category: str
    description: str
    occurred_on: date

    def shown(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "amount": shown_amount(self.amount),
            "currency": self.currency,
            "category": self.category,
            "description": self.description,
            "occurred_on": self.occurred_on.isoformat(),
        }

    def said(self, locale: str) -> str:
        return amount_words(self.amount, self.currency, locale)


def read(row: Mapping[str, Any]) -> Entry:
    return Entry(**{name: row[name] for name in Entry.__slots__})


@tool("life.add_ledger_entry")
class AddLedgerEntry:
    async def prepare(self, args: Arguments, ctx: ToolContext) -> Plan:
        entry, locale = _entry(args, ctx), ctx.locale
        lines = [
            line("kind", kind_words(entry.kind, locale), locale),
            line("amount", entry.said(locale), locale),
            line("category", category_words(entry.category, locale), locale),
            line("day", day_words(entry.occurred_on, locale), locale),
        ]
        if entry.description:
            lines.append(line("about", entry.description, locale))
        found = await ctx.tx.row(
            "same_entries",
            user_id=ctx.user_id,
            occurred_on=entry.occurred_on,
            amount=entry.amount,
            currency=entry.currency,
            kind=entry.kind,
        )
        if found is not None and found["same"]:
            already = pick(locale, "当天已有一笔相同金额", "that day has an entry of the same amount already")
            lines.append(line("duplicate", already, locale))
        title = pick(locale, f"记一笔{kind_words(entry.kind, locale)}", f"New ledger entry ({entry.kind})")
        summary = f"{title}: {entry.said(locale)}"
        return Plan(preview(title, lines, locale), Change(before=None, after=entry.shown(), summary=summary))

    async def commit(self, args: Arguments, ctx: ToolContext) -> dict[str, Any]:
        entry = _entry(args, ctx)
        row = await ctx.tx.row(
            "insert_entry",
            id=ctx.new_id,
            tenant_id=ctx.tenant_id,
            user_id=ctx.user_id,
            kind=entry.kind,
            amount=entry.amount,
            currency=entry.currency,
            category=entry.category,
            description=entry.description,
            occurred_on=entry.occurred_on,
            effect_key=ctx.effect_key,
        )
        made = read(row or {})
        said, day = made.said(ctx.locale), day_words(made.occurred_on, ctx.locale)
        kind = kind_words(made.kind, ctx.locale)
        text = pick(ctx.locale, f"已记账：{kind} {said}，{day}。", f"Written down: {kind} of {said}, {day}.")
        return {"entry": {"id": str(ctx.new_id), **made.shown()}, "text": text}


def _entry(args: Arguments, ctx: ToolContext) -> Entry:
    currency = args.get("currency", ctx.currency)
    if currency not in CURRENCIES:
        raise ToolRefused(
            "there is no such currency in ISO 4217", pointer="/currency", code="currency_unknown"
        )
    if Decimal(args["amount"]) == 0:
        raise ToolRefused("an entry of nothing is none", pointer="/amount")
    day = read_day(args["date"], "/date") if "date" in args else today(ctx)
    if day is None:
        raise ToolRefused(
            "no time zone is known, so say which day it was", pointer="/date", code="zone_unknown"
        )
    return Entry(
        kind=_KIND.get(args.get("kind", "expense"), "expense"),
        amount=args["amount"],
        currency=currency,
        category=one_line(args.get("category", "")) or "other",
        description=one_line(args.get("description", "")),
        occurred_on=day,
    )


@tool("life.list_ledger_entries")
class ListLedgerEntries:
    async def prepare(self, args: Arguments, ctx: ToolContext) -> Plan:
        return reading(pick(ctx.locale, "查看账目", "Look at ledger entries"))

    async def commit(self, args: Arguments, ctx: ToolContext) -> dict[str, Any]:
        limit = args.get("limit", FEW)
        rows = await ctx.tx.rows(
            "list_entries",
            user_id=ctx.user_id,
            from_on=read_local_day(args["from"], "/from", ctx) if "from" in args else None,
            to_on=read_local_day(args["to"], "/to", ctx) if "to" in args else None,
            kind=args.get("kind"),
            category=args.get("category"),
            currency=args.get("currency"),
            limit=limit,
        )
        shown = [{"id": str(row["id"]), **read(row).shown()} for row in rows[:limit]]
        lines = [_listed(read(row), ctx.locale) for row in rows[:limit]]
        text = "\n".join(lines) or pick(ctx.locale, "没有账目。", "There are no entries.")
        return {"text": text, "entries": shown, "more": len(rows) > limit}


def _listed(entry: Entry, locale: str) -> str:
    what = entry.description or category_words(entry.category, locale)
    day, kind = day_words(entry.occurred_on, locale), kind_words(entry.kind, locale)
    return f"- {day}: {kind} {entry.said(locale)}, {what}"


@tool("life.summarize_ledger")
class SummarizeLedger:
    async def prepare(self, args: Arguments, ctx: ToolContext) -> Plan:
        _period(args, ctx)
        return reading(pick(ctx.locale, "汇总账目", "Sum up the ledger"))

    async def commit(self, args: Arguments, ctx: ToolContext) -> dict[str, Any]:
        first, last = _period(args, ctx)
        rows = await ctx.tx.rows(
            "sum_entries",
            user_id=ctx.user_id,
            from_on=first,
            to_on=last,
            category=args.get("category"),
            currency=args.get("currency"),
        )
        totals = sum_up(rows)
        text = "\n".join(_said(one, ctx.locale) for one in totals) or pick(
            ctx.locale, "这段时间没有账目。", "There are no entries in this period."
        )
        return {
            "text": text,
            "from": first.isoformat() if first else None,
            "to": last.isoformat() if last else None,
            "totals": totals,
        }


def sum_up(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A total per currency, with its categories. net = income + refund - expense."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        one = found.setdefault(
            row["currency"], {"entries": 0, "categories": {}, **dict.fromkeys(KINDS, Decimal(0))}
        )
        amount = Decimal(row["total"])
        one["entries"] += row["entries"]
        one[row["kind"]] += amount
        category = one["categories"].setdefault(row["category"], dict.fromkeys(KINDS, Decimal(0)))
        category[row["kind"]] += amount
    return [_total(currency, one) for currency, one in found.items()]


def _total(currency: str, one: Mapping[str, Any]) -> dict[str, Any]:
    categories = [
        {"category": name, **{kind: shown_amount(str(amounts[kind])) for kind in KINDS}}
        for name, amounts in one["categories"].items()
    ]
    return {
        "currency": currency,
        **{kind: shown_amount(str(one[kind])) for kind in KINDS},
        "net": shown_amount(str(one["income"] + one["refund"] - one["expense"])),
        "entries": one["entries"],
        "categories": categories,
    }


def _said(total: Mapping[str, Any], locale: str) -> str:
    parts = [
        f"{kind_words(kind, locale)} {amount_words(total[kind], total['currency'], locale)}"
        for kind in KINDS
        if Decimal(total[kind])
    ]
    spent = sorted(total["categories"], key=lambda one: -Decimal(one["expense"]))[:5]
    detail = pick(locale, "、", ", ").join(
        f"{category_words(one['category'], locale)} {one['expense']}"
        for one in spent
        if Decimal(one["expense"])
    )
    return f"- {pick(locale, '，', ', ').join(parts)}" + (f" ({detail})" if detail else "")


def _period(args: Arguments, ctx: ToolContext) -> tuple[date | None, date | None]:
    """First and last day, both included; None is open. Weeks begin on Monday."""
    if "period" in args and ("from" in args or "to" in args):
        raise ToolRefused("give `period`, or `from` and `to`, not both", pointer="/period")
    if "from" in args or "to" in args:
        first = read_local_day(args["from"], "/from", ctx) if "from" in args else None
        last = read_local_day(args["to"], "/to", ctx) if "to" in args else None
        if first and last and last < first:
            raise ToolRefused("the last day is before the first", pointer="/to")
        return first, last
    period = args.get("period", "this_month")
    if period == "all":
        return None, None
    day = today(ctx)
    if day is None:
        raise ToolRefused("no time zone is known, so say which days", pointer="/period", code="zone_unknown")
    return _days(period, day)


def _days(period: str, day: date) -> tuple[date, date]:
    monday, first = day - timedelta(days=day.weekday()), day.replace(day=1)
    before = first - timedelta(days=1)
    return {
        "today": (day, day),
        "yesterday": (day - timedelta(days=1), day - timedelta(days=1)),
        "this_week": (monday, monday + timedelta(days=6)),
        "last_week": (monday - timedelta(days=7), monday - timedelta(days=1)),
        "this_month": (first, (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)),
        "last_month": (before.replace(day=1), before),
        "this_year": (day.replace(month=1, day=1), day.replace(month=12, day=31)),
    }[period]

"""The caller's business facts: reminders, ledger entries, sums. Always their own."""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import date, datetime
from typing import Any, Final, TypeVar
from uuid import UUID

from fastapi import APIRouter, Request
from fencepost_contracts.http_life import LedgerEntryView, LedgerSummary, ReminderView
from fencepost_contracts.http_views import Page
from fencepost_intents.result import written
from fencepost_store import views_life
from fencepost_store.views_life import Period
from starlette.responses import Response

from fencepost_api import render
from fencepost_api.deps import ApiDep, CallerDep, bad_query, check_queries, limit_of, one_query
from fencepost_api.queries import day, one_of

router = APIRouter(tags=["life"])
Place = TypeVar("Place")
_REMINDER: Final = ("id", "title", "note", "zone", "rrule", "status", "version", "conversation_id")
_REMINDER_TIMES: Final = ("dtstart", "next_at", "created_at", "updated_at")


@router.get("/v1/reminders", response_model=Page[ReminderView])
async def reminders(request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """What comes next first; `?status=active|done|cancelled`."""
    check_queries(request, "status", "limit", "cursor")
    limit, after = limit_of(request), _cursor(request, _instant_or_none)
    status = one_of(request, "status", ("active", "done", "cancelled"))
    async with api.store.transaction(caller.tenant_id) as tx:
        rows = await views_life.reminders(tx, caller.user_id, status, after, limit + 1)
    items = [_reminder(row) for row in rows]
    last = items[limit - 1] if len(items) > limit else None
    cursor = _to_cursor(last["next_at"].isoformat() if last["next_at"] else "", last["id"]) if last else None
    return render.answer({"items": items[:limit], "next_cursor": cursor})


def _reminder(row: render.Row) -> dict[str, Any]:
    return {**{n: row[n] for n in _REMINDER}, **{n: render.utc(row[n]) for n in _REMINDER_TIMES}}


@router.get("/v1/ledger-entries", response_model=Page[LedgerEntryView])
async def ledger_entries(request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """Newest first; `?from=&to=` (days, both included) `&category=&currency=`."""
    check_queries(request, "from", "to", "category", "currency", "limit", "cursor")
    limit = limit_of(request)
    async with api.store.transaction(caller.tenant_id) as tx:
        rows = await views_life.ledger_entries(
            tx,
            caller.user_id,
            _period(request),
            category=one_query(request, "category"),
            currency=one_query(request, "currency"),
            before=_cursor(request, date.fromisoformat),
            limit=limit + 1,
        )
    items = [_entry(row) for row in rows]
    last = items[limit - 1] if len(items) > limit else None
    cursor = _to_cursor(last["occurred_on"].isoformat(), last["id"]) if last else None
    return render.answer({"items": items[:limit], "next_cursor": cursor})


def _entry(row: render.Row) -> dict[str, Any]:
    """Money as a decimal string with its currency's digits."""
    return {
        **{name: row[name] for name in ("id", "kind", "currency", "category", "description", "occurred_on")},
        "amount": written(row["amount"], row["currency"]),
        "created_at": render.utc(row["created_at"]),
    }


@router.get("/v1/ledger-entries/summary", response_model=LedgerSummary)
async def ledger_summary(request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """Sums by currency, kind and category; never across currencies."""
    check_queries(request, "from", "to")
    period = _period(request)
    async with api.store.transaction(caller.tenant_id) as tx:
        rows = await views_life.ledger_summary(tx, caller.user_id, period)
    items = [
        {
            **{name: row[name] for name in ("currency", "kind", "category", "entries")},
            "total": written(row["total"], row["currency"]),
        }
        for row in rows
    ]
    return render.answer({"from": period.since, "to": period.until, "items": items})


def _period(request: Request) -> Period:
    period = Period(day(request, "from"), day(request, "to"))
    if period.since and period.until and period.since > period.until:
        raise bad_query("to", "it lies before `from`")
    return period


def _to_cursor(place: str, last: UUID) -> str:
    return base64.urlsafe_b64encode(f"{place}|{last}".encode()).decode().rstrip("=")


def _cursor(request: Request, read: Callable[[str], Place]) -> tuple[Place, UUID] | None:
    """Where the page before ended. Opaque to callers; anything else is refused."""
    text = one_query(request, "cursor")
    if text is None:
        return None
    try:
        place, _, last = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode().partition("|")
        return read(place), UUID(last)
    except ValueError:
        raise bad_query("cursor", "take it from `next_cursor`") from None


def _instant_or_none(text: str) -> datetime | None:
    return datetime.fromisoformat(text) if text else None

"""Reads of the caller's business facts: reminders and ledger entries (tables of modules/life)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from sqlalchemy import RowMapping

from fencepost_store.transaction import Tx


@dataclass(frozen=True, slots=True)
class Period:
    """Days, both included; None is open."""

    since: date | None = None
    until: date | None = None


async def reminders(
    tx: Tx, user_id: str, status: str | None, after: tuple[datetime | None, UUID] | None, limit: int
) -> Sequence[RowMapping]:
    """after: the last one of the page before: its next occurrence (None: over) and id."""
    at, last = after or (None, None)
    return await tx.rows(
        "view_reminders",
        user_id=user_id,
        status=status,
        after_at=at.isoformat() if at else "infinity",
        after_id=last,
        limit=limit,
    )


async def ledger_entries(
    tx: Tx,
    user_id: str,
    period: Period,
    *,
    category: str | None,
    currency: str | None,
    before: tuple[date, UUID] | None,
    limit: int,
) -> Sequence[RowMapping]:
    """before: day and id of the last one of the page before."""
    day, last = before or (None, None)
    return await tx.rows(
        "view_ledger_entries",
        user_id=user_id,
        since=period.since,
        until=period.until,
        category=category,
        currency=currency,
        before_on=day,
        before_id=last,
        limit=limit,
    )


async def ledger_summary(tx: Tx, user_id: str, period: Period) -> Sequence[RowMapping]:
    return await tx.rows("view_ledger_summary", user_id=user_id, since=period.since, until=period.until)

"""What the public HTTP API answers about a person's business facts: reminders and ledger entries."""

from __future__ import annotations

from datetime import date, datetime
from typing import Literal
from uuid import UUID

from pydantic import ConfigDict, Field

from fencepost_contracts.http import Wire


class ReminderView(Wire):
    """`next_at` null: nothing comes any more. `rrule`: RFC 5545 without DTSTART, null for a single one."""

    id: UUID
    title: str
    note: str
    zone: str
    dtstart: datetime
    rrule: str | None
    next_at: datetime | None
    status: Literal["active", "done", "cancelled"]
    version: int
    conversation_id: UUID | None
    created_at: datetime
    updated_at: datetime


class LedgerEntryView(Wire):
    """`amount`: a decimal string with the currency's digits."""

    id: UUID
    kind: Literal["expense", "income", "refund"]
    amount: str
    currency: str
    category: str
    description: str
    occurred_on: date
    created_at: datetime


class LedgerSum(Wire):
    currency: str
    kind: Literal["expense", "income", "refund"]
    category: str
    total: str
    entries: int


class LedgerSummary(Wire):
    """Sums by currency, kind and category of a period; null is open."""

    model_config = ConfigDict(frozen=True, extra="forbid", serialize_by_alias=True)

    since: date | None = Field(alias="from")
    until: date | None = Field(alias="to")
    items: tuple[LedgerSum, ...]

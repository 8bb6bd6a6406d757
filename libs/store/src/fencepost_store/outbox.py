"""The outbox as its relays see it: rows leased, then marked, parked or deferred by what the broker said.

A relay's lease is only about who works on a row now. What the broker did with it is recorded whoever
holds the lease by then: a row marked twice is a hint sent twice, and the claim drops a stale hint.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from fencepost_store.transaction import Tx

FIRST_DELAY: Final = timedelta(milliseconds=200)  # a broker that restarts is back in seconds
LONGEST_DELAY: Final = timedelta(seconds=5)  # how late a hint may be after an outage; the scan is sooner


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """A leased row. `attempts` includes this one; `event_type` is as written, perhaps unknown here."""

    id: UUID
    run_id: UUID
    module: str
    event_type: str
    traceparent: str | None
    publish_at: datetime
    created_at: datetime
    attempts: int


async def take_due(tx: Tx, *, owner: str, lease: timedelta, batch: int) -> list[OutboxRow]:
    """Lease at most `batch` due rows, the longest due first; commit before publishing any."""
    rows = await tx.rows("take_due_outbox", owner=owner, lease=lease, batch=batch)
    taken = [OutboxRow(**row) for row in rows]
    return sorted(taken, key=lambda row: (row.publish_at, row.id))


async def mark_published(tx: Tx, ids: Sequence[UUID]) -> int:
    """After the delivery report, never before. Returns how many weren't marked yet."""
    return (await tx.execute("mark_outbox_published", {"ids": list(ids)})).rowcount


async def park(tx: Tx, reasons: Mapping[UUID, str]) -> int:
    """Set aside what is refused for good. Returns how many were."""
    if not reasons:
        return 0
    params = {"ids": list(reasons), "reasons": list(reasons.values())}
    return (await tx.execute("park_outbox", params)).rowcount


async def defer(tx: Tx, *, owner: str, ids: Sequence[UUID]) -> int:
    """Give back for a later try: FIRST_DELAY, doubled each attempt up to LONGEST_DELAY."""
    params = {"owner": owner, "ids": list(ids), "first": FIRST_DELAY, "longest": LONGEST_DELAY}
    return (await tx.execute("defer_outbox", params)).rowcount

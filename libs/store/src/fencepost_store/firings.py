"""Reminders that fire: one transaction locks the reminder, records the firing and tells it (design 02 §10).

What comes next is computed before, from what was read; the transaction checks that the reminder is still
that one. Two reconcilers, a restart or a clock that jumps change nothing: the database's clock says what
is due, and a firing is unique by (reminder, occurrence).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from fencepost_store.storable import storable
from fencepost_store.transaction import Tx


@dataclass(frozen=True, slots=True)
class DueReminder:
    """A reminder as listed. `version` rises with each edit; `now` is the database's instant of the list.

    rrule: RFC 5545 without DTSTART, None for a single one. dtstart: the first occurrence. exdates: left out.
    """

    id: UUID
    tenant_id: UUID
    user_id: str
    conversation_id: UUID | None
    title: str
    locale: str
    zone: str
    rrule: str | None
    dtstart: datetime
    next_at: datetime
    version: int
    now: datetime
    exdates: Sequence[datetime] = ()


@dataclass(frozen=True, slots=True)
class Firing:
    """What to record: at most one occurrence is told, earlier ones were missed and are skipped.

    fires: None when only missed ones are recorded and the round goes on. following: the next occurrence
    after them, None when nothing comes.
    """

    fires: datetime | None
    late: bool
    skipped: Sequence[datetime]
    following: datetime | None
    text: str
    conversation_title: str


class NotDue(Exception):
    """The reminder isn't what was read, or another reconciler has it: nothing may be written."""


async def reminders_are_here(tx: Tx) -> bool:
    row = await tx.row("reminders_are_here")
    return bool(row and row["here"])


async def find_due(tx: Tx, after: UUID, batch: int) -> list[DueReminder]:
    return [DueReminder(**row) for row in await tx.rows("find_due_reminders", after=after, batch=batch)]


async def fire(tx: Tx, due: DueReminder, firing: Firing) -> UUID | None:
    """Record it all in this transaction. Returns the message's id, None when nothing was told.

    Raises NotDue; the caller rolls back.
    """
    conversation_id = await _conversation(tx, due, firing)
    row = await tx.row(
        "fire_reminder", id=due.id, version=due.version, occurrence=due.next_at, following=firing.following
    )
    if row is None or not row["fired"]:
        raise NotDue(str(due.id))
    message_id = tx.ids.uuid7() if firing.fires is not None else None
    new = await _insert(tx, due, firing, message_id)
    if message_id is None or firing.fires not in new:
        return None
    await _tell(tx, due, firing, conversation_id, message_id)
    return message_id


async def _conversation(tx: Tx, due: DueReminder, firing: Firing) -> UUID:
    """The reminder's conversation, locked, or the user's own for reminders."""
    whose = {"tenant_id": due.tenant_id, "user_id": due.user_id}
    if due.conversation_id is not None:
        row = await tx.row("lock_conversation_for_reminder", id=due.conversation_id, **whose)
        if row is not None:
            return due.conversation_id
    made = await tx.row(
        "conversation_for_reminders", id=tx.ids.uuid7(), title=firing.conversation_title, **whose
    )
    assert made is not None  # an upsert that updates returns its row
    conversation_id: UUID = made["id"]
    return conversation_id


async def _insert(tx: Tx, due: DueReminder, firing: Firing, message_id: UUID | None) -> set[datetime]:
    told = [firing.fires] if firing.fires is not None else []
    skipped = list(firing.skipped)
    rows = await tx.rows(
        "insert_firings",
        reminder_id=due.id,
        tenant_id=due.tenant_id,
        user_id=due.user_id,
        occurrences=[*skipped, *told],
        statuses=["skipped"] * len(skipped) + ["fired"] * len(told),
        lates=[True] * len(skipped) + [firing.late] * len(told),
        message_ids=[None] * len(skipped) + [message_id] * len(told),
    )
    return {row["occurrence"] for row in rows}


async def _tell(tx: Tx, due: DueReminder, firing: Firing, conversation_id: UUID, message_id: UUID) -> None:
    await tx.execute(
        "insert_message",
        {
            "id": message_id,
            "conversation_id": conversation_id,
            "tenant_id": due.tenant_id,
            "user_id": due.user_id,
            "run_id": None,
            "author": "reminder",
            "text": storable(firing.text),
            "artifacts": "[]",
        },
    )
    assert firing.fires is not None
    data = {
        "reminder_id": str(due.id),
        "occurrence": firing.fires.isoformat(),
        "message_id": str(message_id),
        "late": firing.late,
    }
    await tx.execute(
        "insert_feed",
        {
            "tenant_id": due.tenant_id,
            "user_id": due.user_id,
            "conversation_id": conversation_id,
            "kinds": ["reminder.due"],
            "datas": [json.dumps(data)],
        },
    )

"""Conversation state: changed under its head's lock, readable at any instant (design 02 §9).

The head holds the present state; each change is an event with its old and new value, and from time to time
the whole is kept as a snapshot. `at` never goes back within a conversation, whatever the database's clock
does, so an instant splits the events in two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from fencepost_domain.errors import NotFound
from fencepost_domain.state import Change, Changed, apply, snapshot_due
from sqlalchemy import RowMapping

from fencepost_store.storable import as_json
from fencepost_store.transaction import Tx

NO_END: Final = 2**63 - 1  # no snapshot follows


@dataclass(frozen=True, slots=True)
class Head:
    """A conversation's present state, locked. now: the instant of a change made under this lock."""

    conversation_id: UUID
    seq: int
    body: Mapping[str, Any]
    snapshot_seq: int
    snapshot_at: datetime
    now: datetime


@dataclass(frozen=True, slots=True)
class Written:
    """A change as it was recorded."""

    seq: int
    event_id: UUID
    changed: Changed


@dataclass(frozen=True, slots=True)
class StateAt:
    """The state at an instant. seq: of the last change up to it, 0 before the first.

    snapshot_seq: of the snapshot it was read from, 0 for none. at: of that last change where it was read.
    erased: keys that had a value then, which was erased since.
    """

    values: Mapping[str, Any]
    seq: int
    snapshot_seq: int
    at: datetime | None
    erased: tuple[str, ...] = ()


async def lock_state(tx: Tx, conversation_id: UUID, tenant_id: UUID) -> Head:
    """Take the head's row; it is made at the first use. Raises NotFound for another tenant's."""
    row = await tx.row("lock_state_head", conversation_id=conversation_id)
    if row is None:
        made = {"conversation_id": conversation_id, "tenant_id": tenant_id}
        await tx.execute("make_state_head", made)
        row = await tx.row("lock_state_head", conversation_id=conversation_id)
    if row is None:
        raise NotFound("conversation", conversation_id)
    return Head(conversation_id, row["seq"], row["body"], row["snapshot_seq"], row["snapshot_at"], row["now"])


async def write_state(
    tx: Tx, head: Head, changes: Sequence[Change], *, source: str, run_id: UUID | None, trace_id: str | None
) -> list[Written]:
    """Carry out changes on a locked head, in order. Raises Conflict state_refused; then none is made."""
    if not changes:
        return []
    body: dict[str, Any] = dict(head.body)
    done: list[Changed] = []
    for change in changes:
        body, changed = apply(body, change)
        done.append(changed)
    count = head.seq + len(done) - head.snapshot_seq
    since = head.now - head.snapshot_at if head.seq else head.now - head.now
    ids = [tx.ids.uuid7() for _ in done]
    row = await tx.row(
        "write_state",
        conversation_id=head.conversation_id,
        seq=head.seq,
        at=head.now,
        body=as_json(body),
        snapshot=snapshot_due(count, since),
        keys=[one.key for one in done],
        olds=[as_json(one.old) if one.existed else None for one in done],
        news=[as_json(one.new) if one.exists else None for one in done],
        operations=[str(one.operation) for one in done],
        event_ids=ids,
        source=source,
        run_id=run_id,
        trace_id=trace_id,
    )
    if row is None:
        raise AssertionError("the head moved under its lock")
    return [
        Written(head.seq + place, event_id, changed)
        for place, (event_id, changed) in enumerate(zip(ids, done, strict=True), 1)
    ]


async def present_state(tx: Tx, conversation_id: UUID) -> StateAt:
    """The state now, read without a lock."""
    row = await tx.row("present_state", conversation_id=conversation_id)
    if row is None:
        return StateAt({}, 0, 0, None)
    return StateAt(row["body"], row["seq"], 0, row["at"] if row["seq"] else None)


async def state_at(tx: Tx, conversation_id: UUID, at: datetime) -> StateAt:
    """The state as it was at an instant; empty before the first change."""
    around = await tx.row("state_around", conversation_id=conversation_id, at=at)
    assert around is not None  # both statements always return one row
    after, upto = around["snapshot_seq"], around["following"] or NO_END
    row = await tx.row("state_since", conversation_id=conversation_id, at=at, after=after, upto=upto)
    assert row is not None
    values = {**around["body"], **row["changed"]}
    for key in row["gone"]:
        values.pop(key, None)
    erased = {*around["erased"]} - {*row["changed"], *row["gone"]} | {*row["erased"]}
    return StateAt(values, row["seq"] or after, after, row["at"], tuple(sorted(erased)))


async def state_events(
    tx: Tx, conversation_id: UUID, after: int, limit: int, key: str | None = None
) -> Sequence[RowMapping]:
    """Changes after a number, in order, of one key where it is named."""
    return await tx.rows("state_events", conversation_id=conversation_id, after=after, limit=limit, key=key)

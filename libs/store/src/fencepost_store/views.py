"""Reads of the API: each view is one statement; rows come back as they are, shapes are the API's.

Row-level security narrows every one to the transaction's tenant; the user is a parameter, because roles
decide who may see more than their own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from fencepost_domain.errors import NotFound
from sqlalchemy import RowMapping

from fencepost_store.transaction import Tx

NO_END: Final = 2**63 - 1  # of a log that is read to its last event


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs; None and empty mean all. `before`: only ids under it (a page's cursor)."""

    user_id: str | None = None
    statuses: tuple[str, ...] = ()
    module: str | None = None
    conversation_id: UUID | None = None
    created_after: datetime | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    before: UUID | None = None


async def runs(tx: Tx, wanted: RunFilter, limit: int) -> Sequence[RowMapping]:
    """A page of runs, newest first."""
    return await _runs(tx, wanted, None, limit)


async def run(tx: Tx, run_id: UUID, user_id: str | None = None) -> RowMapping:
    """One run whole. Raises NotFound, also when it is not `user_id`'s."""
    rows = await _runs(tx, RunFilter(user_id=user_id), run_id, 1)
    if not rows:
        raise NotFound("run", run_id)
    return rows[0]


async def _runs(tx: Tx, wanted: RunFilter, run_id: UUID | None, limit: int) -> Sequence[RowMapping]:
    return await tx.rows(
        "view_runs",
        run_id=run_id,
        user_id=wanted.user_id,
        before=wanted.before,
        statuses=list(wanted.statuses) or None,
        module=wanted.module,
        conversation_id=wanted.conversation_id,
        created_after=wanted.created_after,
        metadata=json.dumps(dict(wanted.metadata)) if wanted.metadata else None,
        limit=limit,
    )


@dataclass(frozen=True, slots=True)
class Access:
    """What authorisation and streams need of a run. `terminal_seq`: of the event that ended it."""

    id: UUID
    user_id: str
    status: str
    waiting_on: str | None
    event_seq: int
    done: bool
    terminal_seq: int | None


async def run_access(tx: Tx, run_id: UUID, user_id: str | None = None) -> Access:
    """Raises NotFound, also for another tenant's, and for another's than `user_id`'s when one is named."""
    row = await tx.row("run_access", run_id=run_id)
    if row is None or (user_id is not None and row["user_id"] != user_id):
        raise NotFound("run", run_id)
    return Access(**row)


@dataclass(frozen=True, slots=True)
class KeyClaim:
    """What an idempotency key means now.

    run_id, request_hash: of the run it made; the rest is None then.
    same_free, key_free: (True, True) it is ours until the transaction ends; (False, _) the same request is
    in work elsewhere; (True, False) another request is.
    """

    run_id: UUID | None
    request_hash: str | None
    same_free: bool | None
    key_free: bool | None


async def claim_key(tx: Tx, user_id: str, route: str, key: str, request_hash: str) -> KeyClaim:
    """Find what the key made, or try to be the one who works under it. Never waits."""
    row = await tx.row("claim_key", user_id=user_id, route=route, key=key, request_hash=request_hash)
    assert row is not None
    return KeyClaim(row["id"], row["request_hash"], row["same_free"], row["key_free"])


async def hold_conversation(tx: Tx, conversation_id: UUID, user_id: str) -> bool:
    """Lock a conversation of the user; False when it is new, or another's."""
    return await tx.row("hold_conversation", id=conversation_id, user_id=user_id) is not None


async def runs_at_work(
    tx: Tx, conversation_id: UUID, user_id: str, *, but_route: str, but_key: str
) -> list[UUID]:
    """Runs that hold the conversation or are queued for it, but for the one made under this key."""
    rows = await tx.rows(
        "runs_at_work", conversation_id=conversation_id, user_id=user_id, route=but_route, key=but_key
    )
    return [row["id"] for row in rows]


async def earlier_attachments(
    tx: Tx, conversation_id: UUID, user_id: str
) -> tuple[UUID, tuple[UUID, ...]] | None:
    """The user's last run of the conversation that came with files, and those files' ids."""
    row = await tx.row("earlier_attachments", conversation_id=conversation_id, user_id=user_id)
    return (row["id"], tuple(UUID(one) for one in row["attachments"])) if row is not None else None


async def events(tx: Tx, run_id: UUID, after: int, limit: int) -> Sequence[RowMapping]:
    return await tx.rows("view_events", run_id=run_id, after=after, upto=NO_END, limit=limit)


async def stream_events(tx: Tx, positions: Mapping[UUID, int], limit: int) -> Sequence[RowMapping]:
    """Events of several runs, each after its position."""
    return await tx.rows(
        "stream_events", run_ids=list(positions), afters=list(positions.values()), limit=limit
    )


async def stream_details(
    tx: Tx, messages: Sequence[UUID], finished: Sequence[UUID], interrupts: Sequence[UUID]
) -> tuple[dict[UUID, RowMapping], dict[UUID, RowMapping], dict[UUID, RowMapping]]:
    """What events name by id: messages by id, finalizations by run, interrupts by id."""
    said = await tx.rows("stream_messages", ids=list(messages)) if messages else ()
    ended = await tx.rows("stream_finalizations", run_ids=list(finished)) if finished else ()
    asked = await tx.rows("stream_interrupts", ids=list(interrupts)) if interrupts else ()
    return (
        {row["id"]: row for row in said},
        {row["run_id"]: row for row in ended},
        {row["id"]: row for row in asked},
    )


async def run_heads(tx: Tx, watched: Mapping[UUID, UUID]) -> dict[UUID, tuple[int, bool]]:
    """(last seq, is it done) of the runs watched, given with their tenants; across tenants, numbers only."""
    rows = await tx.rows("run_heads", run_ids=list(watched), tenant_ids=list(watched.values()))
    return {row["run_id"]: (row["event_seq"], row["done"]) for row in rows}


Position = tuple[int, int]  # (xid, id) of a feed line


async def feed_heads(tx: Tx, watched: Sequence[tuple[UUID, str]]) -> dict[tuple[UUID, str], Position]:
    """The newest readable position of each (tenant, user)."""
    rows = await tx.rows(
        "feed_heads", tenant_ids=[tenant for tenant, _ in watched], user_ids=[user for _, user in watched]
    )
    return {(row["tenant_id"], row["user_id"]): (int(row["xid"]), row["id"]) for row in rows}


async def feed(tx: Tx, user_id: str, after: Position, limit: int) -> Sequence[RowMapping]:
    return await tx.rows("view_feed", user_id=user_id, xid=str(after[0]), id=after[1], limit=limit)


async def feed_start(tx: Tx) -> tuple[Position, datetime]:
    """The position "now", and the database's instant."""
    row = await tx.row("feed_start")
    assert row is not None
    return (int(row["xid"]), 0), row["now"]


@dataclass(frozen=True, slots=True)
class InterruptFilter:
    """`user_id` None: everybody's; `approvals_too`: besides the user's, all approvals of the tenant."""

    user_id: str | None = None
    approvals_too: bool = False
    kind: str | None = None
    status: str | None = None
    before: UUID | None = None


async def interrupts(tx: Tx, wanted: InterruptFilter, limit: int) -> Sequence[RowMapping]:
    return await _interrupts(tx, wanted, None, limit)


async def interrupt(tx: Tx, interrupt_id: UUID, wanted: InterruptFilter) -> RowMapping:
    """Raises NotFound, also for one the filter leaves out."""
    rows = await _interrupts(tx, wanted, interrupt_id, 1)
    if not rows:
        raise NotFound("interrupt", interrupt_id)
    return rows[0]


async def _interrupts(
    tx: Tx, wanted: InterruptFilter, interrupt_id: UUID | None, limit: int
) -> Sequence[RowMapping]:
    return await tx.rows(
        "view_interrupts",
        id=interrupt_id,
        user_id=wanted.user_id,
        approvals_too=wanted.approvals_too,
        kind=wanted.kind,
        status=wanted.status,
        before=wanted.before,
        limit=limit,
    )


@dataclass(frozen=True, slots=True)
class Standing:
    """What a decision is checked against. `authors`: action index -> who wrote its arguments."""

    requester: str
    risk: str | None
    candidates: Sequence[Mapping[str, Any]]
    input_schema: Mapping[str, Any] | None
    key: str | None
    resolved_by: str | None
    authors: Mapping[int, str]


async def interrupt_standing(tx: Tx, interrupt_id: UUID) -> Standing:
    row = await tx.row("interrupt_standing", id=interrupt_id)
    if row is None:
        raise NotFound("interrupt", interrupt_id)
    authors = {item["index"]: item["author"] for item in row["actions"] or ()}
    return Standing(
        row["user_id"],
        row["risk"],
        row["candidates"],
        row["input_schema"],
        row["resolution_key"],
        row["resolved_by"],
        authors,
    )


async def conversations(tx: Tx, user_id: str | None, before: UUID | None, limit: int) -> Sequence[RowMapping]:
    return await tx.rows("view_conversations", id=None, user_id=user_id, before=before, limit=limit)


async def conversation(tx: Tx, conversation_id: UUID, user_id: str | None) -> RowMapping:
    """Raises NotFound."""
    row = await tx.row("view_conversations", id=conversation_id, user_id=user_id, before=None, limit=1)
    if row is None:
        raise NotFound("conversation", conversation_id)
    return row


async def messages(tx: Tx, conversation_id: UUID, after: int, limit: int) -> Sequence[RowMapping]:
    return await tx.rows("view_messages", conversation_id=conversation_id, after=after, limit=limit)


async def modules(tx: Tx, module: str | None = None) -> Sequence[RowMapping]:
    return await tx.rows("view_modules", module=module)


async def known_modules(tx: Tx) -> frozenset[str]:
    return frozenset(row["module"] for row in await tx.rows("known_modules"))


async def run_effects(tx: Tx, run_id: UUID) -> Sequence[RowMapping]:
    """Current actions of a run and how their effects stand."""
    return await tx.rows("run_effects", run_id=run_id)

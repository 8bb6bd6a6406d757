"""A conversation's history and what stands for its older part (I30).

The words of a summary are in its candidate event and nowhere else; `agent.compactions` says which candidates
were committed, for which messages. What is read is checked again here: whether the words are the ones that
were committed, and whether their sources still are what they were.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from fencepost_contracts import canonical
from fencepost_domain.decision import Decision, NewEvent
from fencepost_domain.errors import FenceLost
from fencepost_domain.fence import Fence, FenceKind
from fencepost_domain.run import Run, check_fence
from fencepost_domain.vocabulary import Ev
from sqlalchemy import RowMapping

from fencepost_store.record import record
from fencepost_store.runs import lock_run
from fencepost_store.transaction import Tx


@dataclass(frozen=True, slots=True)
class Compacted:
    """A committed summary: it stands for the messages `from_seq` to `upto_seq` of its conversation."""

    id: UUID
    from_seq: int
    upto_seq: int
    summary: str
    open_tasks: tuple[str, ...]
    done: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NewCompaction:
    """What is to be committed. Events by their ids, which are made of what they say."""

    id: UUID
    from_seq: int
    upto_seq: int
    source_hash: str
    summary_hash: str
    candidate_event: UUID
    committed_event: UUID
    tokens: int


def hash_of(summary: str, open_tasks: Sequence[str], done: Sequence[str]) -> str:
    """SHA-256 of the canonical form of a summary, lower hex."""
    return canonical.digest({"summary": summary, "open_tasks": open_tasks, "done": done})


async def newest_compaction(tx: Tx, run: Run) -> Compacted | None:
    """The committed summary that this run may read; None where there is none, or what there is was erased,
    is another than was committed, or its sources aren't what it was made of."""
    row = await tx.row(
        "newest_compaction", conversation_id=run.conversation_id, tenant_id=run.tenant_id, run_id=run.id
    )
    if row is None or row["payload"] is None:
        return None
    hash_now, _ = await sources(tx, run, row["from_seq"], row["upto_seq"])
    if hash_now != row["source_hash"]:
        return None
    told: Mapping[str, Any] = json.loads(bytes(row["payload"]))
    made = (told["summary"], told["open_tasks"], told["done"])
    if told["faults"] or told["compaction_id"] != str(row["id"]) or hash_of(*made) != row["summary_hash"]:
        return None
    return Compacted(row["id"], row["from_seq"], row["upto_seq"], made[0], tuple(made[1]), tuple(made[2]))


async def turns_after(tx: Tx, run: Run, after: int, limit: int) -> Sequence[RowMapping]:
    """Messages of the conversation behind number `after` and before this run's own, at most the newest
    `limit`: {seq, run_id, author, text, created_at}."""
    return await tx.rows(
        "conversation_turns", conversation_id=run.conversation_id, run_id=run.id, after=after, limit=limit
    )


async def sources(tx: Tx, run: Run, from_seq: int, upto_seq: int) -> tuple[str, list[int]]:
    """The hash of a part of the conversation, and the numbers of its messages."""
    row = await tx.row(
        "compaction_sources", conversation_id=run.conversation_id, from_seq=from_seq, upto_seq=upto_seq
    )
    assert row is not None
    return row["hash"], list(row["seqs"])


async def left_undone(tx: Tx, run_ids: Sequence[UUID]) -> list[str]:
    """What those runs said they left undone, in their own words."""
    rows = await tx.rows("left_undone", run_ids=list(run_ids)) if run_ids else ()
    return [str(one) for row in rows for one in row["left_undone"]]


async def commit(tx: Tx, fence: Fence, new: NewCompaction) -> None:
    """`compaction.committed` and the row by which it is found: one transaction, under the whole fence.

    Raises FenceLost; Conflict event_exists when it was committed before.
    """
    locked = await lock_run(tx, fence.run_id)
    check_fence(locked.run, fence, FenceKind.RECORD, locked.now)
    payload = {
        "compaction_id": str(new.id),
        "source_hash": new.source_hash,
        "summary_hash": new.summary_hash,
        "tokens": new.tokens,
    }
    event = NewEvent(new.committed_event, Ev.COMPACTION_COMMITTED, payload, "worker")
    await record(tx, locked.run, Decision(None, events=(event,), fence=fence, fence_kind=FenceKind.RECORD))
    row = await tx.row(
        "insert_compaction",
        id=new.id,
        run_id=fence.run_id,
        revision=fence.revision,
        owner=fence.owner,
        from_seq=new.from_seq,
        upto_seq=new.upto_seq,
        source_hash=new.source_hash,
        summary_hash=new.summary_hash,
        candidate_event=new.candidate_event,
        committed_event=new.committed_event,
    )
    if row is None:
        raise FenceLost(fence.run_id, "the candidate is not this run's")

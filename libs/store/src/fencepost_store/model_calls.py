"""The ledger of model calls (design 02 §6, §11): before it is sent, an attempt is a row; its answer is stored
with its settlement before anything acts on it; a resumed node reads here before it asks.

Opening is fenced by the run (start fence, budget), settling by the attempt: a late outcome is kept and
charged, and never used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from fencepost_domain.decision import Decision, NewEvent
from fencepost_domain.errors import FenceLost
from fencepost_domain.fence import Fence, FenceKind
from fencepost_domain.run import Run, check_fence
from fencepost_domain.vocabulary import CallState, Ev, RunStatus
from sqlalchemy import RowMapping

from fencepost_store.record import record
from fencepost_store.runs import lock_run
from fencepost_store.storable import as_json
from fencepost_store.transaction import Tx


@dataclass(frozen=True, slots=True)
class NewCall:
    """An attempt to be opened. key: `{run_id}:{checkpoint}:{node}:{branch}:{n}`; within: until it is over."""

    id: UUID
    key: str
    role: str
    provider: str
    model: str
    request_hash: str
    within: timedelta
    calls_limit: int


@dataclass(frozen=True, slots=True)
class Opened:
    """Either the stored answer (ask nothing), or the attempt to send, or neither: the budget is used up."""

    answer: Mapping[str, Any] | None = None
    attempt: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an attempt ended. answer: of a settled one; error: of a failed one, with its partial text."""

    state: CallState
    answer: Mapping[str, Any] | None = None
    error: Mapping[str, Any] | None = None
    input_tokens: int = 0
    output_tokens: int = 0


async def open_call(tx: Tx, fence: Fence, new: NewCall) -> Opened:
    """Read the ledger, else open an attempt under the start fence. Raises FenceLost."""
    locked = await lock_run(tx, fence.run_id)
    check_fence(locked.run, fence, FenceKind.START, locked.now)
    row = await tx.row("answered_call", run_id=fence.run_id, call_key=new.key)
    if row is not None:
        return Opened(answer=row["answer"])
    opened = await tx.row(
        "open_model_call",
        id=new.id,
        run_id=fence.run_id,
        call_key=new.key,
        role=new.role,
        provider=new.provider,
        model=new.model,
        request_hash=new.request_hash,
        within=new.within,
        calls=new.calls_limit,
    )
    return Opened(attempt=opened["attempt"] if opened is not None else None)


async def settle_call(tx: Tx, fence: Fence, call: NewCall, attempt: int, outcome: Outcome) -> bool:
    """Store an attempt's outcome, once, and tell the log. Returns whether it may be used (it is not late)."""
    locked = await lock_run(tx, fence.run_id)
    mine = _holds(locked.run, fence, locked.now)
    row = await tx.row(
        "settle_model_call",
        id=call.id,
        state=str(outcome.state),
        answer=as_json(outcome.answer) if outcome.answer is not None else None,
        error=as_json(outcome.error) if outcome.error is not None else None,
        input_tokens=outcome.input_tokens,
        output_tokens=outcome.output_tokens,
        late=not mine,
    )
    if row is None:
        return False
    late = bool(row["late"])
    told = {
        "call_id": str(call.id),
        "key": call.key,
        "attempt": attempt,
        "role": call.role,
        "provider": call.provider,
        "model": call.model,
        "state": str(outcome.state),
        "late": late,
    }
    kind = Ev.OBSERVED_LATE if late else Ev.MODEL_CALLED
    await record(tx, locked.run, Decision(None, events=(NewEvent(tx.ids.uuid7(), kind, told),)))
    return not late


def _holds(run: Run, fence: Fence, now: Any) -> bool:
    if run.status is RunStatus.CANCELLING:
        return False
    try:
        check_fence(run, fence, FenceKind.RECORD, now)
    except FenceLost:
        return False
    return True


async def turns_before(tx: Tx, run: Run, limit: int) -> Sequence[RowMapping]:
    """Messages of the conversation before this run's own."""
    return await tx.rows(
        "conversation_turns", conversation_id=run.conversation_id, run_id=run.id, limit=limit
    )


async def actions_of(tx: Tx, run_ids: Sequence[UUID]) -> Sequence[RowMapping]:
    return await tx.rows("conversation_actions", run_ids=list(run_ids)) if run_ids else ()

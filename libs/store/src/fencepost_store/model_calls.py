"""The ledger of model calls (design 02 §6, §11): before it is sent, an attempt is a row; its answer is stored
with its settlement before anything acts on it; a resumed node reads here before it asks.

Opening is fenced by the run (start fence, budgets), settling by the attempt: a late outcome is kept and
charged, and never used. The worst case of a call is reserved as it is opened, what it used is charged as it
is settled; an attempt that nobody settles is charged in full by the sweep.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from fencepost_domain.budget import DEFAULTS, NOTHING, Estimate
from fencepost_domain.decision import Decision, NewEvent
from fencepost_domain.errors import FenceLost
from fencepost_domain.fence import Fence, FenceKind
from fencepost_domain.run import Run
from fencepost_domain.vocabulary import CallState, Ev
from sqlalchemy import RowMapping

from fencepost_store.record import record
from fencepost_store.runs import lock_run
from fencepost_store.storable import loggable
from fencepost_store.transaction import Tx


@dataclass(frozen=True, slots=True)
class NewCall:
    """An attempt to be opened. key: `{run_id}:{checkpoint}:{node}:{branch}:{n}`; within: until it is over.

    calls_limit: of this role in the lineage. reserve: the worst case. input: the messages sent, by hash;
    bodies: those that no earlier event of the run holds.
    built: what the request was made of: {prompt, tokens, tools, parts}, for `context.built`.
    """

    id: UUID
    key: str
    role: str
    provider: str
    model: str
    request_hash: str
    within: timedelta
    calls_limit: int
    input: Sequence[str] = ()
    bodies: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    reserve: Estimate = NOTHING
    built: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Opened:
    """Either the stored answer (ask nothing), or the attempt to send, or neither: `reached` is the limit."""

    answer: Mapping[str, Any] | None = None
    attempt: int | None = None
    reached: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an attempt ended. answer: of a settled one; error: of a failed one, with its partial text.

    cost: of the tokens used, in the currency of the reservation.
    """

    state: CallState
    answer: Mapping[str, Any] | None = None
    error: Mapping[str, Any] | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal = Decimal(0)


async def open_call(tx: Tx, fence: Fence, new: NewCall) -> Opened:
    """Read the ledger, else reserve and open an attempt under the start fence. Raises FenceLost."""
    given = {
        "id": new.id,
        "run_id": fence.run_id,
        "revision": fence.revision,
        "owner": fence.owner,
        "call_key": new.key,
        "role": new.role,
        "provider": new.provider,
        "model": new.model,
        "request_hash": new.request_hash,
        "within": new.within,
        "calls": new.calls_limit,
        "total_calls": DEFAULTS["model_calls"],
        "in_tokens": new.reserve.input_tokens,
        "out_tokens": new.reserve.output_tokens,
        "cost": new.reserve.cost,
        "currency": new.reserve.currency,
        "prices": new.reserve.prices,
    }
    row = await tx.row("open_model_call", **given)
    if row is not None and row["holds"] and row["answer"] is None and row["attempt"] is None:
        row = await tx.row("open_model_call_in_all", **given)
    if row is None or not row["holds"]:
        raise FenceLost(fence.run_id, "no call may be started")
    if row["answer"] is not None or row["attempt"] is not None:
        return Opened(row["answer"], row["attempt"])
    return Opened(reached=row["reached"] or "model_calls")


async def settle_call(tx: Tx, run: Run, call: NewCall, attempt: int, outcome: Outcome) -> None:
    """Store an attempt's outcome, once, and tell the log, under the record fence of the claimed `run`.

    Raises FenceLost when it may not be used; the transaction is rolled back, and `settle_late` keeps it.
    """
    event = NewEvent(tx.ids.uuid7(), Ev.MODEL_CALLED, _told(call, attempt, outcome, late=False))
    decision = Decision(
        None, events=(*_built(tx, call, attempt), event), fence=run.fence(), fence_kind=FenceKind.RECORD
    )
    await record(tx, run, decision)
    row = await _settle(tx, call, outcome, late=False)
    if row is None or row["late"]:
        raise FenceLost(run.id, "this call has its answer")


def _built(tx: Tx, call: NewCall, attempt: int) -> tuple[NewEvent, ...]:
    """`context.built`, right before the call's own event: one transaction, one lock."""
    if call.built is None:
        return ()
    named = {"call_id": str(call.id), "key": call.key, "attempt": attempt, "role": call.role}
    return (NewEvent(tx.ids.uuid7(), Ev.CONTEXT_BUILT, {**named, **loggable(call.built)}),)


async def settle_late(tx: Tx, run_id: UUID, call: NewCall, attempt: int, outcome: Outcome) -> None:
    """Keep what came after the run was another's, or stopped: charged, never used."""
    locked = await lock_run(tx, run_id)
    if await _settle(tx, call, outcome, late=True) is not None:
        event = NewEvent(tx.ids.uuid7(), Ev.OBSERVED_LATE, _told(call, attempt, outcome, late=True))
        await record(tx, locked.run, Decision(None, events=(event,)))


async def _settle(tx: Tx, call: NewCall, outcome: Outcome, *, late: bool) -> RowMapping | None:
    given = {
        "id": call.id,
        "state": str(outcome.state),
        "answer": json.dumps(outcome.answer) if outcome.answer is not None else None,
        "error": json.dumps(outcome.error) if outcome.error is not None else None,
        "input_tokens": outcome.input_tokens,
        "output_tokens": outcome.output_tokens,
        "cost": outcome.cost,
        "late": late,
    }
    settled = await tx.row("settle_model_call", **given)
    return settled if settled is not None else await tx.row("settle_model_call_in_all", **given)


def _told(call: NewCall, attempt: int, outcome: Outcome, *, late: bool) -> dict[str, Any]:
    return {
        "call_id": str(call.id),
        "key": call.key,
        "attempt": attempt,
        "role": call.role,
        "provider": call.provider,
        "model": call.model,
        "state": str(outcome.state),
        "late": late,
        "input_tokens": outcome.input_tokens,
        "output_tokens": outcome.output_tokens,
        "request_hash": call.request_hash,
        "reply": loggable(outcome.answer),
        **({} if late else {"input": list(call.input), "bodies": loggable(call.bodies)}),
        **{k: v for k, v in (outcome.error or {}).items() if k in ("code", "provider_code", "retryable")},
    }


async def actions_of(tx: Tx, run_ids: Sequence[UUID]) -> Sequence[RowMapping]:
    return await tx.rows("conversation_actions", run_ids=list(run_ids)) if run_ids else ()

"""May this action be committed now? Asked once without locks, for an early answer, and once under them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from fencepost_contracts.tools import CommitAnswer, CommitRequest, InProgress, ToolError
from fencepost_domain.action import Action, Approval, check_commit, check_since_recovery
from fencepost_domain.effect import EXTERNAL
from fencepost_domain.errors import Conflict, NotFound
from fencepost_domain.fence import Fence
from fencepost_domain.recovery import check_gate
from fencepost_domain.run import Run
from fencepost_domain.vocabulary import EffectClass, EffectState
from fencepost_store import actions as store
from fencepost_store import grants
from fencepost_store.actions import Surroundings
from fencepost_store.budgets import take_recovery
from fencepost_store.effects import Effect, Outcome, look_at_effect
from fencepost_store.runs import Locked
from fencepost_store.transaction import Tx

from fencepost_tool_gateway import tokens
from fencepost_tool_gateway.catalog import Compiled
from fencepost_tool_gateway.drafts import edited_hash
from fencepost_tool_gateway.executors.port import Call
from fencepost_tool_gateway.gateway import Gateway, check_start
from fencepost_tool_gateway.problems import Refused
from fencepost_tool_gateway.standing import check_today

PINNED: Final = frozenset({"tool_changed", "source_unavailable"})  # the source's doing, not the catalog's
TASK_RETRY: Final = 5.0  # seconds; for who asks all the same
SHORTEST_RETRY: Final = 0.2  # seconds; an attempt that is about to end is asked for soon


@dataclass(frozen=True, slots=True)
class Authorised:
    """An attempt that may be made: the run, the verified action, and its call under the bound catalog."""

    run: Run
    action: Action
    around: Surroundings
    bound: Compiled
    call: Call


@dataclass(frozen=True, slots=True)
class Unfinished:
    """An effect that left the house is in the ledger and isn't settled: `outside` knows how to go on."""

    effect: Effect


async def look(
    gateway: Gateway, tx: Tx, fence: Fence, request: CommitRequest
) -> Authorised | Unfinished | CommitAnswer | InProgress:
    """The answer as it would be now, in a snapshot; nothing is locked, nothing is promised."""
    looked = await store.look_at_run(tx, fence.run_id)
    stored = await _stored(tx, looked, request)
    if stored is not None:
        return stored
    check_start(looked, fence)
    action = await _named(tx, fence.run_id, request)
    approval = await store.look_at_approval(tx, fence.run_id, action.interrupt_id)
    return await _judged(gateway, tx, looked.run, action, approval, looked.now)


async def authorise(
    gateway: Gateway, tx: Tx, locked: Locked, fence: Fence, request: CommitRequest
) -> Authorised | Unfinished | CommitAnswer | InProgress:
    """The same on locked rows, in their order: run (held), interrupt or grant, action; then the time."""
    stored = await _stored(tx, locked, request)
    if stored is not None:
        return stored
    return await _under_locks(gateway, tx, check_start(locked, fence), fence, request, repeats=False)


async def authorise_repeat(
    gateway: Gateway, tx: Tx, locked: Locked, fence: Fence, request: CommitRequest
) -> Authorised:
    """May another attempt be opened? All that counts for the first, but for its spent token; and a repeat of
    the lineage's is taken. Raises Conflict budget_exhausted when none is left.
    """
    may = await _under_locks(gateway, tx, check_start(locked, fence), fence, request, repeats=True)
    await take_recovery(tx, fence.run_id)
    return may


async def _under_locks(
    gateway: Gateway, tx: Tx, run: Run, fence: Fence, request: CommitRequest, *, repeats: bool
) -> Authorised:
    seen = await _named(tx, run.id, request)
    approval = await store.lock_approval(tx, run.id, seen.interrupt_id) if seen.interrupt_id else None
    if seen.grant_id is not None:  # a revocation comes before this, or after the attempt was opened
        await grants.lock(tx, seen.grant_id)
    held = await store.lock_action(tx, run.id, request.index, request.n)
    if held is None:
        raise NotFound("action", f"{request.index}/{request.n}")
    action, now = held
    check_start(Locked(run, now), fence)  # the wait for the later locks counts too
    return await _judged(gateway, tx, run, action, approval, now, repeats=repeats)


async def _judged(
    gateway: Gateway,
    tx: Tx,
    run: Run,
    action: Action,
    approval: Approval | None,
    now: datetime,
    *,
    repeats: bool = False,
) -> Authorised:
    tokens.verify(gateway.keys, action, run.user_id)
    around = await store.surroundings(tx, run.id)
    check_gate(run, around.gate_revision)
    check_commit(
        action,
        approval,
        edited_hash=edited_hash(approval, action.index),
        now=now,
        repeats=repeats,
    )
    if not repeats:
        check_since_recovery(action, approval, around.recovered_at)
    bound, call = await _call(gateway, tx, run, around, action, now)
    await check_today(tx, run, around, action, call.tool)
    return Authorised(run, action, around, bound, call)


async def _stored(
    tx: Tx, looked: Locked, request: CommitRequest
) -> Unfinished | CommitAnswer | InProgress | None:
    """What the ledger says already; None when no attempt was opened. Asks for no fence: it only reads."""
    found = await look_at_effect(tx, looked.run.id, request.index)
    if found is None:
        return None
    effect, now = found
    if effect.n != request.n:
        raise Conflict("withdrawn", f"preparation {effect.n} of this action was carried out instead")
    await _named(tx, looked.run.id, request)
    return _from_ledger(effect, now)


def _from_ledger(effect: Effect, now: datetime) -> Unfinished | CommitAnswer | InProgress:
    if effect.state is EffectState.ACCEPTED:
        return accepted()
    if effect.effect_class in EXTERNAL or effect.effect_class is EffectClass.ASYNC:
        return Unfinished(effect)
    if effect.state in (EffectState.COMPLETED, EffectState.FAILED):
        outcome = Outcome(effect.state, effect.result, effect.error, effect.result_invalid)
        return to_answer(outcome, replayed=True)
    if effect.attempt_ends_at is not None and effect.attempt_ends_at > now:
        left = (effect.attempt_ends_at - now).total_seconds()
        return InProgress(retry_after_seconds=max(left, SHORTEST_RETRY))
    raise Conflict("reconcile", f"what became of {effect.tool} is not known: it is {effect.state}")


def accepted() -> InProgress:
    """It is a task now: its end wakes the run."""
    return InProgress(retry_after_seconds=TASK_RETRY, is_task=True)


async def _named(tx: Tx, run_id: UUID, request: CommitRequest) -> Action:
    """The preparation that the request names, by its token's id. Raises NotFound, Refused token_refused."""
    found = await store.actions_at(tx, run_id, request.index)
    action = next((one for one in found if one.n == request.n), None)
    if action is None:
        raise NotFound("action", f"{request.index}/{request.n}")
    if action.token_id != request.token_id:
        raise Refused("token_refused", "this token is another preparation's")
    return action


async def _call(
    gateway: Gateway, tx: Tx, run: Run, around: Surroundings, action: Action, now: datetime
) -> tuple[Compiled, Call]:
    """The call as it was prepared, under the catalog it was prepared with, which is the run's."""
    bound = await gateway.catalogs.bound(tx, around, run.module)
    tool = bound.catalog.tool(action.tool)
    if action.catalog_fp != bound.catalog.fingerprint or tool is None:
        raise Conflict("catalog_mismatch", "it was prepared under another catalog; prepare it again")
    reason = gateway.catalogs.executor.why_not(tool)
    if reason is not None:
        raise Conflict(reason[0] if reason[0] in PINNED else "catalog_mismatch", reason[1])
    arguments = json.loads(action.arguments)
    return bound, Call(tool, arguments, run, around.currency, action.index, around.created_at, now)


def to_answer(outcome: Outcome, *, replayed: bool) -> CommitAnswer:
    return CommitAnswer(
        state="completed" if outcome.state is EffectState.COMPLETED else "failed",
        result=outcome.result,
        error=ToolError.model_validate(outcome.error) if outcome.error is not None else None,
        replayed=replayed,
        result_invalid=outcome.result_invalid,
    )

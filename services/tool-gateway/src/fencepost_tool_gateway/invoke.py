"""Commit: authorise, open the attempt, call, settle. One transaction, all or nothing (design 02 §4, §5).

Class `local`: the tool's business write, its completion and its event are in the transaction that holds the
run's row, opened under the start fence. Class `none`: the tool reads first, in a snapshot; its observation
is stored the same way. A tool that fails leaves nothing but the record of its failure, in a second
transaction under the same fence.

What was done can always be read: a stored outcome is given to any fence of the same run, also after the run
moved on or was taken over, because nothing new is started by that (I05). Everything else is for the fence
that holds.
"""

from __future__ import annotations

import json
from typing import Any, Final
from uuid import UUID

from fencepost_contracts import canonical
from fencepost_contracts.tools import CommitAnswer, CommitRequest, InProgress
from fencepost_domain.action import Action
from fencepost_domain.budget import DEFAULTS
from fencepost_domain.decision import Decision, NewEvent
from fencepost_domain.effect import effect_key
from fencepost_domain.errors import Conflict
from fencepost_domain.fence import Fence, FenceKind
from fencepost_domain.vocabulary import ActionStatus, EffectClass, EffectState, Ev
from fencepost_runtime.failpoints import ahit
from fencepost_runtime.logging import get_logger
from fencepost_store import actions as store
from fencepost_store.budgets import take_action
from fencepost_store.effects import Outcome, open_attempt, settle_attempt
from fencepost_store.record import record
from fencepost_store.runs import lock_run
from fencepost_store.transaction import Tx

from fencepost_tool_gateway.conversation_state import hold_state, write_result
from fencepost_tool_gateway.execute import (
    OutOfTime,
    ToolFailed,
    observe,
    observe_outside,
    run_local,
    tell_failure,
)
from fencepost_tool_gateway.files import Kept, register
from fencepost_tool_gateway.gateway import Gateway
from fencepost_tool_gateway.judge import SHORTEST_RETRY, Authorised, Unfinished, authorise, look, to_answer
from fencepost_tool_gateway.lineage import check_lineage
from fencepost_tool_gateway.lost import lost_before
from fencepost_tool_gateway.making import Produce, made
from fencepost_tool_gateway.outside import commit_first, go_on
from fencepost_tool_gateway.undoing import check_order, undoes

log = get_logger(__name__)
MOST_ACTIONS: Final[int] = DEFAULTS["actions"]  # of a lineage, where its budget names no other number
_STATUS: Final = {EffectState.COMPLETED: ActionStatus.COMMITTED, EffectState.FAILED: ActionStatus.FAILED}
_EVENT: Final = {EffectState.COMPLETED: Ev.ACTION_COMMITTED, EffectState.FAILED: Ev.ACTION_FAILED}

_NO_FILES: Final[tuple[Kept, ...]] = ()


async def commit(gateway: Gateway, fence: Fence, request: CommitRequest) -> CommitAnswer | InProgress:
    """The action's outcome, stored or made now.

    Raises FenceLost, Conflict (the codes of contracts.tools), Tampered, NotFound, Refused token_refused or
    simulation, Unavailable when the database can't be asked: the caller repeats the same commit.
    """
    tenant = await gateway.tenant_of(fence.run_id)
    try:
        try:
            return await _done(gateway, tenant, fence, request)
        except OutOfTime:
            # Nothing was done: once more, before a stall of the database becomes a tool's failure.
            log.warning("tool.tried_again", run_id=str(fence.run_id), index=request.index)
            return await _done(gateway, tenant, fence, request)
    except ToolFailed as failed:
        tell_failure(failed, fence.run_id)
        return await _recorded(gateway, tenant, fence, request, _given(failed.outcome))


async def _done(
    gateway: Gateway, tenant: UUID, fence: Fence, request: CommitRequest
) -> CommitAnswer | InProgress:
    """The stored outcome, or the tool's own. Raises ToolFailed besides what `commit` raises."""
    executor = gateway.catalogs.executor

    async def local(tx: Tx, may: Authorised) -> Outcome:
        return await run_local(executor, tx, may.bound, may.call, may.action)

    async with gateway.store.snapshot(tenant) as tx:
        may = await look(gateway, tx, fence, request)
        if isinstance(may, CommitAnswer | InProgress):
            return may
        produce: Produce = local
        outside = executor.outside_of(may.call.tool) if isinstance(may, Authorised) else None
        makes = isinstance(may, Authorised) and executor.makes(may.call.tool)
        reads = isinstance(may, Authorised) and may.action.effect_class is EffectClass.NONE
        if isinstance(may, Authorised) and reads and outside is None and not makes:
            produce = _given(await observe(executor, tx, may.bound, may.call))
    if isinstance(may, Unfinished):
        return await go_on(gateway, tenant, fence, request)
    await ahit("gateway.attempt.before_start")
    if outside is not None and may.action.effect_class is not EffectClass.NONE:
        return await commit_first(gateway, tenant, fence, request, _open)
    if outside is not None:
        produce = _given(await observe_outside(outside, may.bound, may.call))
    if makes:
        return await made(
            gateway,
            fence,
            request,
            may,
            lambda outcome, kept: _recorded(gateway, tenant, fence, request, outcome, kept),
        )
    return await _recorded(gateway, tenant, fence, request, produce)


async def _recorded(
    gateway: Gateway,
    tenant: UUID,
    fence: Fence,
    request: CommitRequest,
    produce: Produce,
    kept: tuple[Kept, ...] = _NO_FILES,
) -> CommitAnswer | InProgress:
    answer = await gateway.store.run(tenant, lambda tx: _attempt(gateway, tx, fence, request, produce, kept))
    await ahit("gateway.business.after_commit")
    return answer


def _given(outcome: Outcome) -> Produce:
    """An outcome that is known already: an observation, or a failure after its rollback."""

    async def produce(_: Tx, __: Authorised) -> Outcome:
        return outcome

    return produce


async def _attempt(
    gateway: Gateway,
    tx: Tx,
    fence: Fence,
    request: CommitRequest,
    produce: Produce,
    kept: tuple[Kept, ...],
) -> CommitAnswer | InProgress:
    """The one transaction: everything is judged again on locked rows, then done, settled and told."""
    may = await authorise(gateway, tx, await lock_run(tx, fence.run_id), fence, request)
    if isinstance(may, Unfinished):
        return InProgress(retry_after_seconds=SHORTEST_RETRY)
    if not isinstance(may, Authorised):
        return may
    action = may.action
    request_made = canonical.dumps({"tool": action.tool, "arguments": json.loads(action.arguments)})
    await _open(gateway, tx, may, request_made)
    await hold_state(tx, may.run, may.bound.words, may.action.tool, may.call.arguments)
    outcome = await produce(tx, may)
    await _settle(gateway, tx, fence, may, outcome, kept)
    await ahit("gateway.business.before_commit")
    return to_answer(outcome, replayed=False)


async def _open(gateway: Gateway, tx: Tx, may: Authorised, request: bytes) -> None:
    """Effect and attempt 1 as `started`, with the exact request that is done."""
    action, around = may.action, may.around
    await check_lineage(tx, may.run, around, action)
    await check_order(tx, may.run, around, action)
    await store.spend_token(tx, action)
    await take_action(tx, around.root_run_id, may.run.user_id, MOST_ACTIONS)
    await open_attempt(
        tx,
        action,
        root_run_id=around.root_run_id,
        request=request,
        boot=gateway.boot,
        timeout_seconds=may.call.tool.timeout_seconds,
        compensates=undoes(around, action.index),
        lost=lost_before(around, action.effect_class),
    )
    await ahit("gateway.attempt.after_start")


async def _settle(
    gateway: Gateway, tx: Tx, fence: Fence, may: Authorised, outcome: Outcome, kept: tuple[Kept, ...]
) -> None:
    action = may.action
    if not await settle_attempt(tx, action, 1, outcome, boot=gateway.boot):
        raise Conflict("reconcile", "the attempt was settled by another")
    await store.end_action(tx, action, _STATUS[outcome.state])
    event = NewEvent(tx.ids.uuid7(), _EVENT[outcome.state], _told(action, outcome), gateway.actor)
    files = await register(tx, may.run, kept, index=action.index, tool=action.tool, actor=gateway.actor)
    events = [event, *files, *await _written(gateway, tx, may, outcome)]
    await record(tx, may.run, Decision(None, events=tuple(events), fence=fence, fence_kind=FenceKind.START))


async def _written(gateway: Gateway, tx: Tx, may: Authorised, outcome: Outcome) -> list[NewEvent]:
    """What a completed call writes to the conversation's state, in the transaction that completes it."""
    if outcome.state is not EffectState.COMPLETED:
        return []
    tool, words, arguments = may.action.tool, may.bound.words, may.call.arguments
    return await write_result(
        tx, may.run, words, tool, may.action.effect_class, arguments, outcome.result, gateway.actor
    )


def _told(action: Action, outcome: Outcome) -> dict[str, Any]:
    told: dict[str, Any] = {
        "index": action.index,
        "n": action.n,
        "tool": action.tool,
        "arguments_hash": action.arguments_hash,
        "effect_key": effect_key(action.run_id, action.index),
        "effect_class": str(action.effect_class),
        "attempt": 1,
    }
    return {**told, "result": outcome.result} if outcome.error is None else {**told, "error": outcome.error}

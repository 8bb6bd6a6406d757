"""Prepare: what a call would do, in words a person can decide on. It changes nothing in the world.

Plans are made in a read-only snapshot; then, under the run's lock and its start fence, the preparation is
written once under (run, index, n). The same call again gives what is stored; other arguments are n + 1,
which withdraws n with its token and its approval, until an attempt of it was opened.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from fencepost.authoring import ToolRefused
from fencepost_contracts import canonical
from fencepost_contracts.canonical import Fault
from fencepost_contracts.tools import PrepareAnswer, PreparedAction, PrepareRequest
from fencepost_domain.action import Action, check_replace
from fencepost_domain.decision import Decision, NewEvent
from fencepost_domain.errors import Conflict
from fencepost_domain.fence import Fence, FenceKind
from fencepost_domain.run import Run
from fencepost_domain.vocabulary import ActionStatus, Ev
from fencepost_runtime.failpoints import ahit
from fencepost_store import actions as store
from fencepost_store import grants
from fencepost_store.actions import Surroundings
from fencepost_store.effects import lock_effect
from fencepost_store.record import record
from fencepost_store.runs import lock_run
from fencepost_store.transaction import Tx

from fencepost_tool_gateway.authorize import Accepted, accept_calls, refusal
from fencepost_tool_gateway.conversation_state import state_for
from fencepost_tool_gateway.drafts import new_action, to_dry, to_wire, told_of
from fencepost_tool_gateway.execute import Guarded, ToolFailed, tell_failure
from fencepost_tool_gateway.executors.port import Call, Executor
from fencepost_tool_gateway.gateway import Gateway, check_start
from fencepost_tool_gateway.planned import Planned
from fencepost_tool_gateway.problems import CallsRefused
from fencepost_tool_gateway.remembered import covering
from fencepost_tool_gateway.standing import attached


async def prepare(
    gateway: Gateway, fence: Fence, request: PrepareRequest, faults: Mapping[int, Sequence[Fault]]
) -> PrepareAnswer:
    """All calls prepared, or none.

    Raises CallsRefused, FenceLost, Tampered, Refused simulation, Conflict prepare_differs | withdrawn |
    rejected | reconcile | not_approved | approval_expired | catalog_mismatch | catalog_revoked |
    tool_failed | timeout.
    """
    tenant = await gateway.tenant_of(fence.run_id)
    try:
        async with gateway.store.snapshot(tenant) as tx:
            run = check_start(await store.look_at_run(tx, fence.run_id), fence)
            around = await store.surroundings(tx, run.id)
            planned = await _plan(gateway, tx, run, around, request, faults)
    except CallsRefused as refused:
        if not request.dry:
            await _tell_refusal(gateway, tenant, fence, refused)
        raise
    except ToolFailed as failed:
        tell_failure(failed, fence.run_id)
        raise Conflict(*failed.reason) from None
    if request.dry:
        return PrepareAnswer(actions=tuple(to_dry(one) for one in planned))

    async def write(tx: Tx) -> PrepareAnswer:
        return await _write(gateway, tx, fence, around, planned)

    answer = await gateway.store.run(tenant, write)
    await ahit("gateway.prepare.after_commit")
    return answer


async def _plan(
    gateway: Gateway,
    tx: Tx,
    run: Run,
    around: Surroundings,
    request: PrepareRequest,
    faults: Mapping[int, Sequence[Fault]],
) -> list[Planned]:
    bound = await gateway.catalogs.bound(tx, around, run.module)
    executor = gateway.catalogs.executor
    state = await state_for(tx, run, request.calls, bound)
    run = replace(run, roles=await store.roles_today(tx, run.user_id, run.roles))  # a role taken away counts
    accepted = accept_calls(request.calls, faults, run, bound, executor, state)
    planned, refusals = [], []
    for one in accepted:
        if not request.dry and await _is_stored(tx, run, one):
            planned.append(Planned(one, None, {}))
            continue
        call = Call(
            one.tool, one.call.arguments, run, around.currency, one.call.index, around.created_at, around.now
        )
        try:
            plan = await _planned(executor, tx, one, call)
            files = await attached(tx, run, one.tool, one.call.arguments)
            covered = () if request.dry else await covering(tx, run, one)
            planned.append(replace(plan, attached=files, grants=covered))
        except ToolRefused as error:
            refusals.append(refusal(one.call, "arguments_invalid", error.detail, error.pointer))
    if refusals:
        raise CallsRefused(refusals)
    return planned


async def _planned(executor: Executor, tx: Tx, one: Accepted, call: Call) -> Planned:
    """Raises ToolRefused for arguments the tool won't take, ToolFailed for a tool that fails."""
    refused: ToolRefused | None = None
    async with Guarded():
        try:
            plan = await executor.plan(tx, call)
            relied_on = canonical.plain(await executor.precondition(tx, call))
            if plan.precondition and canonical.plain(plan.precondition) != relied_on:
                raise TypeError(f"{one.tool.name}: its plan relies on what precondition() doesn't read again")
            return Planned(one, plan, relied_on)
        except ToolRefused as error:
            refused = error  # not a failure: told to the model with its pointer, outside the guard
    raise refused


async def _is_stored(tx: Tx, run: Run, one: Accepted) -> bool:
    return any(action.n == one.call.n for action in await store.actions_at(tx, run.id, one.call.index))


async def _tell_refusal(gateway: Gateway, tenant: UUID, fence: Fence, refused: CallsRefused) -> None:
    """The refusal is an event of the run, for model and log; a run that was lost meanwhile raises."""
    told = [one.model_dump(mode="json", exclude={"allowed"}) for one in refused.refusals]

    async def write(tx: Tx) -> None:
        run = check_start(await lock_run(tx, fence.run_id), fence)
        events = tuple(NewEvent(tx.ids.uuid7(), Ev.TOOL_REFUSED, one, gateway.actor) for one in told)
        await record(tx, run, Decision(None, events=events, fence=fence, fence_kind=FenceKind.START))
        await ahit("gateway.refusal.before_commit")

    await gateway.store.run(tenant, write)
    await ahit("gateway.refusal.after_commit")


async def _write(
    gateway: Gateway, tx: Tx, fence: Fence, around: Surroundings, planned: Sequence[Planned]
) -> PrepareAnswer:
    locked = await lock_run(tx, fence.run_id)
    run = check_start(locked, fence)
    around = replace(around, now=locked.now)
    answers: list[PreparedAction] = []
    events: list[NewEvent] = []
    for one in planned:
        action, told = await _place(gateway, tx, run, around, one)
        answers.append(to_wire(action))
        events.extend(told)
    if events:
        decision = Decision(None, events=tuple(events), fence=fence, fence_kind=FenceKind.START)
        await record(tx, run, decision)
    await ahit("gateway.prepare.before_commit")
    return PrepareAnswer(actions=tuple(answers), replayed=not events)


async def _place(
    gateway: Gateway, tx: Tx, run: Run, around: Surroundings, one: Planned
) -> tuple[Action, list[NewEvent]]:
    """The stored preparation of this key, or a new one in the place of the last."""
    call = one.accepted.call
    existing = await store.actions_at(tx, run.id, call.index)
    same = next((action for action in existing if action.n == call.n), None)
    if same is not None:
        return _replayed(same, one.accepted), []
    current = existing[0] if existing else None
    events: list[NewEvent] = []
    if current is not None:
        if current.n > call.n:
            raise Conflict("withdrawn", f"preparation {current.n} took this one's place")
        check_replace(current, effect_opened=await lock_effect(tx, run.id, call.index) is not None)
        if current.status is not ActionStatus.WITHDRAWN:
            events += await _withdraw(gateway, tx, current)
    action = await new_action(gateway, tx, run, around, one)
    await store.insert_action(tx, action)
    if action.grant_id is not None:
        await grants.store_use(tx, action, await grants.look_at(tx, action.grant_id))
    events.append(NewEvent(tx.ids.uuid7(), Ev.ACTION_PREPARED, told_of(action), gateway.actor))
    return action, events


def _replayed(stored: Action, accepted: Accepted) -> Action:
    if stored.status is ActionStatus.WITHDRAWN:
        raise Conflict("withdrawn", "another preparation took this one's place")
    if stored.tool != accepted.tool.name or stored.arguments_hash != accepted.hash:
        raise Conflict("prepare_differs", "another call was prepared under this index and n; use n + 1")
    return stored


async def _withdraw(gateway: Gateway, tx: Tx, current: Action) -> list[NewEvent]:
    told = {"index": current.index, "n": current.n, "tool": current.tool, "token_id": str(current.token_id)}
    events = [NewEvent(tx.ids.uuid7(), Ev.ACTION_WITHDRAWN, told, gateway.actor)]
    for interrupt_id in await store.withdraw_action(tx, current):
        asked = {"interrupt_id": str(interrupt_id), "kind": "approval"}
        events.append(NewEvent(tx.ids.uuid7(), Ev.INTERRUPT_WITHDRAWN, asked, gateway.actor))
    return events

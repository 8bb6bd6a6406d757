"""What may be known or given up about an unsettled effect without starting anything: look-ups, and the way to
a person.

The reconciler decides which effect is due and asks for this; a commit asks it too, before it repeats.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

from fencepost_contracts.tools import Tool
from fencepost_domain.decision import Decision, NewEvent
from fencepost_domain.effect import Heard, Next, Seen, Unsettled, next_step, wait_after
from fencepost_domain.errors import Conflict, NotFound, Tampered
from fencepost_domain.vocabulary import TERMINAL, ActionStatus, EffectState, Ev, RunStatus
from fencepost_runtime.failpoints import ahit
from fencepost_runtime.logging import get_logger
from fencepost_store import effects_outside as store
from fencepost_store.actions import end_action, lock_action, look_at_run, surroundings
from fencepost_store.effects_outside import WholeEffect
from fencepost_store.record import record
from fencepost_store.runs import Locked, lock_run
from fencepost_store.transaction import Tx

from fencepost_tool_gateway.catalog import Compiled
from fencepost_tool_gateway.executors.port import Looked, Outside, Sending, Told
from fencepost_tool_gateway.gateway import Gateway
from fencepost_tool_gateway.settle import Report, settle

log = get_logger(__name__)
LOOK_UP: Final = "lookup"


@dataclass(frozen=True, slots=True)
class Known:
    """An effect and what its contract says. tool None: its catalog can't be used, so a person decides."""

    effect: WholeEffect
    tool: Tool | None
    outside: Outside | None
    bound: Compiled | None
    runs_on: bool  # the run may still open an attempt

    def unsettled(self, effect: WholeEffect) -> Unsettled:
        return unsettled(effect, self.tool if self.outside is not None else None)


def unsettled(effect: WholeEffect, tool: Tool | None) -> Unsettled:
    memory = tool.key_memory_seconds if tool is not None else None
    return effect.unsettled(
        has_lookup=tool is not None and tool.lookup,
        key_memory=timedelta(seconds=memory) if memory is not None else None,
        timeout=timedelta(seconds=tool.timeout_seconds if tool is not None else 0),
    )


async def know(gateway: Gateway, tenant: UUID, key: str) -> Known:
    """Raises NotFound."""
    async with gateway.store.snapshot(tenant) as tx:
        effect = await store.look_at_whole_effect(tx, key)
        if effect is None:
            raise NotFound("effect", key)
        run = (await look_at_run(tx, effect.run_id)).run
        bound: Compiled | None
        try:
            bound = await gateway.catalogs.bound(tx, await surroundings(tx, run.id), run.module)
        except (Conflict, NotFound, Tampered) as error:
            log.error("effect.catalog_unusable", effect_key=key, error=str(error))
            tool, bound = None, None
        else:
            tool = bound.catalog.tool(effect.tool)
    outside = gateway.catalogs.executor.outside_of(tool) if tool is not None else None
    runs_on = run.status not in TERMINAL and run.status is not RunStatus.CANCELLING
    return Known(effect, tool, outside, bound, runs_on)


_Work = Callable[[Tx, Locked, Known, WholeEffect], Awaitable[EffectState]]


async def advance(gateway: Gateway, tenant: UUID, key: str) -> EffectState:
    """Do what is due about an effect, short of starting anything; its state after that. Raises NotFound."""
    known = await know(gateway, tenant, key)
    effect = known.effect
    if effect.state not in (EffectState.UNKNOWN, EffectState.ABSENT):
        return effect.state
    step, _ = next_step(known.unsettled(effect), effect.now)
    if step is Next.LOOK and known.tool is not None and known.outside is not None:
        seconds = known.tool.timeout_seconds
        asked = Sending(known.tool, effect.key, effect.request, len(effect.attempts), seconds)
        looked = await known.outside.lookup(asked)
        await ahit("gateway.look_up.after_answer")
        return await _seen(gateway, tenant, known, looked)
    if step is Next.PERSON or (step is Next.REPEAT and not known.runs_on):
        return await _locked(gateway, tenant, known, _given_up)
    if step is Next.REPEAT:
        return await _locked(gateway, tenant, known, _left_to_the_run)
    return effect.state


async def _seen(gateway: Gateway, tenant: UUID, known: Known, looked: Looked) -> EffectState:
    effect = known.effect
    if looked.seen is Seen.FOUND:
        told = Told(Heard.COMPLETED, looked.result, looked.external_id)
        report = Report(effect.key, len(effect.attempts), told, LOOK_UP, None)
        state = await settle(gateway, tenant, effect.run_id, report, known.bound)
    elif looked.seen is Seen.ABSENT:
        state = await _locked(gateway, tenant, known, _absent)
    else:
        state = await _locked(gateway, tenant, known, _unsure)
    await ahit("gateway.look_up.after_commit")
    return state


async def _locked(gateway: Gateway, tenant: UUID, known: Known, work: _Work) -> EffectState:
    """`work` on the locked rows, unless the effect moved on since it was looked at."""
    before = known.effect

    async def write(tx: Tx) -> EffectState:
        locked = await lock_run(tx, before.run_id)
        await lock_action(tx, before.run_id, before.index, before.n)
        effect = await store.lock_whole_effect(tx, before.key)
        assert effect is not None  # effects are never deleted
        if effect.state is not before.state or len(effect.attempts) != len(before.attempts):
            return effect.state
        state = await work(tx, locked, known, effect)
        await ahit("gateway.look_up.before_commit")
        return state

    return await gateway.store.run(tenant, write)


async def _absent(tx: Tx, locked: Locked, known: Known, effect: WholeEffect) -> EffectState:
    """It isn't there. That counts only once the other side had the time to know (`settle_within`)."""
    within = timedelta(seconds=known.tool.settle_within_seconds if known.tool is not None else 60)
    counts_from = effect.ends_at + within
    if effect.now < counts_from:
        await store.move_effect(
            tx, effect, effect.state, error=effect.error, next_in=counts_from - effect.now
        )
        return effect.state
    await store.attempts_are_absent(tx, effect.key, by=LOOK_UP)
    await store.move_effect(tx, effect, EffectState.ABSENT, looked=True)
    await _tell(tx, locked, effect, Ev.EFFECT_ABSENT, EffectState.ABSENT, LOOK_UP)
    return EffectState.ABSENT


async def _unsure(tx: Tx, locked: Locked, known: Known, effect: WholeEffect) -> EffectState:
    wait = wait_after(effect.looks)
    await store.move_effect(tx, effect, effect.state, error=effect.error, looked=True, next_in=wait)
    return effect.state


async def _given_up(tx: Tx, locked: Locked, known: Known, effect: WholeEffect) -> EffectState:
    """What may have happened is a person's to settle; what is known not to have happened just isn't done."""
    if effect.state is EffectState.ABSENT:
        error = effect.error or {"code": "not_done", "detail": "it was not done"}
        await store.move_effect(tx, effect, EffectState.WITHDRAWN, error=error)
        action = await lock_action(tx, effect.run_id, effect.index, effect.n)
        if action is not None:
            await end_action(tx, action[0], ActionStatus.FAILED)
        failed = {"index": effect.index, "n": effect.n, "tool": effect.tool, "effect_key": effect.key}
        event = NewEvent(tx.ids.uuid7(), Ev.ACTION_FAILED, {**failed, "error": error}, "gateway")
        await record(tx, locked.run, Decision(None, sets={"wake": True}, events=(event,)))
        return EffectState.WITHDRAWN
    await store.move_effect(tx, effect, EffectState.NEEDS_HUMAN, error=effect.error)
    await _tell(tx, locked, effect, Ev.EFFECT_NEEDS_HUMAN, EffectState.NEEDS_HUMAN, "gateway")
    return EffectState.NEEDS_HUMAN


async def _left_to_the_run(tx: Tx, locked: Locked, known: Known, effect: WholeEffect) -> EffectState:
    """A repeat is the run's own to start, by its next commit; `wakes` tells it that it may."""
    await store.move_effect(tx, effect, effect.state, error=effect.error, external_id=None)
    await record(tx, locked.run, Decision(None, sets={"wake": True}))
    return effect.state


async def _tell(tx: Tx, locked: Locked, effect: WholeEffect, kind: Ev, state: EffectState, by: str) -> None:
    told = {
        "effect_key": effect.key, "index": effect.index, "tool": effect.tool, "state": str(state),
        "attempt": len(effect.attempts), "by": by, "late": locked.run.status in TERMINAL,
    }  # fmt: skip
    event = NewEvent(tx.ids.uuid7(), kind, told, "gateway")
    await record(tx, locked.run, Decision(None, sets={"wake": True}, events=(event,)))

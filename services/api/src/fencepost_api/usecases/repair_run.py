"""An operator's repairs: each is one transaction on the locked row, an event with its actor and reason.

None of them bends a rule: releasing a lease raises the revision, so the owner that may still be at work is
fenced; a requeued run is claimed like any other; an expired question ends as one that nobody answered.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Final
from uuid import UUID

from fencepost_contracts.http_admin import RepairRequest
from fencepost_domain.decision import Decision, NewEvent, NewFeed, NewOutbox
from fencepost_domain.errors import Conflict, NotFound
from fencepost_domain.run import RESUMABLE, Run
from fencepost_domain.vocabulary import TERMINAL, Ev, InterruptKind, RunStatus
from fencepost_domain.waits import decide_requeue, decide_wake
from fencepost_runtime.failpoints import ahit
from fencepost_store import actions, interrupts, stuck
from fencepost_store.record import record
from fencepost_store.runs import Locked, lock_run
from fencepost_store.stuck import LiveRun
from fencepost_store.transaction import Tx

from fencepost_api.auth import Caller
from fencepost_api.context import Api

Repair = Callable[[Tx, Locked, str, str], Awaitable[None]]
EXPIRABLE: Final = frozenset({InterruptKind.APPROVAL, InterruptKind.INPUT})


async def tenant_of(api: Api, caller: Caller, run_id: UUID) -> UUID:
    """Whose run it is; an operator's own tenant, for the platform any. Raises NotFound."""
    if not caller.has("platform"):
        return caller.tenant_id
    async with api.store.transaction() as tx:
        tenant = await actions.tenant_of_run(tx, run_id)
    if tenant is None:
        raise NotFound("run", run_id)
    return tenant


async def repair_run(api: Api, caller: Caller, run_id: UUID, asked: RepairRequest) -> LiveRun:
    """How the run stands after it. Raises NotFound; Conflict nothing_to_repair, run_finished."""
    tenant = await tenant_of(api, caller, run_id)

    async def work(tx: Tx) -> LiveRun:
        locked = await lock_run(tx, run_id)
        if locked.run.status in TERMINAL:
            raise Conflict("run_finished", f"the run ended as {locked.run.status}")
        await _VERBS[asked.verb](tx, locked, f"user:{caller.user_id}", asked.reason)
        await ahit("api.repair.before_commit")
        return await stuck.live_run(tx, run_id)

    found = await api.store.run(tenant, work)
    api.runs.touch(run_id)
    await ahit("api.repair.before_response")
    return found


async def _release_lease(tx: Tx, locked: Locked, who: str, why: str) -> None:
    """Take it from its owner, alive or not. A cancelling run stays so; the reconciler ends it."""
    run = locked.run
    if run.lease_owner is None:
        raise Conflict("nothing_to_repair", f"the run is {run.status} and nobody holds it")
    await stuck.release_lease(tx, run, who=who, why=why)
    freed = (await lock_run(tx, run.id)).run
    event = _event(tx, run, "release_lease", who, why, to=freed.status, owner=run.lease_owner)
    hint = (NewOutbox(RESUMABLE, run.module),) if freed.status is RunStatus.QUEUED else ()
    feed = (NewFeed("run.status", {"run_id": str(run.id), "status": str(freed.status)}),)
    await record(tx, freed, Decision(None, events=(event,), outbox=hint, feed=feed if hint else ()))


async def _requeue(tx: Tx, locked: Locked, who: str, why: str) -> None:
    """Make it due at once: a backoff, or a wait in which nobody is asked anything."""
    run = locked.run
    decision = decide_requeue(run, now=locked.now)
    if decision is None and run.status is RunStatus.WAITING:
        asked = await interrupts.open_interrupt(tx, run.id)
        if asked is not None:
            raise Conflict(
                "nothing_to_repair", f"a person is asked for {asked.kind}; answer that, or expire it"
            )
        decision = decide_wake(run, tx.ids.uuid7(), cause="repair", now=locked.now)
    if decision is None:
        raise Conflict("nothing_to_repair", f"the run is {run.status}; there is nothing to put forward")
    event = _event(tx, run, "requeue", who, why, to=RunStatus.QUEUED)
    await record(tx, run, replace(decision, events=(event, *decision.events)))


async def _expire_approval(tx: Tx, locked: Locked, who: str, why: str) -> None:
    """End its open question now, as if its time were over."""
    run = locked.run
    asked = await interrupts.open_interrupt(tx, run.id)
    if asked is None or asked.kind not in EXPIRABLE:
        raise Conflict("nothing_to_repair", "it asks for no approval and no answer")
    interrupt, _ = await interrupts.lock_interrupt(tx, asked.id)
    await stuck.expire_now(tx, interrupt)
    to = RunStatus.QUEUED if run.status is RunStatus.WAITING else run.status
    event = _event(tx, run, "expire_approval", who, why, to=to, interrupt_id=str(interrupt.id))
    await interrupts.close_expired(tx, run, locked.now, interrupt, before=(event,))


def _event(tx: Tx, run: Run, verb: str, who: str, why: str, *, to: RunStatus, **more: str) -> NewEvent:
    told = {"verb": verb, "reason": why, "was": str(run.status), "to": str(to), **more}
    return NewEvent(tx.ids.uuid7(), Ev.RUN_REPAIRED, told, who)


_VERBS: Final[Mapping[str, Repair]] = {
    "release_lease": _release_lease,
    "requeue": _requeue,
    "expire_approval": _expire_approval,
}

"""What a worker, its gateway and a person do in one transaction each, as the services do it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from fencepost_domain.decision import Decision, Finalization, FinalMessage, NewEvent
from fencepost_domain.endings import decide_drained, decide_finalize, decide_stop, stopped
from fencepost_domain.fence import FenceKind
from fencepost_domain.run import Run, check_fence
from fencepost_domain.vocabulary import Ev, Reason, RunStatus, Stop
from fencepost_domain.waits import decide_defer, decide_paused, decide_resume
from fencepost_store import sweeps
from fencepost_store.checkpoints import NewCheckpoint, RunWrites
from fencepost_store.record import Recorded, record
from fencepost_store.runs import lock_run, open_wait, settled
from fencepost_store.transaction import Tx

from tests.model.world import Hand, World
from tests.support.lives import TENANT


async def note(world: World, hand: Hand, kind: FenceKind) -> Recorded:
    """An event under the hand's fence, the SQL's alone: the row isn't looked at before."""
    event = NewEvent(world.lives.ids.uuid7(), Ev.NODE_FAILED, {"node": "x"}, f"worker:{hand.fence.owner}")
    status = RunStatus.CANCELLING if kind is FenceKind.DRAIN else RunStatus.RUNNING
    decision = Decision(None, events=(event,), fence=hand.fence, fence_kind=kind)
    async with world.lives.worker.transaction() as tx:
        return await record(tx, replace(hand.claim.run, status=status), decision)


async def checkpoint(world: World, hand: Hand) -> str:
    new = NewCheckpoint("", str(world.lives.ids.uuid7()), None, "msgpack", b"state", "{}")
    return (await world.group.write([RunWrites(hand.fence, new)]))[hand.run_id]


async def defer(world: World, hand: Hand) -> Recorded:
    async with world.lives.worker.transaction() as tx:
        locked = await lock_run(tx, hand.run_id)
        decision = decide_defer(
            locked.run,
            hand.fence,
            tx.ids.uuid7(),
            wait=timedelta(0),
            reason="model",
            detail="",
            now=locked.now,
        )
        return await record(tx, locked.run, decision)


async def reach_safe_boundary(world: World, hand: Hand) -> Recorded:
    """The owner was told to pause."""
    async with world.lives.worker.transaction() as tx:
        locked = await lock_run(tx, hand.run_id)
        return await record(
            tx, locked.run, decide_paused(locked.run, hand.fence, tx.ids.uuid7(), now=locked.now)
        )


async def _named(tx: Tx, run: Run) -> dict[str, Any]:
    remains = await sweeps.remains_of(tx, run.id)
    return {"unconfirmed_effects": remains.unconfirmed, "left_undone": remains.undone}


async def finalize(world: World, hand: Hand) -> Recorded:
    """As the termination controller has it: nothing succeeds while an effect is unsettled."""
    async with world.lives.worker.transaction() as tx:
        locked = await lock_run(tx, hand.run_id)
        named = await _named(tx, locked.run)
        if named["unconfirmed_effects"]:
            end = Finalization(RunStatus.BLOCKED, Reason.REQUIRED_TASK_FAILED, "unsettled", "worker", **named)
        else:
            end = Finalization(RunStatus.SUCCEEDED, Reason.ACCEPTANCE_MET, "done", "worker", **named)
        message = FinalMessage(tx.ids.uuid7(), end.explanation)
        return await record(
            tx, locked.run, decide_finalize(locked.run, hand.fence, finalization=end, message=message)
        )


async def drained(world: World, hand: Hand) -> Recorded:
    async with world.lives.worker.transaction() as tx:
        locked = await lock_run(tx, hand.run_id)
        stop = locked.run.stop or Stop.CANCEL
        end = stopped(stop, "stopped", "worker", **await _named(tx, locked.run))
        message = FinalMessage(tx.ids.uuid7(), end.explanation)
        return await record(
            tx, locked.run, decide_drained(locked.run, hand.fence, finalization=end, message=message)
        )


async def cancel(world: World, run_id: UUID) -> Recorded | None:
    async with world.lives.api.transaction(TENANT) as tx:
        locked = await lock_run(tx, run_id)
        end = stopped(Stop.CANCEL, "cancelled", "user", **await _named(tx, locked.run))
        decision = decide_stop(
            locked.run,
            tx.ids.uuid7(),
            stop=Stop.CANCEL,
            actor="user",
            settled=await settled(tx, locked.run),
            finalization=end,
            message=FinalMessage(tx.ids.uuid7(), end.explanation),
        )
        return await record(tx, locked.run, decision) if decision else None


async def resume(world: World, run_id: UUID) -> Recorded | None:
    async with world.lives.api.transaction(TENANT) as tx:
        locked = await lock_run(tx, run_id)
        decision = decide_resume(
            locked.run, tx.ids.uuid7(), actor="user", still_open=await open_wait(tx, run_id), now=locked.now
        )
        return await record(tx, locked.run, decision) if decision else None


async def prepare(world: World, hand: Hand, **more: Any) -> Any:
    """The gateway's preparation under the start fence."""
    async with world.lives.gateway.transaction(TENANT) as tx:
        locked = await lock_run(tx, hand.run_id)
        check_fence(locked.run, hand.fence, FenceKind.START, locked.now)
    return await world.lives.prepared(hand.claim, **more)  # nobody else is at work between the two

"""Waits end: by an answer, by expiry, or because what was waited for is settled (I08, cases AP-1, AP-6)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from fencepost_domain.errors import FenceLost, Gone
from fencepost_domain.vocabulary import InterruptKind, Risk, WaitingOn
from fencepost_domain.waits import decide_park
from fencepost_reconciler.loops.drain import Drain
from fencepost_reconciler.loops.expire_interrupts import ExpireInterrupts
from fencepost_reconciler.loops.settle_effects import SettleEffects
from fencepost_reconciler.loops.stop_children import StopChildren
from fencepost_reconciler.loops.wake_runs import WakeRuns
from fencepost_runtime.system import SystemClock
from fencepost_store.claims import Claim, register_worker
from fencepost_store.record import record
from fencepost_store.runs import lock_run

from tests.support.graces import Over
from tests.support.lives import AT_ONCE, LEASE, MODULE, OWNER, Lives, counts


async def park(lives: Lives, held: Claim, on: WaitingOn, *, poll_in: timedelta | None = None) -> None:
    """As the worker parks for what is no person's to settle."""
    async with lives.worker.transaction() as tx:
        locked = await lock_run(tx, held.run.id)
        decision = decide_park(
            locked.run,
            held.fence,
            tx.ids.uuid7(),
            waiting_on=on,
            wakes_seen=held.run.wakes,
            now=locked.now,
            poll_at=locked.now + poll_in if poll_in is not None else None,
        )
        await record(tx, locked.run, decision)


async def test_an_unanswered_approval_expires_with_its_action(lives: Lives) -> None:
    held, interrupt_id = await lives.waiting(expires_in=AT_ONCE)
    sweep = ExpireInterrupts(lives.reconciler)
    with pytest.raises(Gone):  # refused even if no sweep ran (case AP-1)
        await lives.resolve(interrupt_id)
    assert counts(await sweep.run_once()) == {"expired": 1}
    [action] = await lives.sql("SELECT status FROM agent.actions")
    [asked] = await lives.sql("SELECT status FROM agent.interrupts")
    assert (action["status"], asked["status"]) == ("expired", "expired")
    row = await lives.run(held.run.id)
    assert (row["status"], row["waiting_on"], row["wakes"]) == ("queued", None, 1)
    [again] = await lives.claim()
    assert again.run.attempt == 1, "a resume after a wait counts no attempt"
    assert counts(await sweep.run_once()) == {}
    with pytest.raises(Gone):
        await lives.resolve(interrupt_id)
    assert await lives.violations() == []


async def test_ap1_others_can_still_be_decided_after_a_restart(lives: Lives) -> None:
    """Three pending, one past expiry, everything restarted: the sweep ends one, two resume."""
    asked = [await lives.waiting(expires_in=AT_ONCE if i == 0 else timedelta(days=1)) for i in range(3)]
    assert counts(await ExpireInterrupts(lives.reconciler).run_once()) == {"expired": 1}
    for _, interrupt_id in asked[1:]:
        await lives.resolve(interrupt_id)
    assert [await lives.status(held.run.id) for held, _ in asked] == ["queued"] * 3


async def test_an_interrupt_of_a_paused_run_expires_too(lives: Lives) -> None:
    held, _ = await lives.waiting(expires_in=AT_ONCE)
    await lives.pause(held.run.id)
    assert counts(await ExpireInterrupts(lives.reconciler).run_once()) == {"expired": 1}
    assert await lives.status(held.run.id) == "paused", "an expiry ends the question, not the pause"
    assert await lives.violations() == []


async def test_an_unanswered_question_expires(lives: Lives) -> None:
    held = await lives.claimed()
    await lives.ask(held, kind=InterruptKind.INPUT, expires_in=AT_ONCE)
    assert counts(await ExpireInterrupts(lives.reconciler).run_once()) == {"expired": 1}
    assert await lives.status(held.run.id) == "queued"


async def test_the_safety_net_wakes_whom_everybody_forgot(lives: Lives) -> None:
    held, interrupt_id = await lives.waiting()
    sweep = WakeRuns(lives.reconciler)
    assert counts(await sweep.run_once()) == {}
    await lives.sql("UPDATE agent.interrupts SET status = 'withdrawn' WHERE id = %s", interrupt_id)
    assert counts(await sweep.run_once()) == {"woken": 1}
    assert await lives.status(held.run.id) == "queued"
    assert counts(await sweep.run_once()) == {}


async def test_a_wait_for_a_tool_ends_with_its_attempt(lives: Lives) -> None:
    held = await lives.claimed()
    action = await lives.prepared(held, risk=Risk.LOW)
    await lives.opened(action)
    await park(lives, held, WaitingOn.TOOL, poll_in=AT_ONCE)
    sweep = WakeRuns(lives.reconciler)
    assert counts(await sweep.run_once()) == {}, "the attempt is in progress"
    await lives.landed(action)
    assert counts(await sweep.run_once()) == {"woken": 1}


async def test_a_wait_for_a_tool_isnt_looked_at_before_its_time(lives: Lives) -> None:
    held = await lives.claimed()
    await park(lives, held, WaitingOn.TOOL, poll_in=timedelta(hours=1))
    assert counts(await WakeRuns(lives.reconciler).run_once()) == {}


async def test_an_attempt_past_its_end_is_unknown_and_wakes_its_run(lives: Lives) -> None:
    held = await lives.claimed()
    action = await lives.prepared(held, risk=Risk.LOW)
    await lives.opened(action, timeout_seconds=0.000001)
    await park(lives, held, WaitingOn.TOOL, poll_in=AT_ONCE)
    settle = SettleEffects(lives.reconciler)
    assert counts(await settle.run_once()) == {"effects_unknown": 1}
    assert counts(await settle.run_once()) == {}
    [effect] = await lives.sql(
        "SELECT e.state, a.state AS attempt FROM agent.effects e"
        " JOIN agent.effect_attempts a USING (effect_key)"
    )
    assert effect == {"state": "unknown", "attempt": "unknown"}
    assert "action.unknown" in await lives.event_types(held.run.id)
    assert (await lives.run(held.run.id))["wakes"] == 1
    assert counts(await WakeRuns(lives.reconciler).run_once()) == {"woken": 1}
    assert await lives.landed(action), "a late outcome is recorded, once"
    assert not await lives.landed(action)
    assert await lives.violations() == []


async def test_a_model_call_past_its_end_is_unknown(lives: Lives) -> None:
    held = await lives.claimed()
    await lives.sql(
        "INSERT INTO agent.model_calls (id, run_id, tenant_id, call_key, attempt, role, provider, model,"
        " request_hash, ends_at) VALUES (%s, %s, %s, 'k', 1, 'main', 'p', 'm', 'h', clock_timestamp())",
        lives.ids.uuid7(),
        held.run.id,
        held.run.tenant_id,
    )
    assert counts(await SettleEffects(lives.reconciler).run_once()) == {"calls_unknown": 1}
    assert (await lives.sql("SELECT state FROM agent.model_calls")) == [{"state": "unknown"}]


async def test_a_reconcile_ends_when_the_effect_is_settled(lives: Lives) -> None:
    held = await lives.claimed()
    action = await lives.prepared(held, risk=Risk.LOW)
    await lives.opened(action, timeout_seconds=0.000001)
    await SettleEffects(lives.reconciler).run_once()
    [asked] = [await lives.ask(held, kind=InterruptKind.RECONCILE, wakes_seen=1)]
    assert counts(await WakeRuns(lives.reconciler).run_once()) == {}
    await lives.landed(action)
    assert counts(await WakeRuns(lives.reconciler).run_once()) == {"woken": 1}
    [interrupt] = await lives.sql("SELECT status FROM agent.interrupts WHERE id = %s", asked.interrupt_id)
    assert interrupt["status"] == "withdrawn", "nobody needs to answer what the world answered"
    assert await lives.event_types(held.run.id) == [
        "run.requested", "run.claimed", "action.unknown", "interrupt.opened", "run.parked",
        "action.committed", "interrupt.withdrawn", "run.woken",
    ]  # fmt: skip
    assert await lives.violations() == []


async def serve(lives: Lives, *versions: str) -> None:
    async with lives.worker.transaction() as tx:
        await register_worker(
            tx, slot="s", boot_id="b", modules=[MODULE], versions=versions, alive_for=timedelta(minutes=1)
        )


async def test_a_run_waits_for_its_version_until_it_is_served(lives: Lives) -> None:
    held = await lives.claimed()
    await lives.sql("UPDATE agent.runs SET graph_version = 'g1' WHERE id = %s", held.run.id)
    await lives.ask(held, kind=InterruptKind.VERSION)
    sweep = WakeRuns(lives.reconciler)
    await serve(lives, "g2")
    assert counts(await sweep.run_once()) == {}
    await serve(lives, "g1", "g2")
    assert counts(await sweep.run_once()) == {"woken": 1}
    assert await lives.violations() == []


async def test_a_parent_waits_for_its_child(lives: Lives) -> None:
    held = await lives.claimed()
    child = await lives.queued()
    await lives.sql("UPDATE agent.runs SET parent_run_id = %s WHERE id = %s", held.run.id, child)
    await park(lives, held, WaitingOn.CHILD)
    sweep = WakeRuns(lives.reconciler)
    assert counts(await sweep.run_once()) == {}
    await lives.cancel(child)
    assert counts(await sweep.run_once()) == {"woken": 1}


async def test_i22_a_stopped_parents_children_are_stopped_and_waited_for(lives: Lives) -> None:
    """The queued child ends at once, the running one is drained; the parent ends after them."""
    held = await lives.claimed()
    running = await lives.claimed()
    queued = await lives.queued()
    for child in (running.run.id, queued):
        await lives.sql("UPDATE agent.runs SET parent_run_id = %s WHERE id = %s", held.run.id, child)
    children, drain = StopChildren(lives.reconciler), Drain(lives.reconciler, Over(LEASE, SystemClock()))
    assert counts(await children.run_once()) == {}
    await lives.cancel(held.run.id)
    await lives.age("agent.runs", "lease_expires_at", "id = %s", held.run.id)
    assert counts(await drain.run_once()) == {}, "its children live"
    assert counts(await children.run_once()) == {"cancelled": 1, "stopping": 1}
    assert counts(await children.run_once()) == {}
    assert (await lives.status(running.run.id), await lives.status(queued)) == ("cancelling", "cancelled")
    with pytest.raises(FenceLost):
        await lives.finalize(running)
    await lives.age("agent.runs", "lease_expires_at", "id = %s", running.run.id)
    while counts(await drain.run_once()):
        pass
    assert [await lives.status(one) for one in (held.run.id, running.run.id)] == ["cancelled", "cancelled"]
    [told] = await lives.sql("SELECT code, explanation FROM agent.finalizations WHERE run_id = %s", queued)
    assert told["code"] == "parent_stopped" and "belongs to" in told["explanation"]
    assert await lives.violations() == []


# I08: what looks after each way of waiting. `find_ended_waits` has a case for each.
SWEPT = {
    WaitingOn.APPROVAL: "expire_interrupts",
    WaitingOn.INPUT: "expire_interrupts",
    WaitingOn.RECONCILE: "expire_interrupts and wake_runs",
    WaitingOn.VERSION: "expire_interrupts and wake_runs",
    WaitingOn.TOOL: "settle_effects and wake_runs",
    WaitingOn.CHILD: "wake_runs",
}


def test_i08_each_way_of_waiting_has_a_sweep() -> None:
    assert set(SWEPT) == set(WaitingOn)


@pytest.mark.parametrize("on", [w for w in WaitingOn if w not in (WaitingOn.TOOL, WaitingOn.CHILD)])
async def test_i08_each_question_to_a_person_ends(lives: Lives, on: WaitingOn) -> None:
    held = await lives.claimed()
    if on is WaitingOn.APPROVAL:
        await lives.prepared(held)
    await lives.sql("UPDATE agent.runs SET graph_version = 'unserved' WHERE id = %s", held.run.id)
    await lives.ask(held, kind=InterruptKind(str(on)), expires_in=AT_ONCE)
    assert await lives.violations() == []
    assert counts(await ExpireInterrupts(lives.reconciler).run_once()) == {"expired": 1}
    ended = on is WaitingOn.VERSION  # nobody would claim it to say so
    assert await lives.status(held.run.id) == ("expired" if ended else "queued")
    assert OWNER not in str(await lives.run(held.run.id))

"""Runs that are stopped: drained after a cancel, out of time, paused for ever (design 02 §1, §7)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from fencepost_domain.vocabulary import Risk
from fencepost_reconciler.grace import Grace
from fencepost_reconciler.loops.deadlines import Deadlines
from fencepost_reconciler.loops.drain import Drain
from fencepost_reconciler.loops.paused_until import PausedUntil
from fencepost_runtime.system import SystemClock
from fencepost_store.claims import heartbeat

from tests.support.graces import Over
from tests.support.lives import AT_ONCE, LEASE, OWNER, Lives, counts


@pytest.fixture
def drain(lives: Lives) -> Drain:
    return Drain(lives.reconciler, Over(LEASE, SystemClock()))


async def finalization(lives: Lives, run_id: object) -> dict[str, object]:
    [row] = await lives.sql("SELECT * FROM agent.finalizations WHERE run_id = %s", run_id)
    return row


async def test_a_cancelled_run_whose_worker_is_gone_is_ended(lives: Lives, drain: Drain) -> None:
    lost = await lives.lost()
    await lives.cancel(lost.run.id)
    assert await lives.status(lost.run.id) == "cancelling"
    assert counts(await drain.run_once()) == {"cancelled": 1}
    end = await finalization(lives, lost.run.id)
    assert (end["reason"], end["unconfirmed_effects"]) == ("user_cancelled", [])
    assert "Nothing was left half done." in str(end["explanation"])
    assert await lives.violations() == []


async def test_a_worker_that_drains_is_left_to_it(lives: Lives, drain: Drain) -> None:
    held = await lives.claimed()
    await lives.cancel(held.run.id)
    assert counts(await drain.run_once()) == {}
    async with lives.worker.transaction() as tx:
        [beat] = await heartbeat(tx, owner=OWNER, held={held.run.id: held.run.revision}, lease=LEASE)
    assert (beat.answer, beat.revision) == ("stop", held.run.revision + 1)


async def test_within_an_outages_grace_only_unleased_runs_are_drained(lives: Lives) -> None:
    lost = await lives.lost()
    await lives.cancel(lost.run.id)
    grace = Grace(LEASE, SystemClock())
    grace.answered()
    assert counts(await Drain(lives.reconciler, grace).run_once()) == {}


async def test_an_open_attempt_is_waited_for_then_named(lives: Lives, drain: Drain) -> None:
    """I22: one opened before the cancel may still reach the world."""
    lost = await lives.lost(locale="zh-CN")
    action = await lives.prepared(lost, risk=Risk.LOW)
    await lives.opened(action)
    await lives.cancel(lost.run.id)
    assert counts(await drain.run_once()) == {}, "the attempt may still come to its end"
    await lives.age("agent.runs", "drain_until", "id = %s", lost.run.id)
    assert counts(await drain.run_once()) == {"cancelled": 1}
    end = await finalization(lives, lost.run.id)
    assert end["unconfirmed_effects"] == [
        {"effect_key": f"{lost.run.id}:action:0:commit", "index": 0, "state": "started", "tool": action.tool}
    ]
    assert "尚未确认" in str(end["explanation"])
    assert await lives.landed(action), "its outcome is recorded all the same"
    assert await finalization(lives, lost.run.id) == end, "and amends nothing"
    assert await lives.status(lost.run.id) == "cancelled"
    assert await lives.violations() == []


async def test_an_attempt_that_ends_in_time_lets_the_run_end(lives: Lives, drain: Drain) -> None:
    lost = await lives.lost()
    action = await lives.prepared(lost, risk=Risk.LOW)
    await lives.opened(action)
    await lives.cancel(lost.run.id)
    await lives.landed(action)
    assert counts(await drain.run_once()) == {"cancelled": 1}
    assert (await finalization(lives, lost.run.id))["unconfirmed_effects"] == []


async def test_a_live_child_is_waited_for(lives: Lives, drain: Drain) -> None:
    lost = await lives.lost()
    child = await lives.queued()
    await lives.sql("UPDATE agent.runs SET parent_run_id = %s WHERE id = %s", lost.run.id, child)
    await lives.cancel(lost.run.id)
    assert counts(await drain.run_once()) == {}
    await lives.cancel(child)
    assert counts(await drain.run_once()) == {"cancelled": 1}


@pytest.mark.parametrize("state", ["queued", "running", "waiting on a tool"])
async def test_a_run_out_of_time_is_stopped(lives: Lives, drain: Drain, state: str) -> None:
    if state == "queued":
        run_id = await lives.queued(deadline=AT_ONCE)
    else:
        run_id = (await lives.lost(deadline=timedelta(seconds=30))).run.id
        await lives.age("agent.runs", "deadline_at", "id = %s", run_id)
    if state == "waiting on a tool":
        await lives.sql(
            "UPDATE agent.runs SET status = 'waiting', waiting_on = 'tool', revision = revision + 1,"
            " lease_owner = NULL, lease_expires_at = NULL WHERE id = %s",
            run_id,
        )
    done = counts(await Deadlines(lives.reconciler).run_once())
    if state == "running":
        assert done == {"stopping": 1}
        assert await lives.status(run_id) == "cancelling"
        assert counts(await drain.run_once()) == {"expired": 1}
    else:
        assert done == {"expired": 1}
    assert (await finalization(lives, run_id))["reason"] == "deadline_exceeded"
    assert await lives.status(run_id) == "expired"
    assert (await lives.event_types(run_id))[-1] == "run.finalized"
    assert counts(await Deadlines(lives.reconciler).run_once()) == {}


async def test_while_a_person_is_waited_for_the_deadline_stands_still(lives: Lives) -> None:
    held, interrupt_id = await lives.waiting(deadline=timedelta(seconds=60))
    row = await lives.run(held.run.id)
    assert row["deadline_at"] == "infinity"
    assert row["deadline_left"].startswith("00:00:5"), "the rest is kept"
    assert counts(await Deadlines(lives.reconciler).run_once()) == {}
    await lives.resolve(interrupt_id)
    assert (await lives.run(held.run.id))["deadline_left"] is None


async def test_a_pause_nobody_ends_is_ended(lives: Lives) -> None:
    held, interrupt_id = await lives.waiting()
    await lives.pause(held.run.id)
    sweep = PausedUntil(lives.reconciler)
    assert counts(await sweep.run_once()) == {}
    await lives.age("agent.runs", "paused_until", "id = %s", held.run.id)
    assert counts(await sweep.run_once()) == {"expired": 1}
    end = await finalization(lives, held.run.id)
    assert (end["status"], end["code"]) == ("expired", "pause_expired")
    assert end["left_undone"] == ["create_reminder"]
    [asked] = await lives.sql("SELECT status FROM agent.interrupts WHERE id = %s", interrupt_id)
    assert asked["status"] == "withdrawn"
    assert await lives.violations() == []

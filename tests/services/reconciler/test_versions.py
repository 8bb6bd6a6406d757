"""Work of a version that nobody serves: parked after a while, asked about, woken when it is served again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

import pytest
from fencepost_domain.ports import Clock
from fencepost_reconciler.loops.expire_interrupts import ExpireInterrupts
from fencepost_reconciler.loops.wake_runs import WakeRuns
from fencepost_reconciler.loops.worker_versions import AFTER, IN_ROLLOUT, WorkerVersions, settle
from fencepost_runtime.system import SystemClock
from fencepost_store import interrupts
from fencepost_store.claims import register_worker
from fencepost_store.runs import lock_run
from fencepost_store.sweeps import Candidate

from tests.support.lives import MODULE, TENANT, Lives, counts


class Told(SystemClock):
    """A monotonic clock that a test moves."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds


async def serve(lives: Lives, *versions: str, since: str = "1 hour") -> None:
    async with lives.worker.transaction() as tx:
        await register_worker(
            tx, slot="w", boot_id="b", modules=[MODULE], versions=versions, alive_for=timedelta(minutes=5)
        )
    await lives.sql(f"UPDATE agent.workers SET started_at = clock_timestamp() - interval '{since}'")


async def bound(lives: Lives, version: str = "g1") -> UUID:
    run_id = await lives.queued()
    await lives.sql("UPDATE agent.runs SET graph_version = %s WHERE id = %s", version, run_id)
    return run_id


async def looked(
    lives: Lives, clock: Clock, loop: WorkerVersions, *seconds: float
) -> Sequence[dict[str, int]]:
    found = []
    for instant in seconds:
        clock.seconds = instant  # type: ignore[attr-defined]
        found.append(counts(await loop.run_once()))
    return found


async def test_i16_an_unserved_run_is_given_to_nobody_else_and_asked_about_after_a_minute(
    lives: Lives,
) -> None:
    run_id, clock = await bound(lives), Told()
    await serve(lives, "g2")
    loop = WorkerVersions(lives.reconciler, clock)
    just = AFTER.total_seconds()
    assert await looked(lives, clock, loop, 0, just - 1) == [{}, {}]
    assert await lives.claim(versions=("g2",)) == []
    assert await looked(lives, clock, loop, just, just + 5) == [{"unserved": 1}, {}]
    row = await lives.run(run_id)
    assert (row["status"], row["waiting_on"]) == ("waiting", "version")
    [asked] = await lives.sql("SELECT kind, question, candidates FROM agent.interrupts WHERE status = 'open'")
    assert asked["kind"] == "version" and "g1" in asked["question"]
    assert [one["id"] for one in asked["candidates"]] == ["stay", "fork", "stop"]
    assert await lives.violations() == []
    await serve(lives, "g1", "g2")
    assert counts(await WakeRuns(lives.reconciler).run_once()) == {"woken": 1}
    [claimed] = await lives.claim(versions=("g1",))
    assert claimed.run.id == run_id
    assert (await lives.sql("SELECT status FROM agent.interrupts"))[0]["status"] == "withdrawn"
    assert await lives.violations() == []


async def test_in_a_roll_out_ten_minutes_are_waited(lives: Lives) -> None:
    clock = Told()
    await bound(lives)
    await serve(lives, "g2", since="1 minute")
    loop = WorkerVersions(lives.reconciler, clock)
    just = IN_ROLLOUT.total_seconds()
    assert await looked(lives, clock, loop, 0, AFTER.total_seconds(), just - 1, just) == [
        {}, {}, {}, {"unserved": 1},
    ]  # fmt: skip


async def test_served_for_a_moment_the_time_begins_anew(lives: Lives) -> None:
    clock = Told()
    await bound(lives)
    loop = WorkerVersions(lives.reconciler, clock)
    assert await looked(lives, clock, loop, 0, 50) == [{}, {}]
    await serve(lives, "g1")
    assert await looked(lives, clock, loop, 55) == [{}]
    await lives.sql("UPDATE agent.workers SET alive_until = clock_timestamp()")
    assert await looked(lives, clock, loop, 60, 115, 120) == [{}, {}, {"unserved": 1}]


async def test_a_run_for_a_module_without_any_worker_is_asked_about_too(lives: Lives) -> None:
    clock = Told()
    await lives.queued()
    loop = WorkerVersions(lives.reconciler, clock)
    assert await looked(lives, clock, loop, 0, 60) == [{}, {"unserved": 1}]
    [asked] = await lives.sql("SELECT candidates FROM agent.interrupts")
    assert [one["id"] for one in asked["candidates"]] == ["stay", "stop"], "it has no point to fork it at"
    assert await lives.violations() == []
    await serve(lives, "g1")
    assert counts(await WakeRuns(lives.reconciler).run_once()) == {"woken": 1}


async def test_a_simulation_that_nobody_serves_is_stopped_and_nobody_is_asked(lives: Lives) -> None:
    run_id, clock = await bound(lives), Told()
    await lives.sql(
        "UPDATE agent.runs SET mode = 'simulation', origin_kind = 'simulation', origin_run_id = id"
        " WHERE id = %s",
        run_id,
    )
    loop = WorkerVersions(lives.reconciler, clock)
    assert await looked(lives, clock, loop, 0, 60) == [{}, {"expired": 1}]
    [end] = await lives.sql("SELECT code, explanation FROM agent.finalizations")
    assert end["code"] == "version_not_served" and "simulated" in end["explanation"]
    assert await lives.sql("SELECT 1 FROM agent.interrupts") == []


async def test_who_said_stay_is_not_asked_again(lives: Lives) -> None:
    run_id, clock = await bound(lives), Told()
    loop = WorkerVersions(lives.reconciler, clock)
    await looked(lives, clock, loop, 0, 60)
    [asked] = await lives.sql("SELECT id FROM agent.interrupts")
    async with lives.api.transaction(TENANT) as tx:
        locked = await lock_run(tx, run_id)
        interrupt, now = await interrupts.lock_interrupt(tx, asked["id"])
        stay = {"choice": "stay"}
        await interrupts.resolve(
            tx, locked.run, now, interrupt, resolution=stay, resolution_hash="h", key="k", by="ops"
        )
    assert await lives.status(run_id) == "queued"
    assert await looked(lives, clock, loop, 65, 1_000) == [{}, {}]
    assert await lives.violations() == []


async def test_unserved_for_a_week_it_ends_and_says_so(lives: Lives) -> None:
    run_id, clock = await bound(lives), Told()
    loop = WorkerVersions(lives.reconciler, clock)
    await looked(lives, clock, loop, 0, 60)
    await lives.age("agent.interrupts", "expires_at", "run_id = %s", run_id)
    assert counts(await ExpireInterrupts(lives.reconciler).run_once()) == {"expired": 1}
    [end] = await lives.sql("SELECT status, reason, code, explanation FROM agent.finalizations")
    assert (end["status"], end["reason"], end["code"]) == ("expired", "deadline_exceeded", "version_expired")
    assert "week" in end["explanation"]
    assert await lives.violations() == []


@pytest.mark.parametrize("status", ["paused", "cancelled", "claimed"])
async def test_what_happened_meanwhile_wins(lives: Lives, status: str) -> None:
    """Listed as unserved, then paused, cancelled or claimed: the row decides, under its lock."""
    run_id = await bound(lives)
    if status == "paused":
        await lives.pause(run_id)
    elif status == "cancelled":
        await lives.cancel(run_id)
    else:
        await lives.claim(versions=("g1",))
    async with lives.reconciler.transaction() as tx:
        assert await settle(tx, await lock_run(tx, run_id), Candidate(run_id, run_id)) is None
    assert await lives.violations() == []

"""A reconciler that dies or freezes in the middle of a take-over: another goes on, and its own is refused."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from fencepost_runtime.failpoints import Action, arm, wait_hit
from fencepost_store.claims import heartbeat

from tests.support.eventually import eventually
from tests.support.lives import LEASE, OWNER, RIVAL, Lives
from tests.support.races import holding

pytestmark = pytest.mark.faults

EXPIRE = "reconciler.expire_leases.before_commit"


@asynccontextmanager
async def reconciler(lives: Lives, failpoints: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """A whole process, with a lease so short that its grace is soon over."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "fencepost_reconciler.main"),
        env={
            **os.environ,
            "FENCEPOST_RECONCILER_DATABASE_URL": lives.database.dsn("reconciler"),
            "FENCEPOST_FAILPOINT_DIR": str(failpoints),
            "FENCEPOST_LEASE_SECONDS": "0.9",
            "FENCEPOST_BEAT_SECONDS": "0.3",
            "FENCEPOST_SWEEP_SECONDS": "0.1",
        },
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def taken(lives: Lives, run_id: object) -> bool:
    return await lives.status(run_id) == "queued"  # type: ignore[arg-type]


async def test_a_kill_in_a_take_over_leaves_the_run_to_the_next_sweep(lives: Lives, tmp_path: Path) -> None:
    lost = await lives.lost()
    before = (await lives.run(lost.run.id), await lives.event_types(lost.run.id))
    arm(tmp_path, EXPIRE, Action.KILL)
    async with reconciler(lives, tmp_path) as process:
        assert await process.wait() == -signal.SIGKILL
    assert (await lives.run(lost.run.id), await lives.event_types(lost.run.id)) == before
    async with reconciler(lives, tmp_path):
        await eventually(lambda: taken(lives, lost.run.id))
    assert (await lives.event_types(lost.run.id)).count("run.lease_expired") == 1
    assert await lives.violations() == []


async def test_wf2_a_frozen_reconciler_blocks_nobody_and_overwrites_nothing(
    lives: Lives, tmp_path: Path
) -> None:
    """Stopped before its COMMIT; the database ends its transaction, the old worker comes back and ends it."""
    lost = await lives.lost()
    arm(tmp_path, EXPIRE, Action.STOP)
    async with reconciler(lives, tmp_path) as process:
        await wait_hit(tmp_path, EXPIRE)

        async def renewed() -> bool:
            async with lives.worker.transaction() as tx:
                held = {lost.run.id: lost.run.revision}
                [beat] = await heartbeat(tx, owner=OWNER, held=held, lease=LEASE)
            return beat.answer == "held"

        await eventually(renewed)  # within the role's idle_in_transaction_session_timeout
        await lives.finalize(lost)
        before = (await lives.run(lost.run.id), await lives.event_types(lost.run.id))
        os.kill(process.pid, signal.SIGCONT)
        later = await lives.lost()  # its sweep is at work again when this one is taken
        await eventually(lambda: taken(lives, later.run.id))
        assert (await lives.run(lost.run.id), await lives.event_types(lost.run.id)) == before
    assert await lives.violations() == []


async def test_wf2_a_frozen_reconciler_meets_a_run_that_another_claimed(lives: Lives, tmp_path: Path) -> None:
    """The other variant: a second reconciler took it, worker B has it with a fresh lease."""
    lost = await lives.lost()
    arm(tmp_path, EXPIRE, Action.STOP)
    async with reconciler(lives, tmp_path) as frozen:
        await wait_hit(tmp_path, EXPIRE)
        async with reconciler(lives, tmp_path):
            await eventually(lambda: taken(lives, lost.run.id))
            [again] = await lives.claim(owner=RIVAL)
            before = (await lives.run(lost.run.id), await lives.event_types(lost.run.id))
            os.kill(frozen.pid, signal.SIGCONT)
            later = await lives.lost()
            await eventually(lambda: taken(lives, later.run.id))
        assert (await lives.run(lost.run.id), await lives.event_types(lost.run.id)) == before
        assert again.run.revision == before[0]["revision"] == 3
    assert await lives.violations() == []


async def test_a_run_somebody_locks_for_long_delays_no_other(lives: Lives, tmp_path: Path) -> None:
    runs = [await lives.queued() for _ in range(3)]
    await lives.claim(lease=LEASE / 10**7, limit=3)
    async with (
        holding(lives.database, "SELECT FROM agent.runs WHERE id = %s FOR NO KEY UPDATE", runs[0]),
        reconciler(lives, tmp_path),
    ):
        await eventually(lambda: taken(lives, runs[1]))
        await eventually(lambda: taken(lives, runs[2]))
        assert await lives.status(runs[0]) == "running"

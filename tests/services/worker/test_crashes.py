"""Real worker processes that die or freeze at a named point: what must not happen twice doesn't."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from uuid import UUID

import pytest
from fencepost_runtime.failpoints import Action, arm, wait_hit

from tests.services.worker.bench import Bench
from tests.support.eventually import eventually
from tests.support.scripted_model import tool_answer
from tests.support.worker_process import WorkerProcess, worker_process

pytestmark = pytest.mark.faults

REMIND = {"title": "report", "at": "2026-12-01T09:00:00+08:00"}
BEFORE_APPROVAL = (
    "worker.claim.after_commit",
    "worker.node.before_start",
    "worker.model.after_answer",
    "worker.checkpoint.before_commit",
    "worker.checkpoint.after_commit",
    "worker.prepare.after_answer",
    "worker.interrupt.before_commit",
    "worker.interrupt.after_commit",
)
AFTER_APPROVAL = (
    "worker.commit.before_answer",
    "worker.commit.after_answer",
    "worker.finalize.before_commit",
    "worker.finalize.after_commit",
)


def process(bench: Bench, folder: Path, **more: str) -> object:
    return worker_process(
        bench.database, bench.gateway.url, folder, model_url=bench.model.url, model_name="scripted", **more
    )


async def approve(bench: Bench, run_id: UUID) -> None:
    interrupt = await bench.asked(run_id, 30.0)
    await bench.resolve(run_id, interrupt["id"], {"decision": "approve"})


async def done_once(bench: Bench, run_id: UUID) -> None:
    assert await bench.ended(run_id, 30.0) == "succeeded"
    assert len(bench.model.requests) == 1
    assert len(bench.gateway.effects) == 1
    assert len(await bench.final_messages(run_id)) == 1
    assert await bench.count("SELECT count(*) FROM agent.interrupts") == 1
    assert {p["calls"][0]["n"] for p in bench.gateway.prepared} == {1}
    assert await bench.violations() == []


@pytest.mark.faults
@pytest.mark.parametrize("point", BEFORE_APPROVAL)
async def test_i15_killed_before_the_approval_the_run_goes_on_without_asking_the_model_again(
    bench: Bench, tmp_path: Path, point: str
) -> None:
    bench.model.answer(tool_answer("life.create_reminder", REMIND))
    arm(tmp_path / "failpoints", point, Action.KILL)
    run_id = await bench.runs.queued("remind me")
    async with process(bench, tmp_path) as first:
        await first.process.wait()
    assert first.process.returncode == -signal.SIGKILL
    if await bench.runs.status(run_id) == "running":
        await bench.expire_lease(run_id)
    async with bench.working():
        await approve(bench, run_id)
        await done_once(bench, run_id)


@pytest.mark.faults
@pytest.mark.parametrize("point", AFTER_APPROVAL)
async def test_i21_killed_after_the_approval_there_is_one_effect_and_one_final_message(
    bench: Bench, tmp_path: Path, point: str
) -> None:
    bench.model.answer(tool_answer("life.create_reminder", REMIND))
    arm(tmp_path / "failpoints", point, Action.KILL)
    run_id = await bench.runs.queued("remind me")
    async with process(bench, tmp_path) as first:
        await approve(bench, run_id)
        await first.process.wait()
    if await bench.runs.status(run_id) == "running":
        await bench.expire_lease(run_id)
    async with bench.working():
        await done_once(bench, run_id)


async def snapshot(bench: Bench, run_id: UUID) -> list[tuple[object, ...]]:
    """All that a zombie must not change: control row, events, checkpoints, writes, messages, finalization."""
    return await bench.runs.fetch(
        "SELECT (SELECT to_jsonb(r) FROM agent.runs r WHERE r.id = %(id)s),"
        " (SELECT jsonb_agg(e ORDER BY seq) FROM agent.run_events e WHERE run_id = %(id)s),"
        " (SELECT jsonb_agg(checkpoint_id ORDER BY 1) FROM (SELECT checkpoint_id FROM langgraph.checkpoints"
        "   WHERE run_id = %(id)s ORDER BY 1) AS c),"
        " (SELECT count(*) FROM langgraph.writes WHERE run_id = %(id)s),"
        " (SELECT jsonb_agg(m ORDER BY seq) FROM agent.messages m WHERE run_id = %(id)s),"
        " (SELECT to_jsonb(f) FROM agent.finalizations f WHERE f.run_id = %(id)s)".replace(
            "%(id)s", f"'{run_id}'"
        )
    )


async def thaw(worker: WorkerProcess) -> None:
    """Wake the zombie and wait until it let go: refused, or finding its very ending recorded already."""
    seen = len(worker.log.read_text())
    words = ("run.fence_refused", "run.taken", "run.dropped", "run.left")
    worker.signal(signal.SIGCONT)
    await eventually(lambda: any(word in worker.log.read_text()[seen:] for word in words), 20.0)


@pytest.mark.parametrize("point", ["worker.checkpoint.before_commit", "worker.finalize.before_commit"])
async def test_i05_i07_a_zombie_write_is_refused(bench: Bench, tmp_path: Path, point: str) -> None:
    """Frozen past its lease, overtaken, and woken: at a checkpoint, and inside a finalization."""
    bench.model.answer(tool_answer("life.create_reminder", REMIND))
    run_id = await bench.runs.queued("remind me")
    async with process(bench, tmp_path) as zombie:
        interrupt = await bench.asked(run_id, 30.0)
        arm(zombie.failpoints, point, Action.STOP)
        await bench.resolve(run_id, interrupt["id"], {"decision": "approve"})
        await wait_hit(zombie.failpoints, point)
        await bench.expire_lease(run_id)
        async with bench.working():
            await done_once(bench, run_id)
            before = await snapshot(bench, run_id)
            await thaw(zombie)
        await asyncio.sleep(0.3)  # whatever it still had in flight
        assert await snapshot(bench, run_id) == before
    assert len(await bench.final_messages(run_id)) == 1
    assert await bench.violations() == []


async def test_sigterm_gives_back_what_is_not_finished_without_costing_an_attempt(
    bench: Bench, tmp_path: Path
) -> None:
    bench.model.hold = asyncio.Event()  # the answer never ends
    bench.model.answer(tool_answer("life.create_reminder", REMIND))
    run_id = await bench.runs.queued("remind me")
    async with process(bench, tmp_path, worker_drain_seconds="2.5") as worker:
        await eventually(lambda: bench.model.requests, 30.0)
        worker.signal(signal.SIGTERM)
        await asyncio.wait_for(worker.process.wait(), 10)
    assert worker.process.returncode == 0
    rows = await bench.runs.fetch("SELECT status, attempt, next_counts FROM agent.runs")
    assert rows == [("queued", 1, False)]
    assert await bench.count("SELECT count(*) FROM agent.workers") == 0
    bench.model.hold = None
    bench.model.answer(tool_answer("life.create_reminder", REMIND))
    async with bench.working():
        await approve(bench, run_id)
        assert await bench.ended(run_id) == "succeeded"
    assert await bench.runs.fetch("SELECT attempt FROM agent.runs") == [(1,)]

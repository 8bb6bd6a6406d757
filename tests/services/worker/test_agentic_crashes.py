"""A worker that dies at every place of an agentic run in turn: nothing is asked, done or told a second time.

Each process lives for one node (or one model call), is killed, and the next goes on. Counts are the
provider's and the gateway's own (I15, I26).
"""

from __future__ import annotations

import signal
from pathlib import Path
from uuid import UUID

import pytest
from fencepost_runtime.failpoints import Action, arm

from tests.services.worker.agentic import MAKE, READ, planned, records
from tests.services.worker.bench import TERMINAL, Bench
from tests.services.worker.test_agentic import made_of, payloads
from tests.support.eventually import eventually
from tests.support.worker_process import worker_process

UNHURT = {"module": 1, "planner": 1, "composer": 4, "assessor": 1}
SEQUENTIAL = {role: n for role, n in UNHURT.items() if role != "composer"}
MOST_LIVES = 40

pytestmark = [pytest.mark.faults, pytest.mark.timeout(600)]


async def lived(bench: Bench, folder: Path, run_id: UUID, point: str, *, skip: int) -> int:
    """How many processes it took, each killed at the point after `skip` passes."""
    for life in range(MOST_LIVES):
        if await bench.runs.status(run_id) in TERMINAL:
            return life
        arm(folder / "failpoints", point, Action.KILL, skip=skip)
        async with worker_process(
            bench.database, bench.gateway.url, folder, model_url=bench.model.url, model_name="scripted"
        ) as worker:

            async def over() -> bool:
                return worker.process.returncode is not None or (await bench.runs.status(run_id) in TERMINAL)

            await eventually(over, 30.0)
            if worker.process.returncode is None:
                return life + 1
            assert await worker.process.wait() == -signal.SIGKILL
        if await bench.runs.status(run_id) == "running":
            await bench.expire_lease(run_id)
    raise AssertionError(f"not over after {MOST_LIVES} lives: {await bench.events(run_id)}")


@pytest.mark.parametrize(
    ("point", "skip"),
    [
        ("worker.node.before_start", 3),  # more than the branches that start beside each other
        ("worker.model.after_answer", 0),
        ("worker.checkpoint.before_commit", 1),
        ("worker.checkpoint.after_commit", 1),
        ("worker.refusals.before_commit", 1),
        ("worker.refusals.after_commit", 0),
    ],
)
async def test_i15_killed_at_every_place_in_turn_it_asks_and_does_each_thing_once(
    bench: Bench, tmp_path: Path, point: str, skip: int
) -> None:
    roles = await planned(bench)
    bench.gateway.results[READ] = {"records": [*records(70, "b"), *records(20, "a")]}
    run_id = await bench.runs.queued("a report of everything")

    lives = await lived(bench, tmp_path, run_id, point, skip=skip)

    assert await bench.runs.status(run_id) == "succeeded", await bench.finalization(run_id)
    assert lives > 3, "the point was reached again and again"
    # A branch's request may be on its way when a sibling's death takes it along; an answer is never asked
    # again.
    assert roles.asked["composer"] - UNHURT["composer"] <= 3
    assert {role: n for role, n in roles.asked.items() if role != "composer"} == SEQUENTIAL
    settled = "SELECT count(*) FROM agent.model_calls WHERE state = 'settled' AND NOT late"
    assert await bench.count(settled) == sum(UNHURT.values())
    assert len(bench.gateway.effects) == 2
    names = [f"b-{n}" for n in range(70)] + [f"a-{n}" for n in range(20)]
    assert made_of(bench)["tool"] == MAKE
    assert [row["name"] for row in made_of(bench)["arguments"]["rows"]] == names
    events = await bench.events(run_id)
    assert events.count("plan.created") == 1
    assert events.count("branches.joined") == 2
    moves = [(p["step"], p["status"]) for p in await payloads(bench, run_id, "plan.advanced")]
    assert moves == [("read", "working"), ("read", "done"), ("make", "working"), ("make", "done")]
    assert len(await bench.final_messages(run_id)) == 1
    assert await bench.violations() == []

"""I15: a superstep whose writes are stored and whose checkpoint isn't goes on from its writes.

Found by the fault matrix: killed between the two, the run had no next node and no open question, and was
started afresh: the model was asked again, and its other answer met the action prepared before.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from fencepost_domain.errors import Unavailable
from fencepost_store.checkpoints import RunWrites
from fencepost_worker.engine.langgraph import saver
from fencepost_worker.engine.langgraph.writer import GroupWriter

from tests.services.worker.bench import Bench, benches
from tests.support.postgres import Database
from tests.support.scripted_model import tool_answer

REMIND = {"title": "report", "at": "2027-12-01T09:00:00+08:00"}
CHECKPOINTS = range(1, 8)  # of one approved reminder, those that are written by themselves


@pytest.fixture
async def bench(database: Database) -> AsyncIterator[Bench]:
    async with benches(database) as one:
        yield one


@pytest.mark.parametrize("which", CHECKPOINTS)
async def test_i15_a_superstep_without_its_checkpoint_is_not_done_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, which: int
) -> None:
    monkeypatch.setattr(saver, "HOLD_SECONDS", 0.0)  # ordinary writes are stored at once
    write, seen, failed = GroupWriter.write, 0, False

    async def write_or_fail(self: GroupWriter, rows: RunWrites) -> None:
        nonlocal seen, failed
        seen += rows.checkpoint is not None
        if rows.checkpoint is not None and seen == which and not failed:
            failed = True
            await asyncio.sleep(0.1)  # until the writes of its tasks are in
            raise Unavailable("as if the worker had died here")
        await write(self, rows)

    monkeypatch.setattr(GroupWriter, "write", write_or_fail)
    bench.model.answer(*[tool_answer("life.create_reminder", REMIND)] * 3)
    run_id = await bench.runs.queued("remind me")
    async with bench.working():
        asked = await bench.asked(run_id)
        await bench.resolve(run_id, asked["id"], {"decision": "approve"})
        assert await bench.ended(run_id) == "succeeded"
    assert failed or which > seen, "not that many checkpoints are written by themselves"
    assert len(bench.model.requests) == len(bench.gateway.effects) == 1
    assert {call["n"] for one in bench.gateway.prepared for call in one["calls"]} == {1}
    assert await bench.violations() == []

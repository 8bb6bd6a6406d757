"""The fenced saver passes LangGraph's own checkpointer conformance suite, each thread a claimed run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from fencepost_domain.errors import FenceLost
from fencepost_worker.engine.langgraph.saver import FencedSaver
from langgraph.checkpoint.conformance.capabilities import BASE_CAPABILITIES
from langgraph.checkpoint.conformance.initializer import RegisteredCheckpointer
from langgraph.checkpoint.conformance.test_utils import (
    generate_checkpoint,
    generate_config,
    generate_metadata,
)
from langgraph.checkpoint.conformance.validate import validate

from tests.support.postgres import Database
from tests.support.worker_runs import Runs, opened_runs, writing


class ClaimingSaver(FencedSaver):
    """Claims a run for each thread the suite makes up; the saver under test has no unfenced mode."""

    runs: Runs
    lock: asyncio.Lock

    async def aput(self, config: Any, *rest: Any) -> Any:
        run_id = UUID(config["configurable"]["thread_id"])
        async with self.lock:
            if run_id not in self._runs:
                self.open_run((await self.runs.claimed(run_id)).fence)
        return await super().aput(config, *rest)


@pytest.fixture
async def runs(database: Database) -> AsyncGenerator[Runs]:
    async with opened_runs(database, lease=timedelta(seconds=60)) as opened:
        yield opened


async def test_the_saver_passes_every_base_capability(database: Database, runs: Runs) -> None:
    async with writing(database) as writer:

        async def factory() -> AsyncGenerator[Any]:
            saver = ClaimingSaver(runs.worker, writer)
            saver.runs, saver.lock = runs, asyncio.Lock()
            yield saver

        report = await validate(RegisteredCheckpointer("FencedSaver", factory))

    failed = {name: result.failures for name, result in report.results.items() if result.failures}
    assert not failed
    assert {c.value for c in BASE_CAPABILITIES} <= {n for n, r in report.results.items() if r.passed}


async def test_a_thread_that_is_no_open_run_is_never_written(database: Database, runs: Runs) -> None:
    async with writing(database) as writer:
        saver = FencedSaver(runs.worker, writer)
        with pytest.raises(FenceLost):
            await saver.aput(generate_config(str(uuid4())), generate_checkpoint(), generate_metadata(), {})
        with pytest.raises(ValueError):
            await saver.aput(generate_config("thread-0"), generate_checkpoint(), generate_metadata(), {})


async def test_i03_thread_id_is_run_id_in_every_row(database: Database, runs: Runs) -> None:
    async with writing(database) as writer:
        saver = FencedSaver(runs.worker, writer)
        claim = await runs.claimed(uuid4())
        saver.open_run(claim.fence, fresh=True)
        stored = await saver.aput(
            generate_config(str(claim.run.id)), generate_checkpoint(), generate_metadata(), {}
        )
        await saver.aput_writes(stored, [("ch", 1)], str(uuid4()))
        assert await saver.aget_tuple(stored) is not None
    rows = await runs.fetch(
        "SELECT run_id, thread_id FROM langgraph.checkpoints"
        " UNION ALL SELECT run_id, thread_id FROM langgraph.writes"
    )
    assert len(rows) == 2
    assert all(run_id == thread_id == claim.run.id for run_id, thread_id in rows)

"""I15 under wrong clocks: where a run goes on is what was stored last, whatever its host's clock said.

Found by chaos: checkpoint ids are made of the worker's wall clock. One worker an hour ahead had the last
word for an hour: the run went back to its checkpoint time and again, and asked the model until its budget
was gone.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from types import SimpleNamespace
from uuid import UUID, uuid4

import pytest
from fencepost_store import checkpoints
from fencepost_store.checkpoints import GroupConnection, NewCheckpoint, RunWrites
from langgraph.checkpoint.base import id as ids

from tests.services.worker.bench import Bench, benches
from tests.support.postgres import Database
from tests.support.scripted_model import tool_answer
from tests.support.worker_runs import Runs, opened_runs

HOUR_NS = 3_600 * 10**9


def named(name: str) -> NewCheckpoint:
    return NewCheckpoint("", name, None, "msgpack", b"\x80", "{}")


async def test_the_newest_checkpoint_is_the_one_stored_last(database: Database) -> None:
    async with opened_runs(database) as runs:
        held = await runs.claimed(uuid4())
        writer = GroupConnection(database.dsn("worker"))
        for rows in (
            RunWrites(held.fence, named("9-ahead")),
            RunWrites(held.fence, named("1-behind"), held=(named("3-now"), named("2-now"))),
            RunWrites(held.fence, named("9-ahead")),  # an answer that was lost, asked for again
        ):
            assert await writer.write([rows]) == {held.run.id: "written"}
        await writer.drop()
        assert await _order(runs, held.run.id) == ["1-behind", "2-now", "3-now", "9-ahead"]
        assert await _order(runs, held.run.id, before="3-now") == ["9-ahead"]


async def _order(runs: Runs, run_id: UUID, before: str | None = None) -> list[str]:
    async with runs.worker.transaction() as tx:
        rows = await checkpoints.listed(
            tx, run_id, space="", checkpoint_id=None, before=before, filter_json="{}", limit=None
        )
        if before is None:
            newest = await checkpoints.newest(tx, run_id, "")
            assert newest is not None and newest["checkpoint_id"] == rows[0]["checkpoint_id"]
    return [row["checkpoint_id"] for row in rows]


@pytest.fixture
async def bench(database: Database) -> AsyncIterator[Bench]:
    async with benches(database) as one:
        yield one


async def test_i15_a_worker_an_hour_ahead_does_not_make_the_next_one_go_back(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.model.answer(tool_answer("ask", {"question": "When?", "slot": "time"}))
    bench.model.answer(tool_answer("life.create_reminder", {"title": "r", "at": "2027-12-01T09:00:00+08:00"}))
    run_id = await bench.runs.queued("remind me")
    with monkeypatch.context() as ahead:
        ahead.setattr(ids, "time", SimpleNamespace(time_ns=lambda: time.time_ns() + HOUR_NS))
        async with bench.working():
            asked = await bench.asked(run_id)
    monkeypatch.setattr(ids, "_last_v6_timestamp", None)  # another process
    async with bench.working():
        await bench.resolve(run_id, asked["id"], {"text": "on the first of December at nine"})
        asked = await bench.asked(run_id)
        await bench.resolve(run_id, asked["id"], {"decision": "approve"})
        assert await bench.ended(run_id) == "succeeded"
    assert len(bench.model.requests) == 2
    assert len(bench.gateway.effects) == 1
    assert await bench.violations() == []

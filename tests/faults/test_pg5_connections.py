"""Case PG-5: a transaction pooler between, and connections that die while a model thinks.

(c), clients that hang up in the middle of a query, is in tests/services/api/test_process.py.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from fencepost_reconciler.loops.expire_leases import ExpireLeases
from fencepost_runtime.system import SystemClock
from fencepost_store.engine import make_engine
from fencepost_store.transaction import Store

from tests.chaos.proxy import line_to
from tests.conformance.wake_proxy import address_of
from tests.services.worker.bench import Bench, benches
from tests.support.eventually import eventually
from tests.support.graces import Over
from tests.support.lives import AT_ONCE, living
from tests.support.pooler import pooled, program
from tests.support.postgres import Database
from tests.support.scripted_model import tool_answer

REMIND = {"title": "report", "at": "2027-12-01T09:00:00+08:00"}
needs_pgbouncer = pytest.mark.skipif(program() is None, reason="apt-get install pgbouncer")


@pytest.fixture
async def bench(database: Database) -> AsyncIterator[Bench]:
    async with benches(database) as one:
        yield one


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that the pooler's own account reaches."""
    with tempfile.TemporaryDirectory(prefix="fencepost-pooler-") as made:
        Path(made).chmod(0o755)
        yield Path(made)


@needs_pgbouncer
async def test_pg5a_checkpoints_through_a_transaction_pooler_are_stored_without_an_error(
    bench: Bench, folder: Path
) -> None:
    runs = []
    async with pooled(bench.database.dsn("worker"), folder) as dsn, bench.working(database_url=dsn):
        for _ in range(4):
            bench.model.answer(tool_answer("life.create_reminder", REMIND))
            runs.append(await bench.runs.queued("remind me"))
        for run_id in runs:
            asked = await bench.asked(run_id, 30.0)
            await bench.resolve(run_id, asked["id"], {"decision": "approve"})
        for run_id in runs:
            assert await bench.ended(run_id, 30.0) == "succeeded"
    assert await bench.count("SELECT count(*) FROM langgraph.checkpoints") >= 20
    assert await bench.runs.fetch("SELECT DISTINCT attempt FROM agent.runs") == [(1,)]
    assert len(bench.model.requests) == len(bench.gateway.effects) == 4
    assert await bench.violations() == []


async def test_pg5b_connections_that_die_during_a_model_call_cost_no_checkpoint_and_no_call(
    bench: Bench,
) -> None:
    bench.model.hold = asyncio.Event()
    bench.model.answer(tool_answer("life.create_reminder", REMIND))
    dsn = bench.database.dsn("worker")
    async with line_to(lambda: address_of(dsn)) as line:
        through = dsn.replace(f":{address_of(dsn)[1]}/", f":{line.port}/")
        async with bench.working(database_url=through):
            run_id = await bench.runs.queued("remind me")
            await eventually(lambda: bench.model.requests, 15.0)
            line.cut()  # as a server, or a firewall, ends what was idle for too long
            bench.model.hold.set()
            asked = await bench.asked(run_id)
            await bench.resolve(run_id, asked["id"], {"decision": "approve"})
            assert await bench.ended(run_id) == "succeeded"
    assert len(bench.model.requests) == len(bench.gateway.effects) == 1
    assert await bench.runs.fetch("SELECT attempt FROM agent.runs") == [(1,)]
    assert await bench.violations() == []


@needs_pgbouncer
async def test_pg5d_two_reconcilers_behind_a_pooler_take_each_run_once(
    database: Database, folder: Path
) -> None:
    """Nothing is bound to a session: SKIP LOCKED shares the rows, no leadership can go stale."""
    async with living(database) as lives, pooled(database.dsn("reconciler"), folder) as dsn:
        for _ in range(30):
            await lives.queued()
        await lives.claim(limit=30, lease=AT_ONCE)
        stores = [Store(make_engine(dsn), lives.ids) for _ in range(2)]
        grace = Over(timedelta(seconds=1), SystemClock())
        done = await asyncio.gather(*(ExpireLeases(store, grace).run_once() for store in stores))
        for store in stores:
            await store.close()
        assert sum(each.get("expired", 0) for each in done) == 30
        rows = await lives.sql("SELECT DISTINCT revision, status FROM agent.runs")
        assert rows == [{"revision": 2, "status": "queued"}]
        assert await lives.violations() == []

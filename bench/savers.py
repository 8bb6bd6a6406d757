"""(c) One process, 16 runs at a time, the graph `five` under one saver: `fenced`, `stock`, `memory` or `none`.

    python -m bench.savers SAVER RUNS DSN_OF_WORKER DSN_OF_ADMIN     prints one JSON object

No claim, no queue, no ending: one graph, compiled alike for all. `fenced` goes by the engine's entry, as the
worker does; `fenced-ainvoke` by the same entry with the direct path off; the others by `ainvoke`. The stock saver
has a connection of its own for each slot, its fastest arrangement (one lock guards a saver that is shared).
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

os.environ["LANGSMITH_TRACING"] = "false"

import psycopg
import uvloop
from fencepost_contracts.graphs import Manifest, RoleModel
from fencepost_domain.fence import Fence
from fencepost_runtime.system import SystemIds
from fencepost_store.checkpoints import GroupConnection, RunWrites
from fencepost_store.engine import make_engine
from fencepost_store.transaction import Store
from fencepost_worker.engine.langgraph.adapter import LangGraphEngine
from fencepost_worker.engine.langgraph.registry import build
from fencepost_worker.engine.langgraph.saver import FencedSaver
from fencepost_worker.engine.langgraph.step import Context
from fencepost_worker.engine.langgraph.writer import GroupWriter
from fencepost_worker.engine.port import Finished, Task
from fencepost_worker.flow.state import FRESH
from fencepost_worker.flow.step import Facts

from bench.five import FIVE, FIVE_NODES
from bench.measure import server_counts

SLOTS = 16
IDS = SystemIds()
MANIFEST = Manifest(version="1", roles={"module": RoleModel(provider="offline", model="m")})
exchanges = 0


def count_exchanges() -> None:
    """Each wait of psycopg is one exchange with the server: what is sent, and the answer."""
    wait = psycopg.AsyncConnection.wait

    async def counted(self: Any, *given: Any, **named: Any) -> Any:
        global exchanges
        exchanges += 1
        return await wait(self, *given, **named)

    psycopg.AsyncConnection.wait = counted  # type: ignore[method-assign]


class Quiet:
    """The ports of a run whose nodes ask for nothing."""

    async def boundary(self, node: str) -> None:
        """Nobody asks it to pause."""

    def new_id(self) -> UUID:
        return IDS.uuid7()


def facts(run_id: UUID) -> Facts:
    """Of a run of `five`."""
    at = datetime(2026, 12, 1, tzinfo=UTC)
    return Facts(run_id, "life", "hello", "en", None, "CNY", at, FIVE, MANIFEST, None)


def graph(saver: Any) -> Any:
    """The graph `five` as the worker compiles it, with this saver."""
    return build(FIVE, FIVE_NODES, saver)


def entry() -> dict[str, Any]:
    return {"state": dict(FRESH)}


QUIET: Any = Quiet()


async def drive(run: Callable[[int, int], Awaitable[None]], runs: int) -> float:
    """`run(slot, n)` for each run, 16 at a time; seconds."""
    left = iter(range(runs))
    began = time.monotonic()

    async def slot(place: int) -> None:
        for n in left:
            await run(place, n)

    await asyncio.gather(*(slot(place) for place in range(SLOTS)))
    return time.monotonic() - began


async def stock(runs: int, admin: str) -> Callable[[int, int], Awaitable[None]]:
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
    from psycopg.rows import dict_row

    lines = [
        await psycopg.AsyncConnection.connect(admin, autocommit=True, row_factory=dict_row)
        for _ in range(SLOTS)
    ]
    savers = [AsyncPostgresSaver(line) for line in lines]
    with suppress(psycopg.Error):  # another process sets up at the same time
        await savers[0].setup()
    await asyncio.sleep(1)
    graphs = [graph(saver) for saver in savers]

    async def run(place: int, n: int) -> None:
        config = {"configurable": {"thread_id": f"{os.getpid()}-{n}"}, "callbacks": []}
        context = Context(facts(IDS.uuid7()), QUIET)
        await graphs[place].ainvoke(entry(), config, context=context, durability="sync")

    return run


async def fenced(worker: str, claimed: list[Any], *, direct: bool) -> Callable[[int, int], Awaitable[None]]:
    """By the engine's own entry, as the worker executes a run; direct: without LangGraph's runner."""
    store = Store(make_engine(worker, prepare=3), IDS)
    writer = GroupWriter(GroupConnection(worker, prepare=3))
    asyncio.ensure_future(writer.run())  # noqa: RUF006
    engine = LangGraphEngine(FencedSaver(store, writer), {FIVE.name: FIVE_NODES}, direct=direct)

    async def run(_: int, n: int) -> None:
        fence = claimed[n]
        outcome = await engine.execute(Task(facts(fence.run_id), fence, fresh=True), QUIET)
        if not isinstance(outcome, Finished):
            raise RuntimeError(f"{fence.run_id}: {outcome}")
        await writer.write(RunWrites(fence, held=outcome.carried))  # else it travels with the run's ending

    return run


async def in_memory(saver: str) -> Callable[[int, int], Awaitable[None]]:
    from langgraph.checkpoint.memory import InMemorySaver

    made = graph(InMemorySaver() if saver == "memory" else None)

    async def run(_: int, n: int) -> None:
        config = {"configurable": {"thread_id": f"t{n}"}, "callbacks": []}
        await made.ainvoke(entry(), config, context=Context(facts(IDS.uuid7()), QUIET))

    return run


def fences(admin: str, count: int) -> list[Any]:
    """That many of the runs that were enqueued, held by us for an hour."""
    with psycopg.connect(admin, autocommit=True) as line:
        rows = line.execute(
            "UPDATE agent.runs SET status = 'running', revision = revision + 1, lease_owner = 'bench:1',"
            " lease_expires_at = clock_timestamp() + interval '1 hour', started_at = clock_timestamp()"
            " WHERE id IN (SELECT id FROM agent.runs WHERE status = 'queued' LIMIT %s FOR UPDATE SKIP LOCKED)"
            " RETURNING id, revision",
            (count,),
        ).fetchall()
    return [Fence(row[0], "bench:1", row[1]) for row in rows]


async def main(saver: str, runs: int, worker: str, admin: str) -> dict[str, Any]:
    count_exchanges()
    if saver == "stock":
        run = await stock(runs, admin)
    elif saver.startswith("fenced"):
        run = await fenced(worker, fences(admin, runs), direct=saver == "fenced")
    else:
        run = await in_memory(saver)
    warm = runs // 5
    await drive(run, warm)
    gc.collect()
    gc.freeze()
    before, sent, cpu = server_counts(admin), exchanges, time.process_time()
    seconds = await drive(lambda place, n: run(place, n + warm), runs - warm)
    done = runs - warm
    told = {name: value / done for name, value in server_counts(admin).since(before).items()}
    return {
        "per_second": done / seconds,
        "client_cpu": (time.process_time() - cpu) / done * 1000,
        "exchanges": (exchanges - sent) / done,
        **told,
    }


if __name__ == "__main__":
    print(json.dumps(uvloop.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]))))

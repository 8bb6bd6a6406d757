"""(c) One process, 16 runs at a time, five steps under one saver: `fenced`, `stock`, `memory` or `none`.

    python -m bench.savers SAVER RUNS DSN_OF_WORKER DSN_OF_ADMIN     prints one JSON object

No claim, no queue, no ending: what a saver costs and nothing else. The stock saver has a connection of its
own for each slot, which is its fastest arrangement (one lock guards a saver that is shared).
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
from typing import Any, TypedDict

os.environ["LANGSMITH_TRACING"] = "false"

import psycopg
import uvloop
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

from bench.measure import server_counts

SLOTS = 16
exchanges = 0


def count_exchanges() -> None:
    """Each wait of psycopg is one exchange with the server: what is sent, and the answer."""
    wait = psycopg.AsyncConnection.wait

    async def counted(self: Any, *given: Any, **named: Any) -> Any:
        global exchanges
        exchanges += 1
        return await wait(self, *given, **named)

    psycopg.AsyncConnection.wait = counted  # type: ignore[method-assign]


class State(TypedDict):
    """What the five nodes pass on."""

    said: list[str]


def graph(saver: Any) -> Any:
    """Five nodes that add a word to a list, each naming the next; nothing of the product's flow."""
    made = StateGraph(State)
    names = [f"step_{n}" for n in range(1, 6)]

    def node(after: str | None) -> Callable[[State], Awaitable[Command[str]]]:
        async def step(state: State) -> Command[str]:
            return Command(update={"said": [*state["said"], after or END]}, goto=after or ())

        return step

    for name, after in zip(names, [*names[1:], None], strict=True):
        made.add_node(name, node(after), destinations=(after or END,))
    made.add_edge(START, names[0])
    return made.compile(checkpointer=saver)


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
        await graphs[place].ainvoke({"said": []}, config, durability="sync")

    return run


async def fenced(runs: int, worker: str, claimed: list[Any]) -> Callable[[int, int], Awaitable[None]]:
    from fencepost_runtime.system import SystemIds
    from fencepost_store.checkpoints import GroupConnection
    from fencepost_store.engine import make_engine
    from fencepost_store.transaction import Store
    from fencepost_worker.engine.langgraph.saver import FencedSaver
    from fencepost_worker.engine.langgraph.writer import GroupWriter

    store = Store(make_engine(worker, prepare=3), SystemIds())
    writer = GroupWriter(GroupConnection(worker, prepare=3))
    asyncio.ensure_future(writer.run())  # noqa: RUF006
    saver = FencedSaver(store, writer)
    made = graph(saver)

    async def run(_: int, n: int) -> None:
        fence = claimed[n]
        saver.open_run(fence, fresh=True, closes=True)
        config = {"configurable": {"thread_id": str(fence.run_id)}, "callbacks": []}
        await made.ainvoke({"said": []}, config, durability="sync")
        await saver.flush(fence.run_id)
        saver.close_run(fence.run_id)

    return run


async def in_memory(saver: str) -> Callable[[int, int], Awaitable[None]]:
    from langgraph.checkpoint.memory import InMemorySaver

    made = graph(InMemorySaver() if saver == "memory" else None)

    async def run(_: int, n: int) -> None:
        config = {"configurable": {"thread_id": f"t{n}"}, "callbacks": []}
        await made.ainvoke({"said": []}, config)

    return run


def fences(admin: str, count: int) -> list[Any]:
    """That many of the runs that were enqueued, held by us for an hour."""
    from fencepost_domain.fence import Fence

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
    elif saver == "fenced":
        run = await fenced(runs, worker, fences(admin, runs))
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

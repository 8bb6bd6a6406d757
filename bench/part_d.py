"""(d) From create to start, and from approval to the run going on: through the API, by wake-up adapter."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import httpx
import psycopg
from fencepost_cli.embedded.supervisor import Embedded
from fencepost_runtime.system import SystemIds

from bench.approve import approve, client_of
from bench.measure import percentile
from bench.mesh import mesh
from bench.part_a import ASKS

LOW = 4  # a second: a tenth of what a busy machine can do
STARTS = """SELECT extract(epoch FROM e.at - r.created_at) * 1000
  FROM agent.runs r JOIN agent.run_events e ON e.run_id = r.id AND e.type = 'run.claimed' AND e.seq = 2
 WHERE r.id = ANY (%s)"""
RESUMES = """SELECT extract(epoch FROM c.at - w.at) * 1000
  FROM agent.run_events w
  JOIN LATERAL (SELECT at FROM agent.run_events c WHERE c.run_id = w.run_id AND c.seq > w.seq
                   AND c.type = 'run.claimed' ORDER BY c.seq LIMIT 1) AS c ON true
 WHERE w.type = 'run.woken' AND w.run_id = ANY (%s)"""


async def create(client: httpx.AsyncClient, ids: SystemIds, text: str) -> str:
    module = "life" if text == ASKS else "companion"  # small talk would be handed over by `life`
    answer = await client.post(
        "/v1/runs",
        json={"input": {"text": text, "zone": "Asia/Shanghai", "locale": "en"}, "module": module},
        headers={"Idempotency-Key": str(ids.uuid7())},
    )
    answer.raise_for_status()
    return str(answer.json()["id"])


async def at_rate(client: httpx.AsyncClient, per_second: float, count: int, text: str) -> list[str]:
    """Requests by a Poisson process, so that none waits for the one before it."""
    ids, dice, tasks = SystemIds(), random.Random(7), []
    for _ in range(count):
        tasks.append(asyncio.create_task(create(client, ids, text)))
        await asyncio.sleep(dice.expovariate(per_second))
    return [await task for task in tasks]


async def capacity(running: Embedded, client: httpx.AsyncClient) -> float:
    """Runs a second through the API, everything included, with the queue never empty."""
    ids, turn = SystemIds(), asyncio.Semaphore(16)

    async def one() -> str:
        async with turn:
            return await create(client, ids, "hello")

    runs = await asyncio.gather(*(one() for _ in range(240)))
    while await _number(running, "SELECT count(*) FROM agent.runs WHERE status IN ('queued', 'running')"):
        await asyncio.sleep(0.1)
    found = await _number(
        running,
        "SELECT count(*) / extract(epoch FROM max(finished_at) - min(created_at)) FROM agent.runs"
        " WHERE id = ANY (%s)",
        list(runs)[40:],
    )
    return float(found)


async def _number(running: Embedded, query: str, *given: Any) -> Any:
    async with await psycopg.AsyncConnection.connect(running.dsn(), autocommit=True) as line:
        row = await (await line.execute(query, given)).fetchone()
    return row[0] if row else None


async def _values(running: Embedded, query: str, runs: list[str]) -> list[float]:
    """Once none of them waits for its start any more."""
    waits = "SELECT count(*) FROM agent.runs WHERE status = 'queued' AND id = ANY (%s)"
    while await _number(running, waits, runs):
        await asyncio.sleep(0.1)
    async with await psycopg.AsyncConnection.connect(running.dsn(), autocommit=True) as line:
        return [float(row[0]) for row in await (await line.execute(query, (runs,))).fetchall()]


def told(values: list[float]) -> dict[str, float]:
    return {"p50_ms": percentile(values, 0.5), "p99_ms": percentile(values, 0.99), "n": len(values)}


async def approvals(running: Embedded, client: httpx.AsyncClient, count: int) -> dict[str, float]:
    ids = SystemIds()
    runs = await at_rate(client, 4, count, ASKS)
    while await _number(running, "SELECT count(*) FROM agent.interrupts WHERE status = 'open'") < count:
        await asyncio.sleep(0.1)
    async with await psycopg.AsyncConnection.connect(running.dsn(), autocommit=True) as line:
        rows = await (await line.execute("SELECT id FROM agent.interrupts WHERE status = 'open'")).fetchall()
    for (interrupt,) in rows:
        await approve(client, interrupt, ids)
        await asyncio.sleep(0.1)
    await asyncio.sleep(2.0)
    return told(await _values(running, RESUMES, runs))


async def one_adapter(adapter: str, quick: bool) -> dict[str, Any]:
    env = {} if adapter != "none" else {"FENCEPOST_WAKE": "none"}
    services = ["gateway", "reconciler", "api", "worker"]
    count = 100 if quick else 300
    async with mesh(services, kafka=adapter == "kafka", env=env) as running, client_of(running) as client:
        await at_rate(client, LOW, 20, "hello")  # warm
        low = told(await _values(running, STARTS, await at_rate(client, LOW, count, "hello")))
        resumed = await approvals(running, client, 40 if quick else 100)
        rate = await capacity(running, client)
        high = told(await _values(running, STARTS, await at_rate(client, 0.8 * rate, count, "hello")))
    return {
        f"create to start, {LOW}/s": low,
        "approve to resume": resumed,
        "capacity through the api, runs/s": rate,
        "create to start, 80 %": high,
    }


async def run(quick: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for adapter in ("postgres", "none", "kafka"):
        try:
            found[adapter] = await one_adapter(adapter, quick)
        except Exception as error:  # a machine without a broker still has its other figures
            if adapter != "kafka":
                raise
            found[adapter] = f"not measured: {type(error).__name__}: {str(error)[:200]}"
    return found

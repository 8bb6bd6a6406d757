"""(g) Open SSE streams on one api process: how late an event is, and what they cost in memory."""

from __future__ import annotations

import asyncio
import json
import resource
import time
from typing import Any

import httpx
import psycopg
from fencepost_cli.embedded.supervisor import Embedded

from bench.measure import memory_mb, percentile
from bench.mesh import enqueue, mesh

LOOKED_AT = 100  # streams whose runs go through, five a second; all others are open and their runs wait


async def _stream(
    running: Embedded, client: httpx.AsyncClient, run_id: str, seen: dict[str, list[tuple[float, str]]]
) -> None:
    """Note when each event of a run arrived; the time is the wall clock's, as the database's is."""
    async with client.stream(
        "GET", f"{running.url}/v1/runs/{run_id}/stream", headers={"Accept": "text/event-stream"}
    ) as answer:
        async for line in answer.aiter_lines():
            if line.startswith("data:"):
                seen.setdefault(run_id, []).append((time.time(), line[5:]))


def _events(running: Embedded, runs: list[str]) -> dict[str, dict[int, float]]:
    with psycopg.connect(running.dsn(), autocommit=True) as line:
        rows = line.execute(
            "SELECT run_id::text, seq, extract(epoch FROM at) FROM agent.run_events"
            " WHERE run_id::text = ANY (%s)",
            (runs,),
        ).fetchall()
    found: dict[str, dict[int, float]] = {}
    for run_id, seq, at in rows:
        found.setdefault(run_id, {})[int(seq)] = float(at)
    return found


def _delays(running: Embedded, seen: dict[str, list[tuple[float, str]]]) -> list[float]:
    """Milliseconds from an event's instant in the database to its arrival, by the event's seq."""
    stored, found = _events(running, list(seen)), []
    for run_id, arrived in seen.items():
        for at, text in arrived:
            try:
                body = json.loads(text)
            except ValueError:
                continue
            seq = body.get("seq") if isinstance(body, dict) else None
            if isinstance(seq, int) and (stored_at := stored.get(run_id, {}).get(seq)):
                found.append((at - stored_at) * 1000)
    return found


def _release(running: Embedded, run_id: Any) -> None:
    with psycopg.connect(running.dsn(), autocommit=True) as line:
        line.execute(
            "UPDATE agent.runs SET available_at = clock_timestamp(), rank = clock_timestamp() WHERE id = %s",
            (run_id,),
        )


async def run(quick: bool) -> dict[str, Any]:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    count = 300 if quick else 2_000
    seen: dict[str, list[tuple[float, str]]] = {}
    async with mesh(["gateway", "reconciler", "api", "worker"]) as running:
        before = memory_mb(running.pid("api") or 0)
        limits = httpx.Limits(max_connections=count + 50, max_keepalive_connections=0)
        async with httpx.AsyncClient(
            headers={"Authorization": f"Bearer {running.token}"}, limits=limits, timeout=None, trust_env=False
        ) as streams:
            moving = await asyncio.to_thread(enqueue, running, LOOKED_AT, "hello", "life")
            silent = await asyncio.to_thread(enqueue, running, count - LOOKED_AT, "hello", "life")
            tasks = []
            for n, run_id in enumerate([*moving, *silent]):
                tasks.append(asyncio.create_task(_stream(running, streams, str(run_id), seen)))
                if n % 50 == 0:
                    await asyncio.sleep(0.2)
            await asyncio.sleep(10)
            for arrived in seen.values():
                arrived.clear()  # the first event was history
            full, open_ = memory_mb(running.pid("api") or 0), sum(not task.done() for task in tasks)
            for run_id in moving:
                await asyncio.to_thread(_release, running, run_id)
                await asyncio.sleep(0.2)
            await asyncio.sleep(3)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        delays = _delays(running, seen)
    return {
        "streams": count,
        "open when measured": open_,
        "api memory before, MB": before,
        "api memory with all open, MB": full,
        "events seen": len(delays),
        "delay p50, ms": percentile(delays, 0.5),
        "delay p99, ms": percentile(delays, 0.99),
    }

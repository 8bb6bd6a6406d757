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
from fencepost_runtime.system import SystemIds

from bench.approve import client_of
from bench.measure import memory_mb, percentile
from bench.mesh import mesh

LOOKED_AT = 40  # streams whose runs move during the measurement; all others are open and silent


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


async def _create(client: httpx.AsyncClient, ids: SystemIds) -> str:
    answer = await client.post(
        "/v1/runs",
        json={"input": {"text": "hello", "zone": "UTC", "locale": "en"}, "module": "life"},
        headers={"Idempotency-Key": str(ids.uuid7())},
    )
    answer.raise_for_status()
    return str(answer.json()["id"])


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


async def run(quick: bool) -> dict[str, Any]:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    count = 300 if quick else 2_000
    ids, seen = SystemIds(), {}  # type: ignore[var-annotated]
    async with mesh(["gateway", "reconciler", "api"]) as running, client_of(running) as client:
        before = memory_mb(running.pid("api") or 0)
        limits = httpx.Limits(max_connections=count + 50, max_keepalive_connections=0)
        async with httpx.AsyncClient(
            headers={"Authorization": f"Bearer {running.token}"}, limits=limits, timeout=None, trust_env=False
        ) as streams:
            runs = [await _create(client, ids) for _ in range(LOOKED_AT)]
            silent = runs[0]
            tasks = [asyncio.create_task(_stream(running, streams, run_id, seen)) for run_id in runs]
            for n in range(count - LOOKED_AT):
                tasks.append(asyncio.create_task(_stream(running, streams, silent, {})))
                if n % 50 == 0:
                    await asyncio.sleep(0.2)
            await asyncio.sleep(5)
            full = memory_mb(running.pid("api") or 0)
            await running.start_service("worker")
            await asyncio.sleep(20)
            open_ = sum(not task.done() for task in tasks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        delays = _delays(running, seen)
    return {
        "streams": count,
        "still open after the runs ended": open_,
        "api memory before, MB": before,
        "api memory with all open, MB": full,
        "events seen": len(delays),
        "delay p50, ms": percentile(delays, 0.5),
        "delay p99, ms": percentile(delays, 0.99),
    }

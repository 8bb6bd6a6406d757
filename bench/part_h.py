"""(h) How fast the API takes runs, and (i) what a service costs: idle, and with 1,000 runs in flight."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from fencepost_runtime.system import SystemIds

from bench.approve import client_of
from bench.measure import cpu_seconds, memory_mb, percentile, postgres_cpu_seconds
from bench.mesh import enqueue, mesh, release
from bench.part_d import create

SERVICES = ("gateway", "api", "reconciler", "worker")


async def create_rate(quick: bool) -> dict[str, Any]:
    """16 clients, no worker: nothing but creation."""
    count = 400 if quick else 2_000
    ids = SystemIds()
    async with mesh(["api"]) as running, client_of(running) as client:
        times: list[float] = []
        turn = asyncio.Semaphore(16)

        async def one() -> None:
            async with turn:
                began = time.perf_counter()
                await create(client, ids, "hello")
                times.append((time.perf_counter() - began) * 1000)

        await asyncio.gather(*(one() for _ in range(100)))
        times.clear()
        api, server = running.pid("api") or 0, running.pid("postgres") or 0
        before, began = (cpu_seconds([api]), postgres_cpu_seconds(server)), time.perf_counter()
        await asyncio.gather(*(one() for _ in range(count)))
        seconds = time.perf_counter() - began
        return {
            "creates/s, 16 clients": count / seconds,
            "p50, ms": percentile(times, 0.5),
            "p99, ms": percentile(times, 0.99),
            "api CPU s per 1,000": (cpu_seconds([api]) - before[0]) / count * 1000,
            "Postgres CPU s per 1,000": (postgres_cpu_seconds(server) - before[1]) / count * 1000,
        }


async def costs(quick: bool) -> dict[str, Any]:
    """Memory (proportional share) and CPU of an idle mesh's services; then of a worker with runs held."""
    idle = 10.0 if quick else 30.0
    held = 200 if quick else 1_000
    env = {"FENCEPOST_WORKER_CONCURRENCY": str(held)}
    found: dict[str, Any] = {"idle": {}}
    async with mesh(SERVICES, env=env) as running:
        await asyncio.sleep(12)
        before = {name: cpu_seconds([running.pid(name) or 0]) for name in SERVICES}
        server = postgres_cpu_seconds(running.pid("postgres") or 0)
        await asyncio.sleep(idle)
        for name in SERVICES:
            used = cpu_seconds([running.pid(name) or 0]) - before[name]
            found["idle"][name] = {
                "memory_mb": memory_mb(running.pid(name) or 0),
                "cpu_percent": used / idle * 100,
            }
        used = postgres_cpu_seconds(running.pid("postgres") or 0) - server
        found["idle"]["postgres"] = {"cpu_percent": used / idle * 100}
    found["in flight"] = await in_flight(held)
    return found


async def in_flight(count: int) -> dict[str, float]:
    """A worker whose runs are all in the middle of a step."""
    import sys

    from fencepost_cli.embedded.services import COMMANDS

    env = {"FENCEPOST_WORKER_CONCURRENCY": str(count)}
    commands = {**COMMANDS, "worker": (sys.executable, "-m", "bench.slow")}
    async with mesh(["gateway", "reconciler", "worker"], commands=commands, env=env) as running:
        await asyncio.sleep(3)
        pid = running.pid("worker") or 0
        before = memory_mb(pid)
        await asyncio.to_thread(enqueue, running, count)
        release(running)
        highest = before
        for _ in range(40):
            await asyncio.sleep(0.2)
            highest = max(highest, memory_mb(pid))
    return {"runs": count, "worker_mb_before": before, "worker_mb_highest": highest,
            "kb_a_run": (highest - before) * 1024 / count}  # fmt: skip


async def run(quick: bool) -> dict[str, Any]:
    return {"create": await create_rate(quick), **await costs(quick)}

"""(j) Peers on the same five trivial steps, with their own clients, two worker processes of 16 at a time.

In an environment of their own (.fencepost/bench-peers), from the registry. Enqueued first, then drained; the
rate is that of the middle 80 %, without the start-up. Nobody's polling was tuned but DBOS's (0.1 s).
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
from fencepost_cli.embedded.supervisor import Embedded

from bench import part_j_own
from bench.measure import cpu_seconds, postgres_cpu_seconds
from bench.mesh import ROOT, mesh
from bench.part_a import asyncio_floor, throughput

HOME = Path(ROOT) / ".fencepost" / "bench-peers"
PACKAGES = ("dbos", "procrastinate", "absurd-sdk", "absurdctl", "psycopg[binary]", "psycopg-pool")


@dataclass(frozen=True, slots=True)
class Peer:
    """script: in bench/peers; done: a count of what is done; init: a command before setup."""

    script: str
    done: str
    init: tuple[str, ...] = ()


PEERS = {
    "DBOS": Peer("dbos_five.py", "SELECT count(*) FROM dbos.workflow_status WHERE status = 'SUCCESS'"),
    "Absurd": Peer(
        "absurd_five.py",
        "SELECT count(*) FROM absurd.t_five WHERE state = 'completed'",
        ("absurdctl", "init"),
    ),
    "procrastinate (one job, steps not durable)": Peer(
        "procrastinate_five.py", "SELECT count(*) FROM procrastinate_jobs WHERE status = 'succeeded'"
    ),
}


async def install() -> None:
    if (HOME / "bin" / "python").exists():
        return
    uv = str(Path(sys.executable).parent / "uv")
    for command in (
        (uv, "venv", "--quiet", str(HOME)),
        (uv, "pip", "install", "--quiet", "--python", str(HOME / "bin" / "python"), *PACKAGES),
    ):
        process = await asyncio.create_subprocess_exec(*command)
        if await process.wait():
            raise RuntimeError(f"{command} failed")


async def _say(peer: Peer, dsn: str, *what: str) -> None:
    script = Path(ROOT) / "bench" / "peers" / peer.script
    process = await asyncio.create_subprocess_exec(
        str(HOME / "bin" / "python"), str(script), dsn, *what, stdout=asyncio.subprocess.DEVNULL
    )
    if await process.wait():
        raise RuntimeError(f"{peer.script} {what[0]} failed")


async def drained(running: Embedded, peer: Peer, dsn: str, runs: int) -> dict[str, float]:
    script = Path(ROOT) / "bench" / "peers" / peer.script
    await _say(peer, dsn, "enqueue", str(runs))
    workers = [
        await asyncio.create_subprocess_exec(
            str(HOME / "bin" / "python"), str(script), dsn, "work", f"w{n}", stdout=asyncio.subprocess.DEVNULL
        )
        for n in range(2)
    ]
    pids = [worker.pid for worker in workers]
    server = running.pid("postgres") or 0
    seen: list[tuple[float, int, float, float]] = []
    ends = time.monotonic() + 240
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as line:
        while time.monotonic() < ends:
            row = await (await line.execute(peer.done)).fetchone()  # type: ignore[arg-type]
            count = int(row[0]) if row else 0
            seen.append((time.monotonic(), count, cpu_seconds(pids), postgres_cpu_seconds(server)))
            if count >= runs:
                break
            await asyncio.sleep(0.1)
    for worker in workers:
        worker.kill()
        await worker.wait()
    first = next(one for one in seen if one[1] >= runs * 0.1)
    last = next((one for one in seen if one[1] >= runs * 0.9), seen[-1])
    done = last[1] - first[1]
    return {
        "per_second": done / (last[0] - first[0]),
        "worker_cpu": (last[2] - first[2]) / done * 1000,
        "postgres_cpu": (last[3] - first[3]) / done * 1000,
    }


async def measured(peer: Peer, runs: int) -> dict[str, float]:
    async with mesh([]) as running:
        dsn = running.postgres.dsn("peer")
        with psycopg.connect(running.postgres.dsn("postgres"), autocommit=True) as line:
            line.execute("CREATE DATABASE peer")
        if peer.init:
            command = [str(HOME / "bin" / peer.init[0]), *peer.init[1:], "-d", dsn]
            process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.DEVNULL)
            if await process.wait():
                raise RuntimeError(f"{peer.init} failed")
        await _say(peer, dsn, "setup")
        return await drained(running, peer, dsn, runs)


async def run(quick: bool) -> dict[str, Any]:
    await install()
    await part_j_own.install()
    runs, repeats = (400, 1) if quick else (1_500, 3)
    found: dict[str, Any] = {
        "asyncio floor": await asyncio_floor(2, runs, repeats),
        "Fencepost": (await throughput("five", "hello", (2,), runs, repeats))["2 workers"],
    }
    every = {name: partial(measured, peer) for name, peer in PEERS.items()} | part_j_own.PEERS
    for name, measure in every.items():
        try:
            repeated = [await measure(runs) for _ in range(repeats)]
        except Exception as error:  # a peer that can't be run is said, not hidden
            found[name] = {"not measured": f"{type(error).__name__}: {str(error)[:200]}"}
            continue
        found[name] = {key: statistics.median(one[key] for one in repeated) for key in repeated[0]}
    base, ours = found["asyncio floor"]["per_second"], found["Fencepost"]["per_second"]
    found["to the floor"] = {
        name: one["per_second"] / base for name, one in found.items() if "per_second" in one
    }
    found["Fencepost to"] = {
        name: ours / one["per_second"] for name, one in found.items() if name in every and "per_second" in one
    }
    return found

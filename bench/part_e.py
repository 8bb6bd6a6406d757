"""(e) How long a killed worker's runs rest at default settings: taken over, and restarted in place."""

from __future__ import annotations

import asyncio
import statistics
import sys
from typing import Any

import psycopg
from fencepost_cli.embedded.services import COMMANDS
from fencepost_cli.embedded.supervisor import Embedded

from bench.mesh import enqueue, mesh, release

# A step that takes a while, so that the kill always finds runs at work; crossing a commit each half second.
SLOW = (sys.executable, "-m", "bench.slow")


async def _held(running: Embedded, slot_like: str) -> list[Any]:
    with psycopg.connect(running.dsn(), autocommit=True) as line:
        return line.execute(
            "SELECT id FROM agent.runs WHERE status = 'running' AND lease_owner LIKE %s", (slot_like,)
        ).fetchall()


async def _taken_after(running: Embedded, runs: list[Any], since: Any) -> list[float]:
    """Seconds from the kill to the next claim of each run; waits until all are claimed again."""
    while True:
        with psycopg.connect(running.dsn(), autocommit=True) as line:
            rows = line.execute(
                "SELECT extract(epoch FROM min(at) - %s::timestamptz) FROM agent.run_events"
                " WHERE run_id = ANY (%s) AND type = 'run.claimed' AND at > %s GROUP BY run_id",
                (since, [run for (run,) in runs], since),
            ).fetchall()
        if len(rows) == len(runs):
            return [float(row[0]) for row in rows]
        await asyncio.sleep(0.1)


async def once(running: Embedded, *, restart: bool) -> float:
    """The longest rest of a run after one SIGKILL."""
    await asyncio.to_thread(enqueue, running, 8)
    release(running)
    await asyncio.sleep(3.0)
    with psycopg.connect(running.dsn(), autocommit=True) as line:
        owner = line.execute(
            "SELECT split_part(lease_owner, ':', 1), count(*) FROM agent.runs WHERE status = 'running'"
            " GROUP BY 1 ORDER BY 2 DESC"
        ).fetchall()
    slots = {_slot_of(running, name): name for name in ("worker", "worker-2")}
    slot = max((row for row in owner if row[0] in slots), key=lambda row: row[1])[0]
    victim = slots[slot]
    runs = await _held(running, f"{slot}:%")
    if not runs:
        raise RuntimeError("the worker held nothing when it was killed")
    with psycopg.connect(running.dsn(), autocommit=True) as line:
        row = line.execute("SELECT clock_timestamp()").fetchone()
    assert row is not None
    await running.kill(victim)
    if restart:
        await running.start(victim)
    longest = max(await _taken_after(running, runs, row[0]))
    if not restart:
        await running.start(victim)
    with psycopg.connect(running.dsn(), autocommit=True) as line:
        while True:
            left = line.execute(
                "SELECT count(*) FROM agent.runs WHERE status IN ('queued','running')"
            ).fetchone()
            if left and left[0] == 0:
                break
            await asyncio.sleep(0.2)
        bad = line.execute("SELECT count(*) FROM agent.runs WHERE status <> 'succeeded'").fetchone()
    if bad and bad[0]:
        raise RuntimeError(f"{bad[0]} runs were lost to a SIGKILL")
    return longest


def _slot_of(running: Embedded, name: str) -> str:
    """The slot of a child, by the environment of its process."""
    with open(f"/proc/{running.pid(name)}/environ", "rb") as file:  # noqa: PTH123
        told = dict(part.partition(b"=")[::2] for part in file.read().split(b"\0"))
    return told[b"FENCEPOST_WORKER_SLOT"].decode()


async def run(quick: bool) -> dict[str, Any]:
    repeats = 2 if quick else 5
    found: dict[str, Any] = {}
    services = ["gateway", "reconciler", "worker"]
    commands = {**COMMANDS, "worker": SLOW}
    async with mesh(services, commands=commands, env={"FENCEPOST_WORKER_CONCURRENCY": "8"}) as running:
        await running.start_service("worker", "worker-2")
        await asyncio.sleep(6)
        for name, restart in (("another worker takes over", False), ("restarted in place", True)):
            times = [await once(running, restart=restart) for _ in range(repeats)]
            found[name] = {"median_s": statistics.median(times), "longest_s": max(times), "n": repeats}
    return found

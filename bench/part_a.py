"""(a) Drained runs a second and CPU seconds per 1,000 runs, by worker processes; what (b) is made of."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg
from fencepost_cli.embedded.supervisor import Embedded

from bench import floor
from bench.approve import approve_all
from bench.measure import cpu_seconds, postgres_cpu_seconds, server_counts, spread
from bench.mesh import drained, enqueue, mesh, reckoned, release, statements_counted

ASKS = "remind me tomorrow at 9 to call mom"


async def workers(running: Embedded, count: int) -> list[int]:
    """That many worker processes; their pids."""
    names = ["worker", *(f"worker-{n}" for n in range(2, count + 1))]
    for name in names:
        if name not in running.children:
            await running.start_service("worker", name)
    return [pid for name in names if (pid := running.pid(name))]


async def once(running: Embedded, pids: Sequence[int], runs: int, text: str, module: str) -> dict[str, float]:
    """Enqueue, let go, wait until all is done: one repeat."""
    await asyncio.to_thread(enqueue, running, runs, text, module)
    await asyncio.sleep(0.5)
    server = running.pid("postgres") or 0
    before = cpu_seconds(pids), postgres_cpu_seconds(server), server_counts(running.dsn())
    release(running)
    seconds, statuses = await drained(running, runs)
    told = {k: v / runs for k, v in server_counts(running.dsn()).since(before[2]).items()}
    if statuses.get("succeeded") != runs:
        raise RuntimeError(f"not every run succeeded: {statuses}")
    return {
        "per_second": runs / seconds,
        "worker_cpu": (cpu_seconds(pids) - before[0]) / runs * 1000,
        "postgres_cpu": (postgres_cpu_seconds(server) - before[1]) / runs * 1000,
        **told,
    }


def together(repeats: list[dict[str, float]]) -> dict[str, Any]:
    """Each figure's median; the rate's range beside it."""
    told = {name: spread([one[name] for one in repeats])["median"] for name in repeats[0]}
    return {**told, "range": spread([one["per_second"] for one in repeats])}


async def throughput(
    graph: str, text: str, counts: Sequence[int], runs: int, repeats: int, slots: int = 16
) -> dict[str, Any]:
    """graph: `five`, or `core` for the product's own. slots: runs at a time in each worker."""
    env = {"FENCEPOST_WORKER_CONCURRENCY": str(slots)}
    told: dict[str, Any] = {}
    for count in counts:
        module = "life" if graph == "five" else "companion"
        async with mesh(["gateway", "reconciler"], five=graph == "five", env=env) as running:
            await statements_counted(running)
            pids = await workers(running, count)
            await once(
                running, pids, runs // 4, text, module
            )  # connections, caches and plans are warm after this
            name = f"{count} worker{'s' if count > 1 else ''}"
            told[name] = together([await once(running, pids, runs, text, module) for _ in range(repeats)])
            told[name]["after the load"] = await reckoned(running, runs // 4 + runs * repeats)
    return told


def told_to(running: Embedded, what: signal.Signals) -> None:
    """SIGSTOP or SIGCONT to all our services: they cost nothing while the floor is measured."""
    for name in running.children:
        pid = running.pid(name)
        if pid and name != "postgres":
            os.kill(pid, what)


async def in_turns(count: int, runs: int, repeats: int, slots: int = 16) -> dict[str, Any]:
    """`five` and the floor in turns on one server, in one minute each: what their ratio is made of."""
    env = {"FENCEPOST_WORKER_CONCURRENCY": str(slots)}
    async with mesh(["gateway", "reconciler"], five=True, env=env) as running:
        await statements_counted(running)
        with psycopg.connect(running.dsn(), autocommit=True) as line:
            line.execute(floor.SCHEMA)
        pids = await workers(running, count)
        await once(running, pids, runs // 4, "hello", "life")
        fives, floors = [], []
        for n in range(repeats):
            told_to(running, signal.SIGSTOP)
            floors.append(await _floor_once(running, running.dsn(), count, runs, n * 1_000_000))
            told_to(running, signal.SIGCONT)
            await asyncio.sleep(3.0)  # beats and registrations are current again
            fives.append(await once(running, pids, runs, "hello", "life"))
        shares = [one["per_second"] / base["per_second"] for one, base in zip(fives, floors, strict=True)]
        cpu = [_cpu(base) / _cpu(one) for one, base in zip(fives, floors, strict=True)]
        return {
            "floor": together(floors),
            "five": together(fives),
            "share of the floor": spread(shares),
            "share by CPU": spread(cpu),
            "after the load": await reckoned(running, runs // 4 + runs * repeats),
        }


def _cpu(one: dict[str, float]) -> float:
    return one["worker_cpu"] + one["postgres_cpu"]


async def approved(count: int, runs: int) -> dict[str, Any]:
    """single_action: asks, is approved through the API by 16 clients, does it, ends."""
    async with mesh(["gateway", "reconciler", "api"]) as running:
        pids = await workers(running, count)
        await asyncio.to_thread(enqueue, running, runs, ASKS)
        server = running.pid("postgres") or 0
        others = [pid for name in ("api", "gateway", "reconciler") if (pid := running.pid(name))]
        before = cpu_seconds(pids), postgres_cpu_seconds(server), cpu_seconds(others)
        release(running)
        approving = asyncio.create_task(approve_all(running, runs))
        await approving
        seconds, statuses = await drained(running, runs)
        if statuses.get("succeeded") != runs:
            raise RuntimeError(f"not every run succeeded: {statuses}")
        return {
            "per_second": runs / seconds,
            "worker_cpu": (cpu_seconds(pids) - before[0]) / runs * 1000,
            "postgres_cpu": (postgres_cpu_seconds(server) - before[1]) / runs * 1000,
            "others_cpu": (cpu_seconds(others) - before[2]) / runs * 1000,
            "after the load": await reckoned(running, runs, effects=1),
        }


async def asyncio_floor(count: int, runs: int, repeats: int) -> dict[str, Any]:
    """bench.floor in `count` processes against a server with the same settings."""
    async with mesh([]) as running:
        with psycopg.connect(running.dsn(), autocommit=True) as line:
            line.execute(floor.SCHEMA)
        dsn = running.dsn()
        return together([await _floor_once(running, dsn, count, runs, n * 1_000_000) for n in range(repeats)])


async def _floor_once(running: Embedded, dsn: str, count: int, runs: int, first: int) -> dict[str, float]:
    server = running.pid("postgres") or 0
    with psycopg.connect(dsn, autocommit=True) as line:
        line.execute(floor.ENQUEUE, (first + 1, first + runs))
        processes = [
            await asyncio.create_subprocess_exec(sys.executable, "-m", "bench.floor", dsn, "run", "3")
            for _ in range(count)
        ]
        pids = [process.pid for process in processes]
        await asyncio.sleep(1.0)
        before = cpu_seconds(pids), postgres_cpu_seconds(server), server_counts(dsn)
        line.execute(floor.RELEASE)
        cpu = [0.0, 0.0]
        while True:
            await asyncio.sleep(0.1)
            row = line.execute("SELECT count(*) FROM floor.runs WHERE status <> 'succeeded'").fetchone()
            if row and row[0] == 0:
                cpu = [cpu_seconds(pids) - before[0], postgres_cpu_seconds(server) - before[1]]
                break
        told = server_counts(dsn).since(before[2])
        row = line.execute(
            "SELECT extract(epoch FROM max(finished_at) - min(started_at)) FROM floor.runs WHERE id > %s",
            (first,),
        ).fetchone()
        await asyncio.gather(*(process.wait() for process in processes))
    assert row is not None
    return {
        "per_second": runs / float(row[0]),
        "worker_cpu": cpu[0] / runs * 1000,
        "postgres_cpu": cpu[1] / runs * 1000,
        **{name: value / runs for name, value in told.items()},
    }


PGBENCH = {
    "five durable steps": "\n".join(
        [
            "\\set id random(1, 1000000000)",
            "INSERT INTO floor.runs (id, input, status, owner, revision, lease_until)"
            " VALUES (:id::bigint * 1000 + :client_id, '{}', 'running', 'p', 1, clock_timestamp()"
            " + interval '1 minute');",
            *(
                "WITH held AS MATERIALIZED (SELECT id FROM floor.runs"
                " WHERE id = :id::bigint * 1000 + :client_id AND status = 'running' AND owner = 'p'"
                " AND revision = 1 AND lease_until > clock_timestamp() FOR NO KEY UPDATE)"
                f" INSERT INTO floor.steps SELECT id, {n}, '\\x00' FROM held;"
                for n in range(1, 6)
            ),
        ]
    ),
}


async def pgbench(seconds: int = 8) -> dict[str, Any]:
    """The floor's statements from C, without Python: what the server could do. Empty without pgbench."""
    binary = shutil.which("pgbench")
    if binary is None:
        return {}
    told: dict[str, Any] = {}
    async with mesh([]) as running:
        with psycopg.connect(running.dsn(), autocommit=True) as line:
            line.execute(floor.SCHEMA)
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "five.sql"
            script.write_text(PGBENCH["five durable steps"])
            for clients in (4, 16):
                done = await asyncio.to_thread(
                    subprocess.run,
                    [binary, "-n", "-M", "prepared", "-c", str(clients), "-j", "2", "-T", str(seconds),
                     "-f", str(script), running.dsn()],
                    capture_output=True, text=True, check=False,
                )  # fmt: skip
                rate = [line for line in done.stdout.splitlines() if line.startswith("tps")]
                told[f"{clients} clients"] = float(rate[0].split()[2]) if rate else done.stderr[-300:]
    return told


PROCESSES = (1, 2, 4)


async def run(quick: bool) -> dict[str, Any]:
    runs, repeats = (600, 1) if quick else (1_000, 2)
    counts = PROCESSES[:2] if quick else PROCESSES
    return {
        "direct": await throughput("core", "hello", counts, runs, repeats),
        "five durable steps": await throughput("five", "hello", counts, runs, repeats),
        "single_action": {f"{n} worker{'s' if n > 1 else ''}": await approved(n, runs // 4) for n in counts},
    }

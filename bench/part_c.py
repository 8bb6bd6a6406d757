"""(c) The fenced saver against the stock one on the same graph: see bench.savers."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
from pathlib import Path
from typing import Any

from fencepost_cli.embedded.supervisor import Embedded

from bench.mesh import ROOT, enqueue, mesh, statements_counted

EXTRA = Path(ROOT) / ".fencepost" / "bench-lib"
STOCK = "langgraph-checkpoint-postgres"


def install_stock() -> None:
    """The stock saver and nothing it needs besides, in a folder of the bench's own."""
    if not (EXTRA / "langgraph" / "checkpoint" / "postgres").exists():
        uv = Path(sys.executable).parent / "uv"
        command = f'"{uv}" pip install --quiet --no-deps --target "{EXTRA}" {STOCK} psycopg-pool'
        if os.system(command):
            raise RuntimeError(f"{STOCK} can't be installed")


async def measured(saver: str, runs: int, processes: int = 1) -> dict[str, float]:
    """Rates of several processes are added; what the server counted is of all, so it is told of one only."""
    async with mesh([]) as running:
        await statements_counted(running)
        if saver.startswith("fenced"):
            await asyncio.to_thread(enqueue, running, runs * processes)
        found = await asyncio.gather(*(_one(running, saver, runs) for _ in range(processes)))
        rate = sum(one["per_second"] for one in found)
        return {"per_second": rate} if processes > 1 else found[0]


async def _one(running: Embedded, saver: str, runs: int) -> dict[str, float]:
    extra = [str(EXTRA)] if saver == "stock" else []
    path = os.pathsep.join([ROOT, *filter(None, [os.environ.get("PYTHONPATH")]), *extra])
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.savers", saver, str(runs), running.dsn("worker"), running.dsn()),
        env={**os.environ, "PYTHONPATH": path},
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError(f"{saver} failed")
    found: dict[str, float] = json.loads(out.splitlines()[-1])
    return found


async def run(quick: bool) -> dict[str, Any]:
    install_stock()
    runs, repeats = (500, 1) if quick else (1_500, 2)
    found: dict[str, list[dict[str, float]]] = {}
    for _ in range(repeats):
        for saver in (
            "fenced",
            "stock",
            "fenced-ainvoke",
            "memory",
            "none",
        ):  # interleaved: each repeat sees the same machine
            found.setdefault(saver, []).append(await measured(saver, runs if saver != "stock" else runs // 2))
        for saver in ("fenced", "stock"):
            one = await measured(saver, runs if saver != "stock" else runs // 2, 2)
            found.setdefault(f"{saver}, 2 processes", []).append(one)
    told: dict[str, Any] = {
        saver: {key: statistics.median(one[key] for one in repeats_) for key in repeats_[0]}
        for saver, repeats_ in found.items()
    }
    told["fenced to stock"] = {
        "runs/s": told["fenced"]["per_second"] / told["stock"]["per_second"],
        "runs/s, 2 processes": told["fenced, 2 processes"]["per_second"]
        / told["stock, 2 processes"]["per_second"],
        "client CPU": told["stock"]["client_cpu"] / told["fenced"]["client_cpu"],
        "statements": told["stock"]["statements"] / told["fenced"]["statements"],
        "WAL": told["stock"]["wal_bytes"] / told["fenced"]["wal_bytes"],
    }
    return told

"""(j), peers that bring a server of their own instead of Postgres: Restate (from npm) and LangGraph's dev server.

Both begin as soon as the first run is handed in, so enqueueing is part of their time. A run counts when its last
step has been done: it adds a byte to a file.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import httpx

from bench.measure import children, cpu_seconds
from bench.mesh import ROOT

HOME = Path(ROOT) / ".fencepost" / "bench-peers-own"
SCRIPTS = Path(ROOT) / "bench" / "peers"
PACKAGES = ("langgraph-cli[inmem]", "langgraph-sdk", "restate-sdk", "hypercorn", "httpx")
SERVER = "@restatedev/restate-server"
READY_SECONDS = 60.0


async def install() -> None:
    """Python packages, and Restate's server where npm is at hand."""
    uv = str(Path(sys.executable).parent / "uv")
    if not (HOME / "bin" / "python").exists():
        await _done(uv, "venv", "--quiet", str(HOME))
        await _done(uv, "pip", "install", "--quiet", "--python", str(HOME / "bin" / "python"), *PACKAGES)
    if shutil.which("npm") and not _restate().exists():
        await _done("npm", "install", "--silent", "--no-fund", "--prefix", str(HOME), SERVER)


def _restate() -> Path:
    return HOME / "node_modules" / ".bin" / "restate-server"


async def restate(runs: int) -> dict[str, float]:
    """Two endpoint processes, one server; journal on disk, default settings."""
    async with _Place() as place:
        admin, ingress, node, endpoint = _ports(4)
        listens = {
            "RESTATE_ADMIN__BIND_ADDRESS": f"127.0.0.1:{admin}",
            "RESTATE_INGRESS__BIND_ADDRESS": f"127.0.0.1:{ingress}",
            "RESTATE_BIND_ADDRESS": f"127.0.0.1:{node}",
        }
        base = str(place.folder / "restate")
        server = await place.start(str(_restate()), "--no-logo", "--base-dir", base, env=listens)
        workers = await place.start(
            str(HOME / "bin" / "hypercorn"), "-w", "2", "-b", f"127.0.0.1:{endpoint}", "restate_five:app"
        )
        await _answers(f"http://127.0.0.1:{admin}/health")
        await _answers(f"http://127.0.0.1:{ingress}/restate/health")
        await _registered(f"http://127.0.0.1:{admin}", f"http://127.0.0.1:{endpoint}")
        enqueue = ("restate_enqueue.py", f"http://127.0.0.1:{ingress}", str(runs))
        return await place.drained(enqueue, runs, workers, server)


async def langgraph_dev(runs: int) -> dict[str, float]:
    """One process, ten jobs at a time, in memory: nothing is durable."""
    async with _Place() as place:
        (port,) = _ports(1)
        shutil.copytree(SCRIPTS / "langgraph_dev", place.folder / "graph")  # it keeps files beside its config
        server = await place.start(
            *(
                str(HOME / "bin" / "langgraph"),
                "dev",
                "--no-browser",
                "--no-reload",
                "--allow-blocking",
                "--port",
                str(port),
            ),
            *("--n-jobs-per-worker", "10", "--config", str(place.folder / "graph" / "langgraph.json")),
            folder=place.folder / "graph",
        )
        await _answers(f"http://127.0.0.1:{port}/ok")
        enqueue = ("langgraph_enqueue.py", f"http://127.0.0.1:{port}", str(runs))
        return await place.drained(enqueue, runs, server, None)


PEERS = {"Restate (own log)": restate, "LangGraph dev server (in memory, nothing durable)": langgraph_dev}


class _Place:
    """A folder, the processes started in it, and the count of what is done; all gone afterwards."""

    async def __aenter__(self) -> _Place:
        self._stack = AsyncExitStack()
        self.folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        self.count = self.folder / "done"
        self.count.touch()
        return self

    async def __aexit__(self, *gone: object) -> None:
        await self._stack.aclose()

    async def start(
        self, *command: str, env: Mapping[str, str] | None = None, folder: Path | None = None
    ) -> int:
        """The process's id. It is killed with its group in the end."""
        return (await self._stack.enter_async_context(_running(command, self._env(env), folder))).pid

    def _env(self, more: Mapping[str, str] | None) -> dict[str, str]:
        return {
            **os.environ,
            "FIVE_DONE": str(self.count),
            "PYTHONPATH": str(SCRIPTS),
            "LANGSMITH_TRACING": "false",
            "DO_NOT_TRACK": "1",
            **(more or {}),
        }

    async def drained(
        self, enqueue: Sequence[str], runs: int, workers: int, server: int | None
    ) -> dict[str, float]:
        """The rate of the middle 80 %, CPU seconds per 1,000 of the workers and of the peer's own server."""
        script, *given = enqueue
        begun = await asyncio.create_subprocess_exec(
            str(HOME / "bin" / "python"), str(SCRIPTS / script), *given, env=self._env(None)
        )
        seen: list[tuple[float, int, float, float]] = []
        ends = time.monotonic() + 240
        while time.monotonic() < ends and (not seen or seen[-1][1] < runs):
            own = cpu_seconds(_tree(server)) if server else 0.0
            done = self.count.stat().st_size
            seen.append((time.monotonic(), done, cpu_seconds(_tree(workers)), own))
            await asyncio.sleep(0.05)
        if await begun.wait():
            raise RuntimeError(f"{script} failed")
        first = next(one for one in seen if one[1] >= runs * 0.1)
        last = next(one for one in seen if one[1] >= runs * 0.9)
        done = last[1] - first[1]
        return {
            "per_second": done / (last[0] - first[0]),
            "worker_cpu": (last[2] - first[2]) / done * 1000,
            "own_server_cpu": (last[3] - first[3]) / done * 1000,
        }


@asynccontextmanager
async def _running(
    command: Sequence[str], env: Mapping[str, str], folder: Path | None
) -> AsyncIterator[asyncio.subprocess.Process]:
    nothing = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        *command, env=env, cwd=folder, start_new_session=True, stdout=nothing, stderr=nothing
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        await process.wait()


async def _done(*command: str) -> None:
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.DEVNULL)
    if await process.wait():
        raise RuntimeError(f"{command} failed")


async def _answers(url: str) -> None:
    ends = time.monotonic() + READY_SECONDS
    async with httpx.AsyncClient(timeout=2) as client:
        while True:
            try:
                if (await client.get(url)).is_success:
                    return
            except httpx.HTTPError:
                pass
            if time.monotonic() > ends:
                raise TimeoutError(f"{url} doesn't answer")
            await asyncio.sleep(0.2)


async def _registered(admin: str, endpoint: str) -> None:
    ends = time.monotonic() + READY_SECONDS
    async with httpx.AsyncClient(timeout=30) as client:
        while not (await client.post(f"{admin}/deployments", json={"uri": endpoint})).is_success:
            if time.monotonic() > ends:
                raise TimeoutError("the endpoint can't be registered")
            await asyncio.sleep(0.5)


def _tree(pid: int) -> list[int]:
    """A process with all that it started."""
    found, left = [], [pid]
    while left:
        one = left.pop()
        found.append(one)
        try:
            left += children(one)
        except OSError:
            continue
    return found


def _ports(count: int) -> list[int]:
    """Free ones, all held at once so that they differ."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports

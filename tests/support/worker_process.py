"""A worker for tests: in this process, or as a real one that can be stopped and killed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from fencepost_runtime.settings import WorkerSettings

from tests.support.postgres import Database
from tests.support.scripted_gateway import SECRET


def secret_file() -> Path:
    path = Path(tempfile.gettempdir()) / f"fencepost-test-secret-{os.getpid()}"
    if not path.exists():
        path.write_text(SECRET)
        path.chmod(0o600)
    return path


def worker_settings(database: Database, gateway_url: str, **more: Any) -> WorkerSettings:
    """Quick settings: short scans, no wake-ups; a lease of 2 s unless the test says otherwise."""
    fields: dict[str, Any] = {
        "database_url": database.dsn("worker"),
        "worker_slot": f"slot-{uuid4().hex[:8]}",
        "worker_modules": ("life",),
        "gateway_url": gateway_url,
        "service_secret_file": secret_file(),
        "wake": "none",
        "scan_seconds": 0.05,
        "lease_seconds": 2.0,
        "beat_seconds": 0.5,
        "worker_drain_seconds": 3.0,
        "database_pool_size": 4,
    }
    return WorkerSettings(**{**fields, **more})


@asynccontextmanager
async def working(database: Database, gateway_url: str, **more: Any) -> AsyncIterator[asyncio.Event]:
    """A worker in this loop until the block ends; then it drains. Yields its stop event."""
    from fencepost_worker.main import serve

    stop = asyncio.Event()
    task = asyncio.ensure_future(serve(worker_settings(database, gateway_url, **more), stop))
    try:
        yield stop
    finally:
        stop.set()
        await task


@dataclass(slots=True)
class WorkerProcess:
    """A worker as its own process, with failpoints in `failpoints`."""

    process: asyncio.subprocess.Process
    failpoints: Path
    log: Path
    slot: str
    lines: list[str] = field(default_factory=list)

    @property
    def pid(self) -> int:
        return self.process.pid

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    async def end(self) -> None:
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        await self.process.wait()


@asynccontextmanager
async def worker_process(
    database: Database, gateway_url: str, folder: Path, *, slot: str | None = None, **more: str
) -> AsyncIterator[WorkerProcess]:
    slot = slot or f"slot-{uuid4().hex[:8]}"
    failpoints = folder / "failpoints"
    failpoints.mkdir(parents=True, exist_ok=True)
    log = folder / f"{slot}.log"
    environment = {
        **os.environ,
        "FENCEPOST_WORKER_DATABASE_URL": database.dsn("worker"),
        "FENCEPOST_WORKER_SLOT": slot,
        "FENCEPOST_WORKER_MODULES": "life",
        "FENCEPOST_GATEWAY_URL": gateway_url,
        "FENCEPOST_SERVICE_SECRET_FILE": str(secret_file()),
        "FENCEPOST_WAKE": "none",
        "FENCEPOST_SCAN_SECONDS": "0.05",
        "FENCEPOST_LEASE_SECONDS": "2",
        "FENCEPOST_BEAT_SECONDS": "0.5",
        "FENCEPOST_FAILPOINT_DIR": str(failpoints),
        **{f"FENCEPOST_{name.upper()}": value for name, value in more.items()},
    }
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "fencepost_worker.main", env=environment, stdout=output, stderr=output
        )
    worker = WorkerProcess(process, failpoints, log, slot)
    try:
        yield worker
    finally:
        await worker.end()

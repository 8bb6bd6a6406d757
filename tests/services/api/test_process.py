"""The api as a process: started from its environment, stopped at once by a signal though streams are open."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from tests.support.api import Served, Signer, a_key, saying, streaming
from tests.support.eventually import eventually
from tests.support.lives import TENANT, Lives
from tests.support.postgres import Database


@asynccontextmanager
async def running(
    database: Database, folder: Path, **more: str
) -> AsyncIterator[tuple[str, asyncio.subprocess.Process]]:
    """Its address and process; killed at the end of the block if it still runs."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    env = {
        "PATH": os.environ["PATH"],
        "FENCEPOST_API_DATABASE_URL": database.dsn("api"),
        "FENCEPOST_API_PORT": str(port),
        "FENCEPOST_JWT_KEY_FILE": str(folder / "jwt-public.json"),
        **more,
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "fencepost_api.main", env=env, stderr=asyncio.subprocess.PIPE
    )
    try:
        yield f"http://127.0.0.1:{port}", process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def answers(base: str) -> bool:
    async with httpx.AsyncClient(base_url=base, trust_env=False) as client:
        try:
            return (await client.get("/readyz")).status_code == 200
        except httpx.TransportError:
            return False


async def test_sigterm_ends_open_streams_and_the_process(
    database: Database, lives: Lives, tmp_path: Path
) -> None:
    signer = Signer(tmp_path)
    async with running(database, tmp_path) as (base, process):
        await eventually(lambda: answers(base), timeout=30)
        bearer = {"Authorization": f"Bearer {signer.token(tenant=TENANT)}"}
        async with httpx.AsyncClient(base_url=base, headers=bearer, trust_env=False) as ann:
            made = await ann.post("/v1/runs", json=saying(), headers=a_key())
            path = f"/v1/runs/{made.json()['id']}/stream"
            async with streaming(ann, path) as stream, streaming(ann, "/v1/feed") as feed:
                await stream.next()
                asked = time.monotonic()
                process.send_signal(signal.SIGTERM)
                assert await stream.rest() == [] and await feed.rest(timeout=3) == []
                ended = time.monotonic() - asked
            assert await asyncio.wait_for(process.wait(), 30) == 0
        assert ended < 2.0 and time.monotonic() - asked < 4.0


async def test_i02_killed_after_commit_the_client_repeats_and_gets_its_run(
    database: Database, lives: Lives, tmp_path: Path
) -> None:
    signer = Signer(tmp_path)
    points = tmp_path / "failpoints"
    points.mkdir()
    (points / "api.create.before_response").write_text("kill")
    bearer = {"Authorization": f"Bearer {signer.token(tenant=TENANT)}", "Idempotency-Key": "k"}
    async with running(database, tmp_path, FENCEPOST_FAILPOINT_DIR=str(points)) as (base, process):
        await eventually(lambda: answers(base), timeout=30)
        async with httpx.AsyncClient(base_url=base, headers=bearer, trust_env=False) as ann:
            with pytest.raises(httpx.TransportError):
                await ann.post("/v1/runs", json=saying())
        assert await asyncio.wait_for(process.wait(), 30) == -signal.SIGKILL
    async with running(database, tmp_path) as (base, _):
        await eventually(lambda: answers(base), timeout=30)
        async with httpx.AsyncClient(base_url=base, headers=bearer, trust_env=False) as ann:
            again = await ann.post("/v1/runs", json=saying())
    assert (again.status_code, again.headers["idempotent-replayed"]) == (201, "true")
    assert len(await lives.sql("SELECT 1 AS one FROM agent.runs")) == 1


async def test_a_missing_key_file_is_a_plain_word_and_no_restart_loop(
    database: Database, tmp_path: Path
) -> None:
    async with running(database, tmp_path) as (_, process):
        _, printed = await asyncio.wait_for(process.communicate(), 20)
    assert process.returncode == 78
    assert b"jwt-public.json" in printed and b"Traceback" not in printed


async def test_pg5c_clients_that_hang_up_leave_no_transaction_open(served: Served, lives: Lives) -> None:
    """100 requests given up in the middle: nothing idle in transaction, and the pool is whole."""
    run_id = await lives.queued()

    async def give_up(n: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        token = served.signer.token()
        path = f"/v1/runs/{run_id}" if n % 2 else f"/v1/runs/{run_id}/stream"
        writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        await writer.drain()
        if n % 3 == 0:
            await reader.read(1)
        writer.transport.abort()

    await asyncio.gather(*(give_up(n) for n in range(100)))

    async def whole() -> bool:
        stuck = await lives.sql(
            "SELECT 1 AS one FROM pg_stat_activity WHERE usename = 'fencepost_api' "
            "AND datname = current_database() AND state LIKE 'idle in transaction%%'"
        )
        return stuck == [] and served.api.store.engine.pool.checkedout() == 0  # type: ignore[attr-defined]

    await eventually(whole)
    assert await eventually(lambda: not served.api.runs.watches)
    assert (await served.as_().get(f"/v1/runs/{run_id}")).status_code == 200

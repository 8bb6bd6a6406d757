"""PgBouncer in transaction mode before a test's database (Debian: pgbouncer): few connections, shared."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

from tests.support.eventually import eventually

SERVER_CONNECTIONS = 2  # fewer than any service opens: transactions really share them


def program() -> str | None:
    return shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")


@asynccontextmanager
async def pooled(dsn: str, folder: Path) -> AsyncIterator[str]:
    """The DSN of the same database and role by way of a pooler; `program()` must have found one."""
    found = program()
    assert found is not None
    parts, port = urlsplit(dsn), _free_port()
    config = folder / "pgbouncer.ini"
    config.write_text(_config(dsn, port))
    config.chmod(0o644)
    account = ["-u", "nobody"] if os.getuid() == 0 else []  # it refuses root, as Postgres does
    process = await asyncio.create_subprocess_exec(
        *(found, "-q", *account, str(config)),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        await eventually(lambda: _answers(port))
        login = parts.netloc.rpartition("@")[0]
        yield urlunsplit(parts._replace(netloc=f"{login}@127.0.0.1:{port}", query="sslmode=disable"))
    finally:
        process.kill()
        await process.wait()


def _config(dsn: str, port: int) -> str:
    parts = urlsplit(dsn)
    database = parts.path.lstrip("/")
    where = f"host={parts.hostname} port={parts.port or 5432} dbname={database}"
    who = f"user={unquote(parts.username or '')} password={unquote(parts.password or '')}"
    return "\n".join([
        "[databases]", f"{database} = {where} {who}",
        "[pgbouncer]", "listen_addr = 127.0.0.1", f"listen_port = {port}", "auth_type = any",
        "pool_mode = transaction", f"default_pool_size = {SERVER_CONNECTIONS}", "unix_socket_dir =",
        "ignore_startup_parameters = extra_float_digits", "server_reset_query =", "",
    ])  # fmt: skip


async def _answers(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])

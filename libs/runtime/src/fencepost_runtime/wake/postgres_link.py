"""One raw connection to Postgres for NOTIFY or LISTEN, that no black hole can hold.

psycopg's own cancel waits for the server, so a time-out around `execute` on a dead network takes far
longer than it says (tried: 11 s for 1 s). We shut the socket instead: whatever waits on it fails at once.
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, LiteralString

import psycopg

CONNECT_SECONDS: Final = 5
STATEMENT_SECONDS: Final = 3.0  # NOTIFY, LISTEN and a probe take a millisecond

# Both ends of a cut line learn of it: the kernel gives up on unanswered bytes and on a silent peer.
_SOCKET_OPTIONS: Final[dict[str, Any]] = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "tcp_user_timeout": 10_000,
}

Connection = psycopg.AsyncConnection[tuple[Any, ...]]


async def connect(url: str, application: str) -> Connection:
    """Autocommit: a NOTIFY is sent at commit, and LISTEN must not sit in a transaction.

    Raises psycopg.OperationalError or TimeoutError.
    """
    async with asyncio.timeout(CONNECT_SECONDS):
        return await psycopg.AsyncConnection.connect(
            url.replace("postgresql+psycopg://", "postgresql://", 1),
            autocommit=True,
            application_name=application,
            prepare_threshold=None,  # a transaction pooler would lose prepared statements
            **_SOCKET_OPTIONS,
        )


async def run(connection: Connection, statement: LiteralString | Any, *values: Any) -> list[tuple[Any, ...]]:
    """Execute within STATEMENT_SECONDS or lose the connection. Raises psycopg.OperationalError."""
    async with cut_after(connection, STATEMENT_SECONDS):
        cursor = await connection.execute(statement, values or None)
        return await cursor.fetchall() if cursor.description else []


@asynccontextmanager
async def cut_after(connection: Connection, seconds: float) -> AsyncIterator[None]:
    watchdog = asyncio.get_running_loop().call_later(seconds, cut, connection)
    try:
        yield
    finally:
        watchdog.cancel()


def cut(connection: Connection) -> None:
    """Shut the socket in both directions, at once, without a word to the server."""
    if connection.closed:
        return
    with suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as sock:
        sock.shutdown(socket.SHUT_RDWR)


async def drop(connection: Connection | None) -> None:
    """Close without waiting for anybody."""
    if connection is not None:
        cut(connection)
        with suppress(psycopg.Error, OSError):
            await connection.close()

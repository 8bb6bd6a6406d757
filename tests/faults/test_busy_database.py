"""A pool whose connections all hang is `unavailable`, and a line that went dead is given up by the kernel."""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator

import pytest
from fencepost_domain.errors import Unavailable
from fencepost_runtime.system import SystemIds
from fencepost_store.checkpoints import GroupConnection
from fencepost_store.engine import DEAD_LINE, make_engine
from fencepost_store.transaction import Store
from psycopg import AsyncConnection
from sqlalchemy import text

from tests.support.postgres import Database


@pytest.fixture
async def store(database: Database) -> AsyncIterator[Store]:
    store = Store(make_engine(database.dsn("worker"), size=1), SystemIds())
    yield store
    await store.close()


async def test_a_pool_without_a_free_connection_is_unavailable_and_not_a_failure_of_ours(
    store: Store,
) -> None:
    """Found by chaos: the api had answered 500 while the line to Postgres was a black hole."""
    pool = store.engine.sync_engine.pool
    pool._timeout = 0.1  # type: ignore[attr-defined]
    async with store.transaction(), store.transaction():
        with pytest.raises(Unavailable, match="busy"):
            async with store.transaction():
                pass
    async with store.transaction() as tx:
        await tx.connection.execute(text("SELECT 1"))


def silence(descriptor: int) -> tuple[int, int, int, int]:
    """What the kernel was told of this line: idle, interval, count in seconds; user time-out in ms."""
    with socket.socket(fileno=os.dup(descriptor)) as line:
        names = ("TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT", "TCP_USER_TIMEOUT")
        idle, interval, count, user = (line.getsockopt(socket.IPPROTO_TCP, getattr(socket, n)) for n in names)
    return idle, interval, count, user


async def test_every_lasting_connection_notices_a_line_that_went_dead(
    database: Database, store: Store
) -> None:
    async with store.transaction() as tx:
        raw = await tx.connection.get_raw_connection()
        driver = raw.driver_connection
        assert isinstance(driver, AsyncConnection)
        assert silence(driver.fileno()) == tuple(DEAD_LINE.values())
    writer = GroupConnection(database.dsn("worker"))
    connection = await writer._ready()
    assert silence(connection.fileno()) == tuple(DEAD_LINE.values())
    await writer.drop()

"""I07: who freezes just before COMMIT holds the run's row no longer than its role's timeout.

Found by the zombies: a list of parameters is pipelined by the driver, which ends with a Flush; Postgres then
has no idle-in-transaction timer for that session any more, and a frozen worker held its run for ever.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from fencepost_domain.errors import Unavailable
from fencepost_store.transaction import Store
from sqlalchemy import Connection, event

from tests.support.lives import Lives, living
from tests.support.postgres import Database

ROLE_TIMEOUT = 2.4
GIVES_UP = ROLE_TIMEOUT + 1.6  # seconds


async def _finalize(lives: Lives) -> Callable[[], Awaitable[object]]:
    held = await lives.claimed()
    return lambda: lives.finalize(held)


async def _ask(lives: Lives) -> Callable[[], Awaitable[object]]:
    held = await lives.claimed()
    await lives.prepared(held)
    return lambda: lives.ask(held)


async def _cancel(lives: Lives) -> Callable[[], Awaitable[object]]:
    held, _ = await lives.waiting()
    return lambda: lives.cancel(held.run.id)


async def _resolve(lives: Lives) -> Callable[[], Awaitable[object]]:
    _, interrupt_id = await lives.waiting()
    return lambda: lives.resolve(interrupt_id)


WRITES = {
    "finalize": ("worker", _finalize),
    "ask": ("worker", _ask),
    "cancel": ("api", _cancel),
    "resolve": ("api", _resolve),
}


@contextmanager
def freezing(store: Store, database: Database) -> Iterator[list[float]]:
    """Whoever comes to its COMMIT stands still until Postgres has ended its session; how long that took."""
    took: list[float] = []

    def frozen(connection: Connection) -> None:
        mine: Any = connection.connection.driver_connection
        pid, since = mine.info.backend_pid, time.monotonic()
        with psycopg.connect(database.admin, autocommit=True) as looking:
            while looking.execute("SELECT FROM pg_stat_activity WHERE pid = %s", (pid,)).rowcount:
                if time.monotonic() - since > GIVES_UP:
                    raise AssertionError("its session still holds what it locked")
                time.sleep(0.05)
        took.append(time.monotonic() - since)

    event.listen(store.engine.sync_engine, "commit", frozen)
    try:
        yield took
    finally:
        event.remove(store.engine.sync_engine, "commit", frozen)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("write", WRITES)
async def test_i07_a_writer_frozen_before_its_commit_is_ended_by_its_roles_timeout(
    database: Database, write: str
) -> None:
    role, live = WRITES[write]
    async with living(database) as lives:
        act = await live(lives)
        with freezing(getattr(lives, role), database) as took, pytest.raises(Unavailable):
            await act()
        assert took and took[0] < GIVES_UP
        assert await lives.violations() == []

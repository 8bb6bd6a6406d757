"""Races made certain: one holds a lock, the rival is seen blocked by it, and only then is it released.

Nothing here sleeps and hopes. A rival counts as arrived when Postgres itself says that it waits
(`pg_blocking_pids`), so each order of two transactions is a test of its own and happens every time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import psycopg
from fencepost_store.transaction import Tx
from sqlalchemy import text

from tests.support.eventually import eventually
from tests.support.postgres import Database

T = TypeVar("T")
LOCK_RUN = "SELECT FROM agent.runs WHERE id = %s FOR NO KEY UPDATE"
WITHIN = 1.9  # seconds; the services' lock_timeout is 2 s, and a rival that timed out raced with nobody


@dataclass(frozen=True, slots=True)
class Holder:
    """Somebody's open transaction: who is in the way."""

    database: Database
    pid: int
    stopped: list[asyncio.Task[Any]] = field(default_factory=list)

    async def blocked(self, how_many: int = 1) -> list[int]:
        """Wait until `how_many` backends wait, at least one of them for this one; their pids.

        Of several waiters for one row Postgres lets only the first wait for the holder; the others wait for
        that first one.
        """
        async with await psycopg.AsyncConnection.connect(self.database.admin, autocommit=True) as looking:

            async def waiters() -> list[int]:
                cursor = await looking.execute(_WAITERS)
                rows = await cursor.fetchall()
                direct = [pid for pid, blockers in rows if self.pid in blockers]
                return [pid for pid, _ in rows] if direct and len(rows) >= how_many else []

            return await eventually(waiters, timeout=WITHIN, every=0.002)

    async def stops(self, rival: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start the rival and return it when it waits for this holder."""
        [task] = await self.stop_all([rival])
        return task

    async def stop_all(self, rivals: Sequence[Coroutine[Any, Any, T]]) -> list[asyncio.Task[T]]:
        """Start the rivals together; return when all of them wait. A rival that ends first is an error."""
        tasks = [asyncio.ensure_future(rival) for rival in rivals]
        self.stopped.extend(tasks)
        try:
            await self.blocked(len(tasks))
        except AssertionError:
            ended = [task for task in tasks if task.done()]
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
            raise AssertionError(f"{len(ended)} of {len(tasks)} rivals were not stopped: {results}") from None
        return tasks


_WAITERS = """
SELECT pid, pg_blocking_pids(pid)
  FROM pg_stat_activity
 WHERE datname = current_database()
   AND cardinality(pg_blocking_pids(pid)) > 0
"""


async def holder_of(tx: Tx, database: Database) -> Holder:
    """A service's open transaction as the one in the way."""
    pid = (await tx.connection.execute(text("SELECT pg_backend_pid()"))).scalar_one()
    return Holder(database, pid)


@asynccontextmanager
async def holding(database: Database, lock: str = LOCK_RUN, *params: Any) -> AsyncIterator[Holder]:
    """The superuser holds what `lock` locks, until the block ends."""
    async with await psycopg.AsyncConnection.connect(database.admin) as connection:
        await connection.execute(lock, params)  # type: ignore[arg-type]
        holder = Holder(database, connection.info.backend_pid)
        try:
            yield holder
        except BaseException:
            await connection.rollback()
            await asyncio.gather(*holder.stopped, return_exceptions=True)  # nobody is left at a closed pool
            raise
        await connection.rollback()

"""Listen to Postgres: one session that LISTENs for every module, and connects again by itself.

A session is what a transaction pooler doesn't give: behind one, LISTEN succeeds and nothing is ever
heard. A pooler shows itself by the process id it told at connecting, which isn't the backend's own. If
no direct URL was set and the common one leads to a pooler, the listener says so and stays silent.
"""

import asyncio
from collections.abc import Mapping, Sequence

import psycopg
from fencepost_contracts.wake import topic_of
from psycopg import sql

from fencepost_runtime.logging import get_logger
from fencepost_runtime.wake.options import WakeOptions
from fencepost_runtime.wake.port import (
    HintHandler,
    ListenerStats,
    PoisonHandler,
    count_hint,
    count_poison,
)
from fencepost_runtime.wake.postgres_link import Connection, connect, drop, run
from fencepost_runtime.wake.reconnect import Reconnect
from fencepost_runtime.wake.wire import Unreadable, decode_batch, poison

log = get_logger(__name__)


class BehindPooler(Exception):
    """The connection has no backend of its own, so nothing would be heard on it."""


class PostgresListener:
    """Hears every module in `modules`. `run` may be called once."""

    def __init__(self, options: WakeOptions, modules: Sequence[str]) -> None:
        if not options.listen_url:
            raise ValueError("the postgres adapter needs a database URL")
        self.stats = ListenerStats()
        self._options = options
        self._url = options.listen_url
        self._modules: Mapping[str, str] = {topic_of(name, options.topic_prefix): name for name in modules}
        self._hears = asyncio.Event()
        self._is_paused = False
        self._reconnect = Reconnect("postgres listen", options.retry_at_most)

    async def run(self, on_hint: HintHandler, on_poison: PoisonHandler) -> None:
        while True:
            connection: Connection | None = None
            try:
                connection = await self._listen()
                while True:
                    await self._take(connection, on_hint, on_poison)
            except BehindPooler:
                log.warning("wake.silent", adapter="postgres", reason="FENCEPOST_DATABASE_URL is a pooler's")
                self._hears.set()  # as ready as it will be, like the adapter `none`
                await asyncio.get_running_loop().create_future()
            except (psycopg.Error, OSError, TimeoutError) as error:
                self._hears.clear()
                await self._reconnect.lost(error)
            finally:
                self._hears.clear()
                await drop(connection)

    async def ready(self) -> None:
        await self._hears.wait()

    def pause(self) -> None:
        self._is_paused = True

    def resume(self) -> None:
        self._is_paused = False

    async def _listen(self) -> Connection:
        connection = await connect(self._url, "fencepost-listen")
        try:
            if not self._options.listen_url_is_direct:
                await refuse_pooler(connection)
            for topic in self._modules:
                await run(connection, sql.SQL("LISTEN {}").format(sql.Identifier(topic)))
        except BaseException:
            await drop(connection)
            raise
        self.stats.connections += 1
        self._reconnect.connected()
        self._hears.set()
        return connection

    async def _take(self, connection: Connection, on_hint: HintHandler, on_poison: PoisonHandler) -> None:
        """Note what comes for a while, then make sure the line isn't dead: a silent one looks the same."""
        async for notice in connection.notifies(timeout=self._options.probe_every.total_seconds()):
            module = self._modules.get(notice.channel)
            if module is None or self._is_paused:
                continue  # paused hints aren't kept: the worker's next scan sees what they spoke of
            try:
                hints = decode_batch(module, notice.payload)
            except Unreadable as error:
                record = poison(notice.channel, None, None, str(error), notice.payload.encode())
                count_poison(self.stats, on_poison, record)
                continue
            for hint in hints:
                count_hint(self.stats, on_hint, hint)
        await run(connection, "SELECT 1")


async def refuse_pooler(connection: Connection) -> None:
    """Raises BehindPooler when the other end isn't a backend."""
    [(backend,)] = await run(connection, "SELECT pg_backend_pid()")
    if backend != connection.info.backend_pid:
        raise BehindPooler

"""Publish by NOTIFY: one a tick and module, outside the transaction that wrote the outbox row.

Inside it every commit in the database would queue behind one lock (measured: 3,940 instead of 13,200
creates a second). Postgres keeps nothing for those who don't listen, and that is enough for a hint.
"""

import asyncio
from collections.abc import Sequence
from itertools import chain
from typing import Final

import psycopg
from fencepost_contracts.wake import topic_of

from fencepost_runtime.logging import get_logger
from fencepost_runtime.wake.options import WakeOptions
from fencepost_runtime.wake.port import Delivered, Delivery, Unreachable, WakeMessage
from fencepost_runtime.wake.postgres_link import Connection, connect, drop, run
from fencepost_runtime.wake.wire import encode_batches

PAYLOAD_BYTES: Final = 7_900  # Postgres refuses 8,000 and more; some 200 runs

log = get_logger(__name__)


class PostgresPublisher:
    """Connects on first use and again after a loss."""

    def __init__(self, options: WakeOptions) -> None:
        if not options.listen_url:
            raise ValueError("the postgres adapter needs a database URL")
        self._options = options
        self._url = options.listen_url
        self._connection: Connection | None = None
        self._turn = asyncio.Lock()
        self._is_out = False

    async def publish(self, batch: Sequence[WakeMessage]) -> list[Delivery]:
        if not batch:
            return []
        notices = [(topic, payload) for topic, messages in self._by_topic(batch).items()
                   for payload in encode_batches(messages, PAYLOAD_BYTES)]  # fmt: skip
        async with self._turn:
            try:
                await self._notify(notices)
            except (psycopg.Error, OSError, TimeoutError) as error:
                await self._lose(error)
                return [Unreachable(type(error).__name__) for _ in batch]
        if self._is_out:
            log.info("wake.reconnected", connection="postgres notify")
        self._is_out = False
        return [Delivered() for _ in batch]

    async def close(self) -> None:
        await drop(self._connection)
        self._connection = None

    async def _notify(self, notices: Sequence[tuple[str, str]]) -> None:
        if self._connection is None or self._connection.closed:
            self._connection = await connect(self._url, "fencepost-notify")
        rows = ", ".join(["(%s, %s)"] * len(notices))
        statement = f"SELECT pg_notify(channel, payload) FROM (VALUES {rows}) AS notice (channel, payload)"  # noqa: S608
        await run(self._connection, statement, *chain.from_iterable(notices))

    async def _lose(self, error: Exception) -> None:
        if not self._is_out:
            log.warning("wake.unreachable", connection="postgres notify", error=type(error).__name__)
        self._is_out = True
        await self.close()

    def _by_topic(self, batch: Sequence[WakeMessage]) -> dict[str, list[WakeMessage]]:
        topics: dict[str, list[WakeMessage]] = {}
        for message in batch:
            topics.setdefault(topic_of(message.module, self._options.topic_prefix), []).append(message)
        return topics

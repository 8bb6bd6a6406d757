"""The one LISTEN connection of the process: what workers say while they write, and hints to look.

Lossy by design: when the connection is away, streams still get every event from the table and every
message whole. It needs a session, so it takes the direct DSN where a transaction pooler is in front.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

import psycopg
from fencepost_runtime.logging import get_logger
from fencepost_runtime.loop import wait_or_stop

from fencepost_api.streams.hub import RunHub

DELTAS: Final = "fencepost_deltas"
EVENTS: Final = "fencepost_events"  # a JSON list of run ids that were written to
RECONNECT: Final = timedelta(seconds=2)
CHECK_SECONDS: Final = 30.0  # a connection silent for so long is asked whether it lives

log = get_logger(__name__)


class Listener:
    """`connected` tells readiness that streams are quick; they are right without it."""

    def __init__(self, dsn: str, hub: RunHub) -> None:
        self.dsn, self.hub = dsn, hub
        self.connected = False

    async def run(self, stop: asyncio.Event) -> None:
        """Listen until `stop`; connect again for as long as it takes."""
        while not stop.is_set():
            listening = asyncio.create_task(self._listen())
            await _first(listening, stop)
            self.connected = False
            if not stop.is_set():
                log.warning("deltas.connection_lost", error=type(listening.exception()).__name__)
                await wait_or_stop(stop, RECONNECT)

    async def _listen(self) -> None:
        """Until the connection breaks, which raises."""
        connection = await psycopg.AsyncConnection.connect(
            self.dsn, autocommit=True, connect_timeout=5, application_name="fencepost-api-listen"
        )
        async with connection:
            await connection.execute(f"LISTEN {DELTAS}")
            await connection.execute(f"LISTEN {EVENTS}")
            self.connected = True
            while True:
                async for notice in connection.notifies(timeout=CHECK_SECONDS):
                    self.hear(notice.channel, notice.payload)
                await connection.execute("SELECT 1")

    def hear(self, channel: str, payload: str) -> None:
        """One notification. What can't be read is dropped: a delta is never worth a crash."""
        try:
            items = json.loads(payload)
            if channel == EVENTS:
                _each(items, lambda item: self.hub.touch(UUID(item)))
            else:
                _each(items, self._delta)
        except (ValueError, TypeError, KeyError, AttributeError):
            log.warning("deltas.unreadable", channel=channel)

    def _delta(self, item: Any) -> None:
        self.hub.hear(item, UUID(item["run_id"]), UUID(item["tenant_id"]))


def _each(items: Any, do: Callable[[Any], None]) -> None:
    for item in items if isinstance(items, list) else [items]:
        do(item)


async def _first(task: asyncio.Task[None], stop: asyncio.Event) -> None:
    """Wait until the task ends or `stop` is set; then the task is over, whatever it was doing."""
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait([task, stopping], return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
        task.cancel()
        await asyncio.gather(task, stopping, return_exceptions=True)

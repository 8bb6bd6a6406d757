"""Reading a run's stream: server-sent events with reconnects that lose and repeat nothing.

The wire format is parsed by httpx-sse; here are only the reconnects. After a cut the next request names
the last stored id; a 204 says that the stream was read to its end.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from typing import Final

import httpx
from httpx_sse import EventSource, ServerSentEvent

from fencepost.errors import Unreachable, check
from fencepost.views import StreamEvent, View

RECONNECTS: Final = 20  # in a row without any event between; then the api counts as unreachable
FIRST_PAUSE_SECONDS: Final = 0.05
LAST_PAUSE_SECONDS: Final = 2.0
TIMEOUT: Final = httpx.Timeout(10.0, read=45.0)  # a comment comes every 15 s


class Cursor:
    """Where a reader is, and how often it was cut since the last event."""

    def __init__(self, last_id: str | None) -> None:
        self.last_id = last_id
        self.cuts = 0
        self.ended = False

    def headers(self) -> dict[str, str]:
        base = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
        return {**base, "Last-Event-ID": self.last_id} if self.last_id else base

    def cut(self, error: Exception) -> float:
        """Seconds to wait before the next try: hardly any the first time, so that a restart isn't noticed."""
        self.cuts += 1
        if self.cuts > RECONNECTS:
            raise Unreachable("the stream was cut again and again") from error
        return min(FIRST_PAUSE_SECONDS * (1 << (self.cuts - 1)), LAST_PAUSE_SECONDS)

    def take(self, event: ServerSentEvent) -> StreamEvent | None:
        if not event.data:
            return None
        self.cuts = 0
        if event.id:
            self.last_id = event.id
        if event.event == "run.finished":
            self.ended = True
        data = json.loads(event.data)
        return StreamEvent(
            event.event, View(data if isinstance(data, dict) else {"value": data}), event.id or None
        )


def read_stream(client: httpx.Client, path: str, last_id: str | None = None) -> Iterator[StreamEvent]:
    """Events until `run.finished`, over as many connections as it takes. Raises ApiError, Unreachable."""
    cursor = Cursor(last_id)
    while not cursor.ended:
        try:
            with client.stream("GET", path, headers=cursor.headers(), timeout=TIMEOUT) as response:
                if response.status_code == httpx.codes.NO_CONTENT:
                    return
                if not response.is_success:
                    response.read()
                for sse in EventSource(check(response)).iter_sse():
                    if (event := cursor.take(sse)) is not None:
                        yield event
            pause = cursor.cut(ConnectionError("the stream ended"))
        except httpx.TransportError as error:
            pause = cursor.cut(error)
        if not cursor.ended:
            time.sleep(pause)


async def read_stream_async(
    client: httpx.AsyncClient, path: str, last_id: str | None = None
) -> AsyncIterator[StreamEvent]:
    """As read_stream, for asyncio."""
    cursor = Cursor(last_id)
    while not cursor.ended:
        try:
            async with client.stream("GET", path, headers=cursor.headers(), timeout=TIMEOUT) as response:
                if response.status_code == httpx.codes.NO_CONTENT:
                    return
                if not response.is_success:
                    await response.aread()
                async for sse in EventSource(check(response)).aiter_sse():
                    if (event := cursor.take(sse)) is not None:
                        yield event
            pause = cursor.cut(ConnectionError("the stream ended"))
        except httpx.TransportError as error:
            pause = cursor.cut(error)
        if not cursor.ended:
            await asyncio.sleep(pause)

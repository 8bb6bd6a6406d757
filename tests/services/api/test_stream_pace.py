"""Streams in time: events are not held back, whatever the silence before, behind a proxy too (case SS-3)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from uuid import UUID

import httpx
import pytest
from fencepost_api.context import Limits

from tests.support.api import Served, SseReader
from tests.support.lives import Lives
from tests.support.scripted_model import listening

CUT_AFTER = 3.0  # seconds of silence, ten heartbeats of these tests
PROXY_CUTS_AFTER = timedelta(seconds=60)  # what common proxies do to a silent stream


@asynccontextmanager
async def piping(port: int) -> AsyncIterator[int]:
    """A hop in between that passes bytes on as they come and cuts a silent connection."""

    async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(TimeoutError, ConnectionError):
            while piece := await asyncio.wait_for(reader.read(65_536), CUT_AFTER):
                writer.write(piece)
                await writer.drain()
        writer.close()

    async def hop(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", port)
        up = asyncio.ensure_future(forward(reader, back))
        try:
            await pipe(there, writer)
        finally:
            up.cancel()
            back.close()
            with suppress(ConnectionError):
                await back.wait_closed()

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(65_536):
            writer.write(piece)

    async with listening(hop) as near:
        yield near


async def told_at_once(stream: SseReader, lives: Lives, run_id: UUID) -> None:
    """The event of a commit comes before ten more heartbeats do: nothing waits to be sent with more.

    Counted in heartbeats, since seconds say how busy the machine is.
    """
    before = len(stream.comments)
    await lives.pause(run_id)
    told = await stream.next()
    assert told is not None and told.data["status"] == "paused"
    assert len(stream.comments) - before < 10


async def test_ss3_events_arrive_at_once_through_a_hop_that_cuts_silent_streams(
    served: Served, lives: Lives
) -> None:
    """Ten, one after the other; then a silence of several heartbeats; then one."""
    runs = [await lives.queued() for _ in range(11)]
    ann = served.as_()
    async with piping(ann.base_url.port or 0) as near:
        url = f"http://127.0.0.1:{near}"
        async with httpx.AsyncClient(base_url=url, headers=ann.headers, timeout=30) as client:
            for run_id in runs[:10]:
                async with client.stream("GET", f"/v1/runs/{run_id}/stream") as response:
                    stream = SseReader(response)
                    await stream.next()
                    await told_at_once(stream, lives, run_id)
            async with client.stream("GET", f"/v1/runs/{runs[10]}/stream") as response:
                stream = SseReader(response)
                await stream.next()
                with pytest.raises(TimeoutError):  # the silence is what is tested: only heartbeats pass
                    await stream.next(timeout=CUT_AFTER * 1.5)
                assert len(stream.comments) >= 3
                await told_at_once(stream, lives, runs[10])


def test_ss3_heartbeats_come_at_least_every_fifteen_seconds() -> None:
    assert Limits().ping <= timedelta(seconds=15) < PROXY_CUTS_AFTER

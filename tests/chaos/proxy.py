"""A TCP line to the database that can be cut, refused, made a black hole, or slowed."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Literal

Mode = Literal["open", "refuse", "hang"]
CHUNK = 65_536  # bytes read at once


class Line:
    """`mode` and `delay` hold for every byte from now on. `port` is where callers connect."""

    def __init__(self, target: Callable[[], tuple[str, int] | None]) -> None:
        """target: asked for each connection, since the server may not be there yet."""
        self._target = target
        self._open = asyncio.Event()
        self._open.set()
        self._ends: set[asyncio.StreamWriter] = set()
        self._serving: set[asyncio.Task[None]] = set()
        self.mode: Mode = "open"
        self.delay = 0.0
        self.port = 0

    def set(self, mode: Mode) -> None:
        """hang: what was sent is lost in the air; connections stand, and nobody is told."""
        self.mode = mode
        (self._open.clear if mode == "hang" else self._open.set)()
        if mode == "refuse":
            self.cut()

    def cut(self) -> None:
        """Every connection ends with a reset, at whatever byte it was."""
        for end in list(self._ends):
            _reset(end)

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            await self._serve(reader, writer)
        finally:
            self._serving.discard(task)
            with suppress(OSError):
                await writer.wait_closed()

    async def end(self) -> None:
        self.set("open")
        self.cut()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        target = self._target()
        if self.mode == "refuse" or target is None:
            _reset(writer)
            return
        self._ends.add(writer)
        with suppress(OSError):
            await self._open.wait()
            far_reader, far_writer = await asyncio.open_connection(*target)
            self._ends.add(far_writer)
            try:
                copies = (self._copy(reader, far_writer), self._copy(far_reader, writer))
                await asyncio.gather(*copies, return_exceptions=True)
            finally:
                self._ends.discard(far_writer)
                far_writer.transport.abort()
                with suppress(OSError):
                    await far_writer.wait_closed()
        self._ends.discard(writer)
        writer.transport.abort()

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(CHUNK):
                if self.delay:
                    await asyncio.sleep(self.delay)
                await self._open.wait()
                writer.write(data)
                await writer.drain()
        finally:
            writer.transport.abort()  # one end gone is both gone


def _reset(writer: asyncio.StreamWriter) -> None:
    """RST instead of FIN: closing without lingering."""
    with suppress(OSError):
        writer.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
    writer.transport.abort()


@asynccontextmanager
async def line_to(target: Callable[[], tuple[str, int] | None]) -> AsyncIterator[Line]:
    line = Line(target)
    server = await asyncio.start_server(line.accept, "127.0.0.1", 0)
    line.port = server.sockets[0].getsockname()[1]
    try:
        yield line
    finally:
        server.close()
        await line.end()

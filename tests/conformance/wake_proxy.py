"""A TCP line to a server that can be cut, refused, made a black hole, or told another backend id."""

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

Mode = Literal["open", "refuse", "hang"]


class Line:
    """`attempts` counts connections tried; `mode` holds for bytes and connections from now on."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._writers: set[asyncio.StreamWriter] = set()
        self._open = asyncio.Event()
        self._open.set()
        self.mode: Mode = "open"
        self.attempts = 0
        self.port = 0
        self.poses_as_pooler = False

    def set(self, mode: Mode) -> None:
        self.mode = mode
        (self._open.clear if mode == "hang" else self._open.set)()
        if mode == "refuse":
            self.cut()

    def cut(self) -> None:
        for writer in list(self._writers):
            writer.transport.abort()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.attempts += 1
        if self.mode == "refuse":
            writer.transport.abort()
            return
        await self._open.wait()
        with suppress(OSError):
            far_reader, far_writer = await asyncio.open_connection(*self._target)
            self._writers |= {writer, far_writer}
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._copy(reader, far_writer))
                    group.create_task(self._copy(far_reader, writer))
            except* OSError:
                pass
            finally:
                self._writers -= {writer, far_writer}
                writer.transport.abort()
                far_writer.transport.abort()

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            await self._open.wait()
            if self.poses_as_pooler:
                data = _other_backend(data)
            writer.write(data)
            await writer.drain()
        writer.transport.abort()


def _other_backend(data: bytes) -> bytes:
    """What PgBouncer does: BackendKeyData with an id of its own."""
    mark = b"K" + struct.pack("!i", 12)
    at = data.find(mark)
    return data if at < 0 else data[: at + 5] + struct.pack("!i", 4242) + data[at + 9 :]


@asynccontextmanager
async def line_to(host: str, port: int) -> AsyncIterator[Line]:
    line = Line(host, port)
    server = await asyncio.start_server(line.serve, "127.0.0.1", 0)
    line.port = server.sockets[0].getsockname()[1]
    try:
        yield line
    finally:
        line.set("open")
        line.cut()
        server.close()


def through(dsn: str, line: Line) -> str:
    """The same DSN by way of the line, without TLS, which the line couldn't read."""
    parts = urlsplit(dsn)
    login = parts.netloc.rpartition("@")[0]
    return urlunsplit(parts._replace(netloc=f"{login}@127.0.0.1:{line.port}", query="sslmode=disable"))


def address_of(dsn: str) -> tuple[str, int]:
    parts = urlsplit(dsn)
    return parts.hostname or "127.0.0.1", parts.port or 5432

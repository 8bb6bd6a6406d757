"""A model provider over real HTTP, scripted chunk by chunk, byte by byte: what no real one does on request.

Each answer of the script is a list of byte chunks sent as they are, so that a test can cut a character in
two. `say`, `call` and `finish` write the usual events. `requests` is the provider's own log (I15, I18).
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

Chunks = Sequence[bytes | asyncio.Event]  # an event: nothing more before it is set
DONE = b"data: [DONE]\n\n"


def event(body: Any) -> bytes:
    return b"data: " + json.dumps(body, ensure_ascii=False).encode() + b"\n\n"


def delta(finish: str | None = None, **fields: Any) -> bytes:
    return event({"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]})


def say(text: str) -> bytes:
    return delta(content=text)


def call(
    name: str | None = None, arguments: Any = None, *, index: int | None = 0, id: str | None = None
) -> bytes:
    """A piece of a tool call; None fields are left out."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    piece: dict[str, Any] = {"type": "function", "function": function}
    if index is not None:
        piece["index"] = index
    if id is not None:
        piece["id"] = id
    return delta(tool_calls=[piece])


def finish(reason: str = "stop") -> bytes:
    return delta(finish=reason)


def usage(given: int = 7, made: int = 5) -> bytes:
    return event({"choices": [], "usage": {"prompt_tokens": given, "completion_tokens": made}})


def tool_answer(name: str, arguments: dict[str, Any], *, id: str = "c1") -> Chunks:
    """A whole answer with one call, in pieces."""
    text = json.dumps(arguments, ensure_ascii=False)
    half = len(text) // 2
    wire = name.replace(".", "__")
    return [call(wire, text[:half], id=id), call(None, text[half:]), finish("tool_calls"), usage(), DONE]


def text_answer(text: str) -> Chunks:
    return [say(text), finish(), usage(), DONE]


@dataclass(slots=True)
class ScriptedModel:
    """script: answers in order: byte chunks, or a function of the request that makes them.

    hold: when set, each answer's chunks after the first wait for it. cut: end without the last chunk.
    pace: seconds between chunks. came_at: when each request came, in the loop's time.
    """

    script: deque[Chunks | Callable[[dict[str, Any]], Chunks]] = field(default_factory=deque)
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    status: int = 200
    hold: asyncio.Event | None = None
    url: str = ""
    cut: bool = False
    pace: float = 0.0
    came_at: list[float] = field(default_factory=list)

    def answer(self, *answers: Chunks) -> None:
        self.script.extend(answers)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            _, *lines = head.split("\r\n")
            headers = {
                n.strip().lower(): v.strip() for n, _, v in (line.partition(":") for line in lines if line)
            }
            body = json.loads(await reader.readexactly(int(headers.get("content-length", "0"))))
            self.requests.append(body)
            self.came_at.append(asyncio.get_running_loop().time())
            self.headers.append(headers)
            if self.status != 200:
                content = json.dumps({"error": {"message": "scripted", "code": "scripted"}}).encode()
                writer.write(
                    f"HTTP/1.1 {self.status} -\r\ncontent-type: application/json\r\nretry-after: 0\r\n"
                    f"content-length: {len(content)}\r\nconnection: close\r\n\r\n".encode()
                    + content
                )
                await writer.drain()
                return
            step = self.script.popleft()
            chunks = step(body) if callable(step) else step
            writer.write(b"HTTP/1.1 200 -\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
            for place, chunk in enumerate(chunks):
                if isinstance(chunk, asyncio.Event):
                    await chunk.wait()
                    continue
                if place and self.hold is not None:
                    await self.hold.wait()
                writer.write(chunk)
                await writer.drain()
                await asyncio.sleep(self.pace)
        except (asyncio.IncompleteReadError, ConnectionError):
            return


@asynccontextmanager
async def providing(model: ScriptedModel) -> AsyncIterator[ScriptedModel]:
    async with listening(model._serve) as port:
        model.url = f"http://127.0.0.1:{port}/v1"
        yield model


@asynccontextmanager
async def listening(
    handle: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> AsyncIterator[int]:
    """A server on a free port of this loop; at the end no connection of it is left open or waiting."""
    open_ones: set[asyncio.Task[Any]] = set()

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        open_ones.add(task)
        try:
            await handle(reader, writer)
        finally:
            open_ones.discard(task)
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    server = await asyncio.start_server(connection, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in list(open_ones):
            task.cancel()
        await asyncio.gather(*open_ones, return_exceptions=True)

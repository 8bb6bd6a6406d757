"""/healthz and /readyz for processes that serve no HTTP otherwise (worker, reconciler).

A few lines on asyncio streams: a web framework would add 30 MB to an idle worker.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Final

from fencepost_runtime.loop import LoopStatus, Monotonic
from fencepost_runtime.sockets import bind

REQUEST_SECONDS: Final = 5.0  # a probe sends two lines; who takes longer is no probe
CHECK_SECONDS: Final = 2.0  # under a probe's own time-out, or it never sees which check hangs

Check = Callable[[], Awaitable[None]]
Told = Callable[[bool, Mapping[str, str]], Mapping[str, object]]


async def run_checks(checks: Mapping[str, Check]) -> dict[str, str]:
    """`ok`, or the kind of what was raised: a probe's answer must not quote an exception's text."""
    return dict(zip(checks, await asyncio.gather(*map(_verdict, checks.values())), strict=True))


async def _verdict(check: Check) -> str:
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            await check()
    except Exception as error:
        return type(error).__name__
    return "ok"


class LoopStalled(Exception):
    """A loop had no success for longer than it may."""


def loop_check(status: LoopStatus, within: timedelta, clock: Monotonic) -> Check:
    """Ready only while the loop succeeded within the last `within`."""

    async def check() -> None:
        if status.last_success is None or clock.monotonic() - status.last_success > within.total_seconds():
            raise LoopStalled(status.name)

    return check


def _told(ready: bool, checks: Mapping[str, str]) -> Mapping[str, object]:
    return {"status": "ok" if ready else "not ready", "checks": checks}


async def serve_health(
    host: str,
    port: int,
    checks: Mapping[str, Check],
    stop: asyncio.Event,
    on_bound: Callable[[int], None] | None = None,
    told: Told = _told,
) -> None:
    """Serve until `stop`. Port 0 takes a free one, told to `on_bound`. told: makes the body of `/readyz`."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, ValueError, TimeoutError, asyncio.IncompleteReadError):
            async with asyncio.timeout(REQUEST_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(await _respond(head, checks, told))
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(handle, sock=bind(host, port), limit=16_384)
    async with server:
        if on_bound:
            on_bound(server.sockets[0].getsockname()[1])
        await stop.wait()


async def _respond(head: bytes, checks: Mapping[str, Check], told: Told) -> bytes:
    method, _, rest = head.partition(b" ")
    path = rest.partition(b" ")[0].partition(b"?")[0]
    if method not in (b"GET", b"HEAD"):
        return _response(405, {"status": "method not allowed"})
    if path == b"/healthz":
        return _response(200, {"status": "ok"})
    if path == b"/readyz":
        verdicts = await run_checks(checks)
        ready = all(verdict == "ok" for verdict in verdicts.values())
        return _response(200 if ready else 503, told(ready, verdicts))
    return _response(404, {"status": "not found"})


def _response(status: int, body: Mapping[str, object]) -> bytes:
    content = json.dumps(body).encode()
    head = f"HTTP/1.1 {status} -\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n"
    return head.encode() + b"Connection: close\r\n\r\n" + content

"""Asks a child's /readyz in a few lines: an HTTP client would cost the supervisor 15 MB."""

import asyncio
import json
from contextlib import suppress
from typing import Final

PROBE_SECONDS: Final = 3.0
REFUSED: Final = "contracts_refused"  # of the gateway's answer: by module, why


async def is_ready(port: int) -> bool:
    return (await _ask(port, body=False))[0] == 200


async def lacks(port: int) -> dict[str, str]:
    """What a ready child works without: by name, what its /readyz says of it. Empty for a healthy one."""
    status, body = await _ask(port, body=True)
    if status != 200:
        return {}
    told = json.loads(body)
    missing = {name: str(said) for name, said in told.get("checks", {}).items() if said != "ok"}
    return missing | {f"contract of {name}": "refused" for name in told.get(REFUSED, ())}


async def _ask(port: int, *, body: bool) -> tuple[int, bytes]:
    """The status, and what was asked for after it; 0 where nobody answers in time."""
    with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, ValueError, IndexError):
        async with asyncio.timeout(PROBE_SECONDS):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(b"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
                status = int((await reader.readline()).split()[1])
                answer = await reader.read() if body else b""
                return status, answer.partition(b"\r\n\r\n")[2]
            finally:
                writer.close()
    return 0, b""

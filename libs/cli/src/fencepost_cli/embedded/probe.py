"""Asks a child's /readyz in a few lines: an HTTP client would cost the supervisor 15 MB."""

import asyncio
from contextlib import suppress
from typing import Final

PROBE_SECONDS: Final = 3.0


async def is_ready(port: int) -> bool:
    with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, ValueError):
        async with asyncio.timeout(PROBE_SECONDS):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(b"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
                status = await reader.readline()
                return status.split()[1:2] == [b"200"]
            finally:
                writer.close()
    return False

"""A request as a test's own server reads it from a connection."""

from __future__ import annotations

import asyncio


async def read_request(reader: asyncio.StreamReader) -> tuple[str, dict[str, str], bytes]:
    """Its first line, its headers by names in lower case, its body. Raises IncompleteReadError at the end."""
    head = await reader.readuntil(b"\r\n\r\n")
    line, *rest = head.decode("latin-1").strip().split("\r\n")
    headers = {n.lower(): v.strip() for n, _, v in (one.partition(":") for one in rest)}
    return line, headers, await reader.readexactly(int(headers.get("content-length", "0")))

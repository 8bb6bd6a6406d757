"""Server-sent events from bytes, as the standard says: lines end at CR, LF or CRLF and nowhere else.

Bytes are decoded incrementally, so that a character cut between two chunks stays whole. Python's own
`splitlines` would cut at U+2028, which is lawful inside a JSON string (case ST-5).
"""

from __future__ import annotations

import codecs
import re
from collections.abc import AsyncIterable, AsyncIterator
from typing import Final

_LINE_END: Final = re.compile(r"\r\n|\n|\r")
LONGEST_LINE: Final = 4_194_304  # characters; a provider that never ends a line must not fill our memory


class LineTooLong(ValueError):
    """More text without a line end than any event has."""


async def lines(chunks: AsyncIterable[bytes]) -> AsyncIterator[str]:
    """The stream's lines without their ends. Raises UnicodeDecodeError, LineTooLong."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    held = ""
    started = False
    async for chunk in chunks:
        text = decoder.decode(chunk)
        if not started and text:
            text, started = text.removeprefix("\ufeff"), True
        held += text
        # A CR at the very end may be half of a CRLF: it waits for the next chunk.
        tail = held[-1:] if held.endswith("\r") else ""
        *whole, rest = _LINE_END.split(held[: len(held) - len(tail)])
        held = rest + tail
        if len(held) > LONGEST_LINE:
            raise LineTooLong
        for line in whole:
            yield line
    held += decoder.decode(b"", final=True)
    if held:
        yield held.rstrip("\r\n")


async def data_of(chunks: AsyncIterable[bytes]) -> AsyncIterator[str]:
    """The `data` of each event; comments and other fields are left. The last may lack its blank line."""
    data: list[str] = []
    async for line in lines(chunks):
        if line == "":
            if data:
                yield "\n".join(data)
            data = []
        elif line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
    if data:
        yield "\n".join(data)

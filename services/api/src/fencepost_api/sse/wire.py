"""Server-sent events on the wire: ids are the log's seqs; user text writes no protocol line (case SS-3)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from sse_starlette import EventSourceResponse, ServerSentEvent

from fencepost_api.context import Limits
from fencepost_api.streams.translate import Shown

RETRY_MS: Final = 1000
SEND_SECONDS: Final = 30.0  # a client that takes nothing for so long is gone
FIRST: Final = f"retry: {RETRY_MS}\n\n".encode()
# Characters that JSON may hold raw, and at which some clients split lines: written as escapes.
_SPLITTERS: Final = (("\u2028", "\\u2028"), ("\u2029", "\\u2029"), ("\x85", "\\u0085"), ("\x7f", "\\u007f"))


def encode(shown: Shown) -> bytes:
    """One event. The body is JSON on one line, so it is one `data:` line."""
    text = shown.body.decode()
    for splitter, escaped in _SPLITTERS:
        text = text.replace(splitter, escaped)
    seq = str(shown.seq) if shown.seq is not None else None
    return ServerSentEvent(text, event=shown.name, id=seq, sep="\n").encode()


def mark(position: str) -> bytes:
    """An id without an event: where to go on from if nothing comes before the connection is cut."""
    return f"id: {position}\n\n".encode()


def respond(
    content: AsyncIterator[bytes], limits: Limits, status: int = 200, headers: dict[str, str] | None = None
) -> EventSourceResponse:
    """The streaming answer: comments keep it alive, nothing on the way may hold it back or keep it."""
    return EventSourceResponse(
        content,
        status_code=status,
        headers={"Cache-Control": "no-store, no-transform", **(headers or {})},
        ping=limits.ping.total_seconds(),
        ping_message_factory=lambda: ServerSentEvent(comment="ping", sep="\n"),
        sep="\n",
        send_timeout=SEND_SECONDS,
    )

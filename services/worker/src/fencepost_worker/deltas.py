"""Pieces of the message being written, on their way to whoever looks: lossy, unfenced, never stored.

Coalesced into one NOTIFY per 20 ms, under Postgres' 8,000 bytes, outside any transaction; what comes after a
silence goes at once. `attempt` is the run's revision: the api drops pieces of an older one. Beside them goes
which runs were written to, so that streams look at those now instead of within a second.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from typing import Any, Final
from uuid import UUID

import psycopg
from fencepost_runtime.logging import get_logger
from fencepost_runtime.secrets import MaskedPieces

CHANNEL: Final = "fencepost_deltas"
MOVED: Final = "fencepost_events"  # a JSON list of run ids
EVERY_SECONDS: Final = 0.02
MOST_BYTES: Final = 7_600  # of one NOTIFY
IDS_AT_ONCE: Final = MOST_BYTES // 40
# Nothing of it is stored, so nobody waits for the disk; for this transaction only, whoever pools the lines.
SEND: Final = "SELECT set_config('synchronous_commit', 'off', true), pg_notify(%s, %s)"
PIECE: Final = 1_500  # characters; four bytes each still fit
MOST_WAITING: Final = 2_000  # pieces; a slow database costs deltas, never memory

log = get_logger(__name__)


class DeltaSender:
    """One per process. `add` never waits and never fails."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._waiting: deque[dict[str, Any]] = deque(maxlen=MOST_WAITING)
        self._moved: dict[UUID, None] = {}  # a set that keeps its order
        self._more = asyncio.Event()
        self._connection: psycopg.AsyncConnection[Any] | None = None

    def writer(self, run_id: UUID, tenant_id: UUID, message_id: str, attempt: int) -> DeltaWriter:
        return DeltaWriter(self, {
            "run_id": str(run_id),
            "tenant_id": str(tenant_id),
            "message_id": message_id,
            "attempt": attempt,
        })  # fmt: skip

    def add(self, piece: dict[str, Any]) -> None:
        self._waiting.append(piece)
        self._more.set()

    def moved(self, run_id: UUID) -> None:
        """This run's log or status was just written to."""
        if len(self._moved) < MOST_WAITING:
            self._moved[run_id] = None
            self._more.set()

    async def run(self) -> None:
        """Send until cancelled."""
        try:
            while True:
                await self._more.wait()
                self._more.clear()
                while self._moved:
                    await self._send(MOVED, self._moved_batch())
                while self._waiting:
                    await self._send(CHANNEL, self._batch())
                await asyncio.sleep(EVERY_SECONDS)
        finally:
            await self._drop()

    def _moved_batch(self) -> str:
        ids = list(self._moved)[:IDS_AT_ONCE]
        for run_id in ids:
            del self._moved[run_id]
        return json.dumps([str(run_id) for run_id in ids])

    def _batch(self) -> str:
        """As many pieces as one NOTIFY holds, as a JSON list."""
        parts: list[str] = []
        size = 2
        while self._waiting:
            text = json.dumps(self._waiting[0], ensure_ascii=False, separators=(",", ":"))
            size += len(text.encode("utf-8", "replace")) + 1
            if parts and size > MOST_BYTES:
                break
            parts.append(text)
            self._waiting.popleft()
        return f"[{','.join(parts)}]"

    async def _send(self, channel: str, batch: str) -> None:
        try:
            if self._connection is None or self._connection.closed:
                self._connection = await psycopg.AsyncConnection.connect(
                    self._dsn,
                    autocommit=True,
                    prepare_threshold=None,
                    connect_timeout=3,
                    application_name="fencepost-deltas",
                )
            await self._connection.execute(SEND, (channel, batch))
        except psycopg.Error as error:
            log.info("deltas.lost", error=type(error).__name__)
            await self._drop()

    async def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()


class DeltaWriter:
    """Pieces of one message, numbered."""

    def __init__(self, sender: DeltaSender, head: dict[str, Any]) -> None:
        self._sender = sender
        self._head = head
        self._n = 0
        self._masked = MaskedPieces()  # a provider may echo its key, a few letters at a time

    def text(self, text: str) -> None:
        text = self._masked.feed(text)
        for start in range(0, len(text), PIECE):
            self._sender.add({**self._head, "n": self._n, "text": text[start : start + PIECE]})
            self._n += 1

    def reset(self) -> None:
        """What was shown is for nothing: the answer is written anew."""
        self._sender.add({**self._head, "reset": True})
        self._n, self._masked = 0, MaskedPieces()

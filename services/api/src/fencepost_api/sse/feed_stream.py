"""A caller's feed: runs, questions, messages and reminders, in an order that never gains an earlier line."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from fencepost_store import views
from pydantic_core import to_json

from fencepost_api import render
from fencepost_api.auth import Caller
from fencepost_api.context import Api
from fencepost_api.sse.wire import FIRST, encode, mark
from fencepost_api.streams.translate import Shown

KINDS: Final = frozenset(
    {"run.status", "interrupt.opened", "interrupt.closed", "message.created", "reminder.due"}
)
RESUMABLE_FOR: Final = timedelta(hours=24)
BATCH: Final = 200
_ID: Final = re.compile(r"([0-9]{1,19})\.([0-9]{1,18})\.([0-9]{1,12})", re.ASCII)
_RESYNC: Final = Shown("resync", b"{}")


class FeedStream:
    """Opaque ids: transaction, line and second, so that one older than a day is known to be too old."""

    def __init__(
        self, api: Api, caller: Caller, last_event_id: str | None, conversation_id: UUID | None
    ) -> None:
        self.api, self.caller, self.conversation_id = api, caller, conversation_id
        self.last_event_id = last_event_id or None
        self.position: views.Position = (0, 0)
        left = caller.until - api.clock.now().timestamp()
        self.ends = api.clock.monotonic() + min(left, api.limits.stream_life.total_seconds())

    async def lines(self) -> AsyncIterator[bytes]:
        follower = self.api.feed.follow(self.caller.tenant_id, self.caller.user_id)
        try:
            yield FIRST
            self.position, now = await self._start()
            given = parse_id(self.last_event_id, now) if self.last_event_id else None
            if self.last_event_id and given is None:
                yield encode(_RESYNC)
            self.position = given or self.position
            yield mark(format_id(self.position, now))
            while not self.api.feed.closing and self.api.clock.monotonic() < self.ends:
                follower.woken.clear()
                async for line in self._new_lines():
                    yield line
                with suppress(TimeoutError):
                    async with asyncio.timeout(self.ends - self.api.clock.monotonic()):
                        await follower.woken.wait()
        finally:
            self.api.feed.leave(follower)

    async def _start(self) -> tuple[views.Position, datetime]:
        async with self.api.store.transaction(self.caller.tenant_id) as tx:
            return await views.feed_start(tx)

    async def _new_lines(self) -> AsyncIterator[bytes]:
        """Lines after `self.position`, which moves along."""
        while True:
            async with self.api.store.transaction(self.caller.tenant_id) as tx:
                rows = await views.feed(tx, self.caller.user_id, self.position, BATCH)
            for row in rows:
                self.position = (int(row["xid"]), row["id"])
                if row["kind"] in KINDS and self._wanted(row):
                    yield self._encoded(row)
            if rows:
                yield mark(format_id(self.position, rows[-1]["at"]))
            if len(rows) < BATCH:
                return

    def _wanted(self, row: Any) -> bool:
        return self.conversation_id is None or row["conversation_id"] == self.conversation_id

    def _encoded(self, row: Any) -> bytes:
        body = to_json(
            {**row["data"], "conversation_id": row["conversation_id"], "at": render.utc(row["at"])}
        )
        return mark_event(Shown(row["kind"], body), format_id(self.position, row["at"]))


def mark_event(shown: Shown, position: str) -> bytes:
    """An event with an opaque id."""
    return f"id: {position}\n".encode() + encode(replace(shown, seq=None))


def format_id(position: views.Position, at: datetime) -> str:
    return f"{position[0]}.{position[1]}.{int(at.timestamp())}"


def parse_id(text: str, now: datetime) -> views.Position | None:
    """The position an id names, or None for one that is malformed, from the future or over a day old."""
    found = _ID.fullmatch(text)
    if found is None or int(found[1]) > 2**63:
        return None
    age = now.timestamp() - int(found[3])
    return (int(found[1]), int(found[2])) if -60 < age < RESUMABLE_FOR.total_seconds() else None

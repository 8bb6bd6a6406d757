"""The stream of one run: history from the table, then what the hub tells, each once and in order."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Final
from uuid import UUID

from fencepost_store import views
from fencepost_store.views import Access

from fencepost_api.auth import Caller
from fencepost_api.context import Api
from fencepost_api.sse.wire import FIRST, encode
from fencepost_api.streams.hub import Follower
from fencepost_api.streams.reader import Part, read_events, read_events_in, snapshot
from fencepost_api.streams.translate import Shown

_SEQ: Final = re.compile(r"[0-9]{1,15}", re.ASCII)
_GONE: Final = Shown("error", b'{"code":"not_found"}')


def position_of(last_event_id: str | None, access: Access) -> int | None:
    """Where to go on: 0 without an id; None for one that can't be of this run (a resync follows)."""
    if last_event_id is None or last_event_id == "":
        return 0
    if not _SEQ.fullmatch(last_event_id):
        return None
    seq = int(last_event_id)
    return seq if seq <= access.event_seq else None


def is_over(position: int | None, access: Access) -> bool:
    """The client has seen the end: 204, or an EventSource reconnects for ever."""
    return position is not None and access.terminal_seq is not None and position >= access.terminal_seq


async def open_stream(
    api: Api, caller: Caller, run_id: UUID, owner: str | None, last_event_id: str | None
) -> RunStream | None:
    """Check the caller's right and read the first events, in one transaction. None: it was read to its end.

    owner: whose run it must be, None for those who see all. Raises NotFound.
    """
    async with api.opening, api.store.transaction(caller.tenant_id) as tx:
        access = await views.run_access(tx, run_id, owner)
        position = position_of(last_event_id, access)
        if is_over(position, access):
            return None
        if position is None:
            return RunStream(api, caller, run_id, None)
        found = await read_events_in(tx, {run_id: position})
    return RunStream(api, caller, run_id, position, found.get(run_id, Part((), position)))


class RunStream:
    """Bytes of one stream. Ends with the run, the process, the caller's token, or after an hour."""

    def __init__(
        self, api: Api, caller: Caller, run_id: UUID, position: int | None, first: Part | None = None
    ) -> None:
        """position: None for a resync. first: what was read after it already."""
        self.api, self.tenant_id, self.run_id = api, caller.tenant_id, run_id
        self.position, self.seq, self.first = position, position or 0, first
        left = caller.until - api.clock.now().timestamp()
        self.ends = api.clock.monotonic() + min(left, api.limits.stream_life.total_seconds())

    async def lines(self) -> AsyncIterator[bytes]:
        yield FIRST
        if self.position is None:
            yield encode(await self._resync())
        async for shown in self._history(self.first):
            yield encode(shown)
            if shown.last:
                return
        follower = self.api.runs.follow(self.run_id, self.tenant_id, self.seq)
        self.first = None
        try:
            async for shown in self._follow(follower):
                yield encode(shown)
                if shown.last:
                    return
        finally:
            self.api.runs.leave(follower)

    async def _resync(self) -> Shown:
        async with self.api.opening:
            shown, self.seq = await snapshot(self.api.store, self.tenant_id, self.run_id)
        return shown

    async def _read(self) -> Part:
        async with self.api.opening:
            found = await read_events(self.api.store, self.tenant_id, {self.run_id: self.seq})
        return found.get(self.run_id, Part((), self.seq))

    async def _history(self, part: Part | None = None) -> AsyncIterator[Shown]:
        """Events of the table after `self.seq`, which moves along. A gap (pruned) becomes a resync."""
        while True:
            part = part or await self._read()
            if part.gap:
                yield await self._resync()
                part = None
                continue
            for shown in part.shown:
                yield shown
            self.seq = part.last_seq
            if not part.full:
                return
            part = None

    async def _follow(self, follower: Follower) -> AsyncIterator[Shown]:
        while not self.api.runs.closing:
            found = follower.take()
            if found is None:
                self.seq = follower.seq
                async for shown in self._history():
                    yield shown
                follower.seq = self.seq
                continue
            for shown in found:
                yield shown
            if follower.watch.gone:
                yield _GONE
                return
            left = self.ends - self.api.clock.monotonic()
            if left <= 0:
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await follower.woken.wait()

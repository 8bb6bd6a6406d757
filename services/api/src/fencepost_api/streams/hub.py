"""One poller for all streams of the process.

The table is the truth: each second one statement asks where all watched runs stand, by numbers only, and
one more per tenant reads what moved. Notifications and our own writes only make that happen sooner. A run
that just moved is looked at ten times a second for a while, so that a stream is quick without any of them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from fencepost_domain.ports import Clock
from fencepost_runtime.logging import get_logger
from fencepost_store import views
from fencepost_store.transaction import Store
from pydantic_core import to_json

from fencepost_api.streams.reader import read_events
from fencepost_api.streams.translate import Shown

POLL_SECONDS: Final = 1.0  # every run watched
HOT_POLL_SECONDS: Final = 0.1  # runs that moved within HOT_SECONDS
HOT_SECONDS: Final = 3.0
MANY_HOT: Final = 200  # as many are looked at in a few milliseconds
COALESCE_SECONDS: Final = 0.01  # many pokes at once are one look
KEPT: Final = 64  # shown events a run keeps for its streams; who is further behind reads the table
KEPT_DELTAS: Final = 256  # of a slow stream; deltas are lossy, the whole text follows
BACKOFF_SECONDS: Final = 2.0

log = get_logger(__name__)


@dataclass(slots=True)
class Watch:
    """A run that streams of this process follow. `head`: last seq read; None: not attached yet."""

    run_id: UUID
    tenant_id: UUID
    head: int | None = None
    base: int = 0  # `recent` holds all that was shown after this seq
    recent: deque[Shown] = field(default_factory=deque)
    streams: list[Follower] = field(default_factory=list)
    hot_until: float = 0.0
    attempt: int = 0
    gone: bool = False

    def add(self, shown: Iterable[Shown], last_seq: int) -> None:
        self.recent.extend(shown)
        self.head = last_seq
        while len(self.recent) > KEPT:
            self.base = self.recent.popleft().seq or self.base
        for stream in self.streams:
            stream.woken.set()


@dataclass(slots=True, eq=False)
class Follower:
    """One stream's place. `seq`: the last one it has consumed."""

    watch: Watch
    seq: int
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    deltas: deque[Shown] = field(default_factory=lambda: deque(maxlen=KEPT_DELTAS))

    def take(self) -> list[Shown] | None:
        """What is new, deltas first; None: too far behind, read the table from `seq`."""
        self.woken.clear()
        head = self.watch.head
        if head is None or self.seq < self.watch.base:
            return None
        found = [*self.deltas, *(s for s in self.watch.recent if (s.seq or 0) > self.seq)]
        self.deltas.clear()
        self.seq = max(self.seq, head)
        return found


class RunHub:
    def __init__(self, store: Store, clock: Clock) -> None:
        self.store, self.clock = store, clock
        self.watches: dict[UUID, Watch] = {}
        self.closing = False
        self.on_move: asyncio.Event = asyncio.Event()  # something moved somewhere: feeds look too
        self._poke = asyncio.Event()
        self._full_at = 0.0

    def follow(self, run_id: UUID, tenant_id: UUID, seq: int) -> Follower:
        """Follow from `seq` on, which the caller has read up to. End with `leave`."""
        watch = self.watches.get(run_id)
        if watch is None:
            watch = self.watches[run_id] = Watch(run_id, tenant_id, head=seq, base=seq)
        follower = Follower(watch, seq)
        follower.woken.set()
        watch.streams.append(follower)
        self.touch(run_id)
        return follower

    def leave(self, follower: Follower) -> None:
        watch = follower.watch
        watch.streams.remove(follower)
        if not watch.streams:
            self.watches.pop(watch.run_id, None)

    def touch(self, run_id: UUID) -> None:
        """Something may have happened to this run: look soon."""
        watch = self.watches.get(run_id)
        self.on_move.set()
        if watch is not None:
            watch.hot_until = self.clock.monotonic() + HOT_SECONDS
            self._poke.set()

    def close(self) -> None:
        """The process ends: so do all streams, at once."""
        self.closing = True
        self._poke.set()
        for watch in self.watches.values():
            for stream in watch.streams:
                stream.woken.set()

    # ── deltas ──────────────────────────────────────────────────────────────────────────────────────

    def hear(self, item: Mapping[str, Any], run_id: UUID, tenant_id: UUID) -> None:
        """One delta or reset of a worker; of an attempt older than one already heard, nothing."""
        watch = self.watches.get(run_id)
        if watch is None or watch.tenant_id != tenant_id:
            return
        attempt, message = int(item["attempt"]), str(item["message_id"])
        if attempt < watch.attempt:
            return
        newer = attempt > watch.attempt > 0
        watch.attempt = attempt
        told: list[Shown] = []
        if newer or item.get("reset"):
            told.append(Shown("message.reset", to_json({"message_id": message, "attempt": attempt})))
        if "text" in item:
            data = {"message_id": message, "attempt": attempt, "n": item.get("n"), "text": str(item["text"])}
            told.append(Shown("message.delta", to_json(data)))
        watch.hot_until = self.clock.monotonic() + HOT_SECONDS
        for stream in watch.streams:
            stream.deltas.extend(told)
            stream.woken.set()

    # ── polling ─────────────────────────────────────────────────────────────────────────────────────

    async def run(self, stop: asyncio.Event) -> None:
        """Poll until `stop`. A database that is away costs latency; streams stay open."""
        while not stop.is_set() and not self.closing:
            try:
                await self.poll()
                await self._rest()
            except Exception:
                log.exception("streams.poll_failed")
                await asyncio.sleep(BACKOFF_SECONDS)

    async def poll(self) -> int:
        """Look once at the runs that are due; how many moved."""
        now = self.clock.monotonic()
        everything = now >= self._full_at
        if everything:
            self._full_at = now + POLL_SECONDS
        due = [w for w in self.watches.values() if everything or w.hot_until > now]
        if not due:
            return 0
        async with self.store.transaction() as tx:
            heads = await views.run_heads(tx, {w.run_id: w.tenant_id for w in due})
        moved: dict[UUID, dict[UUID, int]] = {}
        for watch in due:
            found = heads.get(watch.run_id)
            if found is None:
                self._lose(watch)
            elif watch.head is not None and found[0] > watch.head:
                moved.setdefault(watch.tenant_id, {})[watch.run_id] = watch.head
        for tenant_id, positions in moved.items():
            await self._read(tenant_id, positions, now)
        return sum(map(len, moved.values()))

    async def _read(self, tenant_id: UUID, positions: Mapping[UUID, int], now: float) -> None:
        self.on_move.set()
        for run_id, part in (await read_events(self.store, tenant_id, positions)).items():
            watch = self.watches.get(run_id)
            if watch is None or watch.head != positions[run_id]:
                continue
            watch.hot_until = now + HOT_SECONDS
            if part.full:
                self._poke.set()
            watch.add(part.shown, part.last_seq)

    def _lose(self, watch: Watch) -> None:
        watch.gone = True
        for stream in watch.streams:
            stream.woken.set()

    async def _rest(self) -> None:
        now = self.clock.monotonic()
        hot = sum(watch.hot_until > now for watch in self.watches.values())
        wait = self._hot_wait(hot) if hot else max(self._full_at - now, 0.0) if self.watches else POLL_SECONDS
        try:
            async with asyncio.timeout(wait):
                await self._poke.wait()
        except TimeoutError:
            pass
        else:
            await asyncio.sleep(COALESCE_SECONDS)
        self._poke.clear()

    @staticmethod
    def _hot_wait(hot: int) -> float:
        """The more runs move at once, the rarer the extra looks: they must not become the load."""
        return min(HOT_POLL_SECONDS * max(1.0, hot / MANY_HOT), POLL_SECONDS)

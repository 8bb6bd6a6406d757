"""The claim loop: hints and freed slots make it early, the scan each second makes it certain.

Never more than the free slots. A claim whose answer was lost is found again by its nonce.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final
from uuid import UUID

from fencepost_domain.errors import Unavailable
from fencepost_domain.ports import Clock
from fencepost_domain.run import CANCEL
from fencepost_runtime.failpoints import ahit
from fencepost_runtime.logging import get_logger
from fencepost_runtime.loop import LoopStatus
from fencepost_runtime.wake.port import Hint, WakeListener
from fencepost_store.bindings import Stored, Versions
from fencepost_store.claims import Claim, claim, claimed_by_nonce
from fencepost_store.transaction import Store

from fencepost_worker.binding import versions_of
from fencepost_worker.execute import Executor
from fencepost_worker.holding import Held, Holding

LOST_ANSWER_SECONDS: Final = (0.1, 0.5, 1.0)
GATHER_SECONDS: Final = 0.02  # a busy worker lets this many more slots get free before it claims again
GATHERED: Final = 4  # a quarter of its slots: the others keep the event loop busy meanwhile

log = get_logger(__name__)


@dataclass(slots=True)
class ClaimLoop:
    store: Store
    clock: Clock
    holding: Holding
    executor: Executor
    owner: str
    modules: Sequence[str]
    versions: Sequence[str]
    lease: timedelta
    scan: timedelta
    listener: WakeListener | None = None
    stop_asked: Callable[[], None] = lambda: None  # a run held here is to be stopped: the heart beats early
    status: LoopStatus = field(default_factory=lambda: LoopStatus("claim"))
    _wanted: set[str] = field(default_factory=set)
    _wake: asyncio.Event = field(default_factory=asyncio.Event)

    def on_hint(self, hint: Hint) -> None:
        """Note the wake-up and return; the claim, or the next beat, decides what it is worth."""
        if hint.event_type == CANCEL:
            if self.holding.get(hint.run_id) is not None:
                self.stop_asked()
            return
        if hint.module in self.modules:
            self._wanted.add(hint.module)
            self._wake.set()

    async def run(self, stop: asyncio.Event) -> None:
        """Claim until `stop`. A failure is logged and the next scan tries again."""
        scan_at = self.clock.monotonic()
        while not stop.is_set():
            if self.clock.monotonic() >= scan_at:
                scan_at = self.clock.monotonic() + self.scan.total_seconds()
                self._wanted.update(self.modules)
            self._wake.clear()
            self.holding.slot_freed.clear()
            try:
                await self._claim_all()
                self.status.last_success = self.clock.monotonic()
                self.status.failures_in_a_row = 0
            except Exception:
                self.status.failures_in_a_row += 1
                log.exception("claim.failed")
            self._mind_the_slots()
            await self._wait(stop, max(scan_at - self.clock.monotonic(), 0.0))
            await self._gather(stop)

    async def _claim_all(self) -> None:
        """Claim for every module there may be work in; one that filled all free slots may have more."""
        for module in sorted(self._wanted):
            limit = self.holding.free
            if limit <= 0:
                return
            self._wanted.discard(module)
            claimed = await self._claim(module)
            if len(claimed) >= limit:
                self._wanted.add(module)
            for held in claimed:
                self.executor.start(held)

    async def _claim(self, module: str) -> list[Held]:
        nonce = self.store.ids.uuid7()
        sent_at = self.clock.monotonic()
        self.holding.claims_in_flight += 1
        try:
            binding = await self.executor.binder.offered(module)
            claims, stored = await self._sent(module, nonce, binding)
            if any(one.run.graph_version and not one.run.progress for one in claims):
                await ahit("worker.bind.after_commit")
            held = [self.holding.add(one, sent_at) for one in claims]
            for one in held:
                one.stored = stored.get(versions_of(one.claim))
            return held
        finally:
            self.holding.claims_in_flight -= 1

    async def _sent(
        self, module: str, nonce: UUID, binding: Versions | None
    ) -> tuple[list[Claim], Mapping[Versions, Mapping[str, Stored]]]:
        """Claim, bind those that aren't bound yet, and read what they are bound to: one transaction."""
        try:
            async with self.store.transaction() as tx:
                claims = await claim(
                    tx,
                    module=module,
                    versions=self.versions,
                    owner=self.owner,
                    lease=self.lease,
                    limit=self.holding.free,
                    nonce=nonce,
                    binding=binding,
                )
                stored = await self.executor.binder.read(tx, claims)
                if stored:
                    await ahit("worker.bind.before_commit")
                if claims:
                    await ahit("worker.claim.before_commit")
                return claims, stored
        except Unavailable:
            return await self._found_again(nonce), {}

    async def _found_again(self, nonce: UUID) -> list[Claim]:
        """An answer was lost: ask what this nonce holds before anything is claimed anew."""
        for wait in LOST_ANSWER_SECONDS:
            await asyncio.sleep(wait)
            try:
                async with self.store.transaction() as tx:
                    return await claimed_by_nonce(tx, owner=self.owner, nonce=nonce)
            except Unavailable:
                continue
        raise Unavailable("a claim's answer was lost and the database does not answer")

    def _mind_the_slots(self) -> None:
        """Without a free slot hints are left to others."""
        if self.listener is None:
            return
        if self.holding.free <= 0:
            self.listener.pause()
        else:
            self.listener.resume()

    async def _gather(self, stop: asyncio.Event) -> None:
        """While most slots are at work, claim for several that are free rather than for each by itself."""
        ends = self.clock.monotonic() + GATHER_SECONDS
        while self.holding.free * GATHERED < self.holding.slots and not stop.is_set():
            self.holding.slot_freed.clear()
            left = ends - self.clock.monotonic()
            if left <= 0:
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self.holding.slot_freed.wait()

    async def _wait(self, stop: asyncio.Event, seconds: float) -> None:
        waits = [
            asyncio.ensure_future(self._wake.wait()),
            asyncio.ensure_future(self.holding.slot_freed.wait()),
            asyncio.ensure_future(stop.wait()),
        ]
        try:
            await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

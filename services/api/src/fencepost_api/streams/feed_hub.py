"""Feeds: who follows one is told when its newest readable line moves. One statement a poll for all."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from fencepost_domain.ports import Clock
from fencepost_runtime.logging import get_logger
from fencepost_store import views
from fencepost_store.transaction import Store

POLL_SECONDS: Final = 1.0
SOONEST_SECONDS: Final = 0.1  # when a run of this process moved
BACKOFF_SECONDS: Final = 2.0

log = get_logger(__name__)


@dataclass(slots=True, eq=False)
class FeedFollower:
    tenant_id: UUID
    user_id: str
    woken: asyncio.Event = field(default_factory=asyncio.Event)


class FeedHub:
    def __init__(self, store: Store, clock: Clock, moved: asyncio.Event) -> None:
        """moved: set by the run hub when a feed may have a new line."""
        self.store, self.clock, self.moved = store, clock, moved
        self.followers: dict[tuple[UUID, str], list[FeedFollower]] = {}
        self.heads: dict[tuple[UUID, str], views.Position] = {}
        self.closing = False

    def follow(self, tenant_id: UUID, user_id: str) -> FeedFollower:
        follower = FeedFollower(tenant_id, user_id)
        self.followers.setdefault((tenant_id, user_id), []).append(follower)
        return follower

    def leave(self, follower: FeedFollower) -> None:
        key = (follower.tenant_id, follower.user_id)
        self.followers[key].remove(follower)
        if not self.followers[key]:
            del self.followers[key]
            self.heads.pop(key, None)

    def close(self) -> None:
        self.closing = True
        self.moved.set()
        for follower in (f for followers in self.followers.values() for f in followers):
            follower.woken.set()

    async def run(self, stop: asyncio.Event) -> None:
        while not stop.is_set() and not self.closing:
            try:
                await self.poll()
                await self._rest()
            except Exception:
                log.exception("feed.poll_failed")
                await asyncio.sleep(BACKOFF_SECONDS)

    async def poll(self) -> None:
        watched = list(self.followers)
        if not watched:
            return
        async with self.store.transaction() as tx:
            heads = await views.feed_heads(tx, watched)
        for key, head in heads.items():
            if self.heads.get(key) != head:
                self.heads[key] = head
                for follower in self.followers.get(key, ()):
                    follower.woken.set()

    async def _rest(self) -> None:
        await asyncio.sleep(SOONEST_SECONDS)
        try:
            async with asyncio.timeout(POLL_SECONDS - SOONEST_SECONDS):
                await self.moved.wait()
        except TimeoutError:
            pass
        self.moved.clear()

"""Records on a wake-up topic that nobody can read: kept for a person, beside the listening (case EV-7)."""

from __future__ import annotations

import asyncio
from typing import Final

from fencepost_domain.errors import FencepostError
from fencepost_runtime.logging import get_logger
from fencepost_runtime.wake.port import PoisonRecord
from fencepost_store.inbox import keep_poison
from fencepost_store.transaction import Store

MOST_WAITING: Final = 100  # a flood of rubbish costs its rows, never memory

log = get_logger(__name__)


class PoisonKeeper:
    """`note` is a listener's PoisonHandler: it returns at once, what it starts ends by itself."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._keeping: set[asyncio.Task[None]] = set()

    def note(self, record: PoisonRecord) -> None:
        log.warning("wake.unreadable", topic=record.topic, reason=record.reason)
        if len(self._keeping) >= MOST_WAITING:
            log.warning("wake.unreadable_not_kept", topic=record.topic)
            return
        task = asyncio.ensure_future(self._keep(record))
        self._keeping.add(task)
        task.add_done_callback(self._keeping.discard)

    async def _keep(self, record: PoisonRecord) -> None:
        try:
            async with self._store.transaction() as tx:
                await keep_poison(
                    tx,
                    topic=record.topic,
                    partition=record.partition,
                    offset=record.offset,
                    reason=record.reason,
                    value=record.value,
                )
        except FencepostError as error:
            log.warning("wake.unreadable_not_kept", topic=record.topic, error=str(error))

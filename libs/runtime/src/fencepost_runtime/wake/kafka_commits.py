"""Committing what was read: beside the reading, about once a second, and never in the way of an end.

The client's own auto-commit tries without end when it is asked to stop while the broker is gone (aiokafka
0.14: `commit_offsets` in the coordinator's close). Cut short, it leaves a member behind that nobody reads
for, but that keeps its partitions. So we commit ourselves, each try with an end.

What is committed is where reading stands at that moment. A commit that failed isn't saved up: a saved one
could move the group backwards after a rebalance (case KF-1).
"""

import asyncio
from datetime import timedelta
from typing import Any, Final

from aiokafka.errors import KafkaError

EVERY: Final = timedelta(seconds=1)  # read again after a crash: a second's worth of stale hints
TRY_SECONDS: Final = 2.0  # a commit takes a millisecond, or the broker is gone


class Commits:
    """Of one consumer. Untold time is the event loop's."""

    def __init__(self, consumer: Any) -> None:
        self._consumer = consumer
        self._is_due = False
        self._tried_at = 0.0
        self._trying: asyncio.Task[None] | None = None

    @property
    def is_due(self) -> bool:
        """Something was read and isn't committed: don't wait for long before `tick`."""
        return self._is_due

    def note_read(self) -> None:
        self._is_due = True

    def tick(self) -> None:
        """Start a commit if one is due, none is under way, and the last was long enough ago."""
        now = asyncio.get_running_loop().time()
        is_busy = self._trying is not None and not self._trying.done()
        if self._is_due and not is_busy and now - self._tried_at >= EVERY.total_seconds():
            self._tried_at = now
            self._trying = asyncio.create_task(self.commit())

    async def commit(self) -> None:
        """One try. What fails is due again."""
        self._is_due = False
        try:
            async with asyncio.timeout(TRY_SECONDS):
                await self._consumer.commit()
        except (KafkaError, TimeoutError, OSError):
            self._is_due = True

    async def end(self) -> None:
        """Before the consumer stops: let go of a try under way, and make a last one if something is due."""
        if self._trying is not None:
            if not self._trying.done():
                self._is_due = True
            self._trying.cancel()
            await asyncio.gather(self._trying, return_exceptions=True)
        if self._is_due:
            await self.commit()

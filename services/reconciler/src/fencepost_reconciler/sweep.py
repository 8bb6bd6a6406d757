"""A sweep: list candidates without a lock, then lock, judge and record each in a transaction of its own.

Several reconcilers may run the same sweep. Each takes a row by SKIP LOCKED, and whoever comes second finds
it settled: the domain judges the locked row, never the list (case WF-2). One candidate that fails is
logged and passed over, and the walk goes on behind it, so it can't hide the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Final
from uuid import UUID

from fencepost_domain.errors import Unavailable
from fencepost_runtime.failpoints import ahit
from fencepost_runtime.logging import get_logger
from fencepost_store.runs import Locked, lock_run_if_free
from fencepost_store.sweeps import FIRST, Candidate, was_slow
from fencepost_store.transaction import Store, Tx

BATCH: Final = 100  # candidates a round: some 100 transactions, under a second

log = get_logger(__name__)

Find = Callable[[Tx, UUID, int], Awaitable[Sequence[Candidate]]]
Settle = Callable[[Tx, Locked, Candidate], Awaitable[str | None]]


class Sweep:
    """Walks `find` in key order, `batch` at a time, and calls `settle` with each locked run."""

    def __init__(self, store: Store, name: str, find: Find, settle: Settle, batch: int = BATCH) -> None:
        """settle: returns the word it is counted under, or None when there was nothing to do."""
        self.store = store
        self._name = name
        self._find = find
        self._settle = settle
        self._batch = batch
        self._after = FIRST

    async def run_once(self) -> dict[str, int]:
        """One batch. `more` asks to be called again at once; `failed` are logged, each by itself.

        Raises Unavailable when the database is not there.
        """
        async with self.store.transaction() as tx:
            found = await self._find(tx, self._after, self._batch)
        counts: Counter[str] = Counter()
        for candidate in found:
            if word := await self._settle_one(candidate):
                counts[word] += 1
        full = len(found) == self._batch
        self._after = found[-1].key if full else FIRST
        if full:
            counts["more"] = 1
        return dict(counts)

    async def _settle_one(self, candidate: Candidate) -> str | None:
        async def work(tx: Tx) -> str | None:
            locked = await lock_run_if_free(tx, candidate.run_id)
            word = await self._settle(tx, locked, candidate) if locked is not None else None
            if word is not None:
                await ahit(f"reconciler.{self._name}.before_commit")
            return word

        try:
            settled = await self.store.run(None, work)
        except Unavailable as error:
            if was_slow(error):
                return "busy"
            raise
        except Exception:
            log.exception("sweep.candidate_failed", sweep=self._name, run_id=str(candidate.run_id))
            return "failed"
        if settled is not None:
            await ahit(f"reconciler.{self._name}.after_commit")
        return settled

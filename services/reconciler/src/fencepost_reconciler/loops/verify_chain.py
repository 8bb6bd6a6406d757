"""Walks over all chains, a few runs a round, and says what doesn't verify (I20)."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from fencepost_runtime.logging import get_logger
from fencepost_runtime.telemetry import counter
from fencepost_store.integrity import next_chains
from fencepost_store.sweeps import FIRST
from fencepost_store.transaction import Store

EVERY: Final = timedelta(seconds=15)
BATCH: Final = 20  # runs a round: some thousand events, read in one short statement

log = get_logger(__name__)


class VerifyChain:
    def __init__(self, store: Store, batch: int = BATCH) -> None:
        self._store = store
        self._batch = batch
        self._after = FIRST
        self._broken = counter("fencepost.integrity.violations", "What the walk over the chains found broken")

    async def run_once(self) -> dict[str, int]:
        """`violations` found among the next runs; after the last one the walk starts again."""
        async with self._store.transaction() as tx:
            upto, found = await next_chains(tx, self._after, self._batch)
        self._after = upto or FIRST
        for violation in found:
            self._broken.add(1, {"check": violation.check})
            log.error(
                "integrity.violated",
                invariant=violation.invariant,
                check=violation.check,
                subject=violation.subject,
                detail=violation.detail,
            )
        return {"violations": len(found)}

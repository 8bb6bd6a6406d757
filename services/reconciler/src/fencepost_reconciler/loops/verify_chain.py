"""Walks over all chains, a few runs a round, and says what doesn't verify (I20)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID

from fencepost_domain.errors import Unavailable
from fencepost_runtime.logging import get_logger
from fencepost_runtime.telemetry import counter
from fencepost_store import integrity
from fencepost_store.integrity_chain import Violation
from fencepost_store.sweeps import FIRST, was_slow
from fencepost_store.transaction import Store

EVERY: Final = timedelta(seconds=15)
BATCH: Final = 20  # runs a round: some thousand events, read in one short statement

log = get_logger(__name__)


class VerifyChain:
    def __init__(self, store: Store, batch: int = BATCH) -> None:
        self._store = store
        self._batch = self._size = batch
        self._after = FIRST
        self._broken = counter("fencepost.integrity.violations", "What the walk over the chains found broken")

    async def run_once(self) -> dict[str, int]:
        """`violations` found among the next runs; after the last one the walk starts again."""
        async with self._store.transaction() as tx:
            upto, runs = await integrity.next_runs(tx, self._after, self._size)
        if upto is None:
            self._after = FIRST
            return {}
        try:
            async with self._store.transaction() as tx:
                found = await integrity.chains_between(tx, self._after, upto)
        except Unavailable as error:
            if not was_slow(error):
                raise
            return self._go_easier(upto, runs)
        self._after = upto if runs == self._size else FIRST
        self._size = min(2 * self._size, self._batch)
        self._tell(found)
        return {"violations": len(found)}

    def _go_easier(self, upto: UUID, runs: int) -> dict[str, int]:
        """Too much for one short statement: fewer runs, and past one that is too long by itself."""
        if runs > 1:
            self._size = max(runs // 4, 1)
            return {"more": 1}
        log.warning("integrity.run_too_long", run_id=str(upto), verify_with="fencepost verify")
        self._after = upto
        return {"too_long": 1}

    def _tell(self, found: Sequence[Violation]) -> None:
        for violation in found:
            self._broken.add(1, {"check": violation.check})
            log.error(
                "integrity.violated",
                invariant=violation.invariant,
                check=violation.check,
                subject=violation.subject,
                detail=violation.detail,
            )

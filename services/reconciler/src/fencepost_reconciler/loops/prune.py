"""Keeps the database small and its partitions ahead of their months."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from fencepost_runtime.logging import get_logger
from fencepost_store import sweeps
from fencepost_store.transaction import Store

EVERY: Final = timedelta(minutes=5)
BATCH: Final = 1_000  # rows a statement, so that it ends within the role's statement_timeout
MONTHS_AHEAD: Final = 2

log = get_logger(__name__)


class Prune:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def run_once(self) -> dict[str, int]:
        """Counts by table; `more` while a table had a full batch."""
        counts: dict[str, int] = {}
        async with self._store.transaction() as tx:
            counts["partitions"] = await sweeps.ensure_partitions(tx, MONTHS_AHEAD)
            if await sweeps.default_partition_is_used(tx):
                log.error("partitions.default_is_used", table="agent.run_events_default")
        for what in sweeps.PRUNED:
            async with self._store.transaction() as tx:
                counts[what] = await sweeps.prune(tx, what, BATCH)
        if any(counts[what] == BATCH for what in sweeps.PRUNED):
            counts["more"] = 1
        return counts

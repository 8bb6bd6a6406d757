"""Ends pauses that nobody ended: a pause has an expiry of its own, seven days by default."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from fencepost_store import sweeps
from fencepost_store.runs import Locked
from fencepost_store.transaction import Store, Tx

from fencepost_reconciler.loops.deadlines import stop_run
from fencepost_reconciler.sweep import Sweep
from fencepost_reconciler.words import Text

EVERY: Final = timedelta(seconds=10)  # of a wait of days


class PausedUntil:
    def __init__(self, store: Store) -> None:
        self._sweep = Sweep(store, "paused_until", sweeps.find_ended_pauses, settle)

    async def run_once(self) -> dict[str, int]:
        return await self._sweep.run_once()


async def settle(tx: Tx, locked: Locked, candidate: sweeps.Candidate) -> str | None:
    """None when somebody resumed or stopped it meanwhile."""
    if not await sweeps.has_pause_ended(tx, candidate.run_id):
        return None
    return await stop_run(tx, locked, why=Text.PAUSE_ENDED)

"""Passes a run's stop on to its children: no transaction locks a run and its parent (design 02 §2).

The parent drains meanwhile: it waits for its children, at most `drain_until`, and ends after them.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from fencepost_domain.vocabulary import Stop
from fencepost_store import sweeps
from fencepost_store.runs import Locked
from fencepost_store.transaction import Store, Tx

from fencepost_reconciler.loops.deadlines import stop_run
from fencepost_reconciler.sweep import Sweep
from fencepost_reconciler.words import Text

EVERY: Final = timedelta(seconds=1)


class StopChildren:
    def __init__(self, store: Store) -> None:
        self._sweep = Sweep(store, "stop_children", sweeps.find_children_to_stop, settle)

    async def run_once(self) -> dict[str, int]:
        return await self._sweep.run_once()


async def settle(tx: Tx, locked: Locked, candidate: sweeps.Candidate) -> str | None:
    """None when it ended, or is being stopped, by itself. A parent's stop is never taken back."""
    if not await sweeps.is_child_to_stop(tx, candidate.run_id):
        return None
    return await stop_run(tx, locked, stop=Stop.CANCEL, why=Text.PARENT_STOPPED)

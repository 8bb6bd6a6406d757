"""Wakes runs whose task ended: at once when the gateway rings, else by the next look.

The task's row says whether its run was told, so an end that nobody rang for is found all the same.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from fencepost_store import sweeps
from fencepost_store.runs import Locked
from fencepost_store.tasks import tell_task
from fencepost_store.transaction import Store, Tx

from fencepost_reconciler.loops import wake_runs
from fencepost_reconciler.sweep import Sweep

EVERY: Final = timedelta(seconds=0.25)


class TellTasks:
    def __init__(self, store: Store) -> None:
        self._sweep = Sweep(store, "tell_tasks", sweeps.find_untold_tasks, settle)

    async def run_once(self) -> dict[str, int]:
        return await self._sweep.run_once()


async def settle(tx: Tx, locked: Locked, candidate: sweeps.Candidate) -> str | None:
    """The run is queued when nothing it waits for is left; who doesn't wait has `wakes`."""
    if not await tell_task(tx, candidate.key):
        return None
    return await wake_runs.settle(tx, locked, candidate) or "told"

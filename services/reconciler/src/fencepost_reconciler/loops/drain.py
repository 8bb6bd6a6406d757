"""Ends cancelling runs that no worker drains: at once when nothing is open, else after `drain_until`.

What is still open then is listed as unconfirmed: its outcome is recorded when it comes, and amends nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID

from fencepost_domain.endings import decide_drained
from fencepost_domain.vocabulary import RunStatus, Stop
from fencepost_store import sweeps
from fencepost_store.record import record
from fencepost_store.runs import Locked
from fencepost_store.transaction import Store, Tx

from fencepost_reconciler.endings import message_of, stopped_by
from fencepost_reconciler.grace import Grace
from fencepost_reconciler.sweep import Sweep

EVERY: Final = timedelta(seconds=0.5)  # a person who cancelled looks at the screen


class Drain:
    def __init__(self, store: Store, grace: Grace) -> None:
        self._grace = grace
        self._sweep = Sweep(store, "drain", self._find, self.settle)

    async def run_once(self) -> dict[str, int]:
        return await self._sweep.run_once()

    async def _find(self, tx: Tx, after: UUID, batch: int) -> Sequence[sweeps.Candidate]:
        return await sweeps.find_drained(tx, after, batch, leases_count=self._grace.is_over())

    async def settle(self, tx: Tx, locked: Locked, _: sweeps.Candidate) -> str | None:
        """End the run by its `stop`. None when its owner is back, has ended it, or something is open."""
        run = locked.run
        if run.status is not RunStatus.CANCELLING:
            return None
        if not await sweeps.is_drained(tx, run.id, leases_count=self._grace.is_over()):
            return None
        finalization = await stopped_by(tx, run, run.stop or Stop.CANCEL)
        decision = decide_drained(run, None, finalization=finalization, message=message_of(tx, finalization))
        await record(tx, run, decision)
        return str(finalization.status)

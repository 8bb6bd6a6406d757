"""Takes runs from owners whose lease is past, so that another worker goes on with them (case WF-2)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID

from fencepost_domain.endings import decide_lease_expired
from fencepost_domain.errors import Unavailable
from fencepost_domain.vocabulary import RunStatus
from fencepost_store import sweeps
from fencepost_store.record import record
from fencepost_store.runs import Locked
from fencepost_store.transaction import Store, Tx

from fencepost_reconciler.endings import exhausted, message_of
from fencepost_reconciler.grace import Grace
from fencepost_reconciler.sweep import Sweep

EVERY: Final = timedelta(seconds=0.5)  # added to the lease before a take-over; settings may change it


class ExpireLeases:
    """Within the grace after an outage only what a slot's next boot gave up; the drain shares `grace`."""

    def __init__(self, store: Store, grace: Grace) -> None:
        self._sweep = Sweep(store, "expire_leases", self._find, self._settle)
        self._grace = grace

    async def run_once(self) -> dict[str, int]:
        """Raises Unavailable when the database doesn't answer; the grace then starts anew."""
        try:
            async with self._sweep.store.transaction() as tx:
                await sweeps.database_answers(tx)
            self._grace.answered()
            return await self._sweep.run_once()
        except Unavailable:
            self._grace.failed()
            raise

    async def _find(self, tx: Tx, after: UUID, batch: int) -> Sequence[sweeps.Candidate]:
        return await sweeps.find_expired_leases(tx, after, batch, leases_count=self._grace.is_over())

    async def _settle(self, tx: Tx, locked: Locked, candidate: sweeps.Candidate) -> str | None:
        if not self._grace.is_over() and not await sweeps.is_given_up(tx, locked.run.id):
            return None
        return await settle(tx, locked, candidate)


async def settle(tx: Tx, locked: Locked, _: sweeps.Candidate) -> str | None:
    """Queue the run again, or end it when its attempts are used up. None when the lease isn't past."""
    run = locked.run
    finalization = await exhausted(tx, run)
    decision = decide_lease_expired(
        run, tx.ids.uuid7(), now=locked.now, finalization=finalization, message=message_of(tx, finalization)
    )
    if decision is None:
        return None
    await record(tx, run, decision)
    return "exhausted" if decision.to is RunStatus.FAILED else "expired"

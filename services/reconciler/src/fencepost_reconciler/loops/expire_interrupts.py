"""Ends questions nobody answered in time: the actions expire, the run is woken and ends by its graph.

The expiry is part of a decision's own condition, so a late answer is refused even where this never ran.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from fencepost_domain.interrupt import Interrupt
from fencepost_domain.vocabulary import InterruptKind
from fencepost_store import interrupts, sweeps
from fencepost_store.runs import Locked
from fencepost_store.transaction import Store, Tx

from fencepost_reconciler.loops.deadlines import stop_run
from fencepost_reconciler.sweep import Sweep
from fencepost_reconciler.words import Text

EVERY: Final = timedelta(seconds=1)


class ExpireInterrupts:
    def __init__(self, store: Store) -> None:
        self._sweep = Sweep(store, "expire_interrupts", sweeps.find_expired_interrupts, settle)

    async def run_once(self) -> dict[str, int]:
        return await self._sweep.run_once()


async def settle(tx: Tx, locked: Locked, candidate: sweeps.Candidate) -> str | None:
    """None when it was answered meanwhile."""
    interrupt, _ = await interrupts.lock_interrupt(tx, candidate.key)
    if interrupt.kind is InterruptKind.VERSION:
        return await _end_unserved(tx, locked, interrupt)
    expired = await interrupts.expire(tx, locked.run, locked.now, interrupt)
    return "expired" if expired is not None else None


async def _end_unserved(tx: Tx, locked: Locked, interrupt: Interrupt) -> str | None:
    """Nobody would claim it to say that its time is over: it is ended here."""
    if not await interrupts.mark_expired(tx, locked.run, interrupt):
        return None
    return await stop_run(tx, locked, why=Text.VERSION_ENDED)

"""Stops runs that are out of time: at once when nobody is at work on them, else by a drain."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from fencepost_domain.endings import decide_stop
from fencepost_domain.vocabulary import TERMINAL, Stop
from fencepost_store import sweeps
from fencepost_store.record import record
from fencepost_store.runs import Locked, settled
from fencepost_store.transaction import Store, Tx

from fencepost_reconciler.endings import CODES, DECIDED_BY, message_of, stopped_by
from fencepost_reconciler.sweep import Sweep
from fencepost_reconciler.words import Text

EVERY: Final = timedelta(seconds=1)


class Deadlines:
    def __init__(self, store: Store) -> None:
        self._sweep = Sweep(store, "deadlines", sweeps.find_passed_deadlines, settle)

    async def run_once(self) -> dict[str, int]:
        return await self._sweep.run_once()


async def settle(tx: Tx, locked: Locked, _: sweeps.Candidate) -> str | None:
    """None when it ended, or waits for a person by now, whose time doesn't count."""
    run = locked.run
    if run.status in TERMINAL or run.deadline_at is None or run.deadline_at > locked.now:
        return None
    return await stop_run(tx, locked)


async def stop_run(
    tx: Tx, locked: Locked, *, stop: Stop = Stop.DEADLINE, why: Text | None = None
) -> str | None:
    """Stop a locked live run; None when it is being stopped already. why: finer than its stop says."""
    run = locked.run
    finalization = await stopped_by(tx, run, stop, why=why)
    decision = decide_stop(
        run,
        tx.ids.uuid7(),
        stop=stop,
        actor=DECIDED_BY,
        settled=await settled(tx, run),
        finalization=finalization,
        message=message_of(tx, finalization),
        note=CODES.get(why) if why else None,
    )
    if decision is None:
        return None
    await record(tx, run, decision)
    return str(finalization.status) if decision.to in TERMINAL else "stopping"

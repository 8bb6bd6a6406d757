"""Queues waiting runs whose wait is over: settled by a late outcome, a served version, an ended child.

Also the safety net below every other wake-up: a run that waits for what isn't open any more is queued here.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Final

from fencepost_domain.decision import Decision, NewEvent, NewFeed
from fencepost_domain.run import Run, decide_wake
from fencepost_domain.vocabulary import Ev
from fencepost_store import sweeps
from fencepost_store.record import record
from fencepost_store.runs import Locked
from fencepost_store.transaction import Store, Tx

from fencepost_reconciler.sweep import Sweep

EVERY: Final = timedelta(seconds=1)


class WakeRuns:
    def __init__(self, store: Store) -> None:
        self._sweep = Sweep(store, "wake_runs", sweeps.find_ended_waits, settle)

    async def run_once(self) -> dict[str, int]:
        return await self._sweep.run_once()


async def settle(tx: Tx, locked: Locked, candidate: sweeps.Candidate) -> str | None:
    """None when it is right to wait (again), or doesn't wait any more."""
    waited_on = await sweeps.ended_wait(tx, candidate.run_id)
    decision = decide_wake(locked.run, tx.ids.uuid7(), cause=f"{waited_on}_over", now=locked.now)
    if waited_on is None or decision is None:
        return None
    await record(tx, locked.run, await _with_withdrawn(tx, locked.run, decision))
    return "woken"


async def _with_withdrawn(tx: Tx, run: Run, decision: Decision) -> Decision:
    """What the world answered, nobody needs to answer: the question is withdrawn with the wake-up."""
    question = await sweeps.withdraw_open_interrupt(tx, run.id)
    if question is None:
        return decision
    told = {"interrupt_id": str(question.id), "kind": str(question.kind)}
    return replace(
        decision,
        events=(NewEvent(tx.ids.uuid7(), Ev.INTERRUPT_WITHDRAWN, told), *decision.events),
        feed=(NewFeed("interrupt.closed", {**told, "run_id": str(run.id)}), *decision.feed),
    )

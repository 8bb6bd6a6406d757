"""Queues waiting runs whose wait is over: settled by a late outcome, a served version, an ended child.

Also the safety net below every other wake-up: a run that waits for what isn't open any more is queued here.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Final
from uuid import UUID

from fencepost_domain.decision import Decision, NewEvent, NewFeed
from fencepost_domain.run import Run
from fencepost_domain.vocabulary import Ev, WaitingOn
from fencepost_domain.waits import decide_wake
from fencepost_store import sweeps
from fencepost_store.record import record
from fencepost_store.runs import Locked
from fencepost_store.transaction import Store, Tx

from fencepost_reconciler.sweep import Sweep

EVERY: Final = timedelta(seconds=1)
BATCH: Final = 1_000  # runs looked at a round, of each kind: some milliseconds


class WakeRuns:
    """Walks over each kind of wait by itself: many open questions don't delay who waits for a tool."""

    def __init__(self, store: Store, batch: int = BATCH) -> None:
        self._sweep = Sweep(store, "wake_runs", self._find, settle)
        self._batch = batch
        self._afters = dict.fromkeys(WaitingOn, sweeps.FIRST)

    async def run_once(self) -> dict[str, int]:
        return await self._sweep.run_once()

    async def _find(self, tx: Tx, _: UUID, __: int) -> list[sweeps.Candidate]:
        looked = await sweeps.look_at_waits(tx, self._afters, self._batch)
        self._afters = dict.fromkeys(WaitingOn, sweeps.FIRST)
        self._afters |= {one.kind: one.upto for one in looked if one.upto is not None}
        return [sweeps.Candidate(run_id, run_id) for one in looked for run_id in one.ended]


async def settle(tx: Tx, locked: Locked, candidate: sweeps.Candidate) -> str | None:
    """None when it is right to wait (again), or doesn't wait any more."""
    run = locked.run
    if run.waiting_on is None or not await sweeps.is_wait_over(tx, run.id, run.waiting_on):
        return None
    decision = decide_wake(run, tx.ids.uuid7(), cause=f"{run.waiting_on}_over", now=locked.now)
    if decision is None:
        return None
    await record(tx, run, await _with_withdrawn(tx, run, decision))
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

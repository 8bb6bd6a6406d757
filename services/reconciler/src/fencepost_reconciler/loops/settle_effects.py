"""Times out what can't be at work any more: effect attempts and model calls past their end.

A time-out is no proof of failure: both become `unknown`. Look-ups and repeats of effects that left the
house come with the classes that need them; of `none` and `local` nothing can have happened outside.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final
from uuid import UUID

from fencepost_domain.decision import Decision, NewEvent
from fencepost_domain.vocabulary import TERMINAL, Ev
from fencepost_runtime.failpoints import ahit
from fencepost_store import sweeps
from fencepost_store.record import record
from fencepost_store.runs import Locked
from fencepost_store.transaction import Store, Tx

from fencepost_reconciler.sweep import BATCH, Sweep

EVERY: Final = timedelta(seconds=2)  # attempts and calls last seconds to minutes


class SettleEffects:
    def __init__(self, store: Store) -> None:
        self._overdue: dict[UUID, list[sweeps.OverdueAttempt]] = {}
        self._sweep = Sweep(store, "settle_effects", self._find, self.settle)

    async def run_once(self) -> dict[str, int]:
        counts = await self._sweep.run_once()
        async with self._sweep.store.transaction() as tx:
            calls = await sweeps.time_out_model_calls(tx, BATCH)
            if calls:
                await ahit("reconciler.settle_effects.before_commit")
        if calls:
            await ahit("reconciler.settle_effects.after_commit")
            counts["calls_unknown"] = calls
        if calls == BATCH:
            counts["more"] = 1
        return counts

    async def _find(self, tx: Tx, after: UUID, batch: int) -> list[sweeps.Candidate]:
        self._overdue = {}
        for overdue in await sweeps.find_overdue_attempts(tx, after, batch):
            self._overdue.setdefault(overdue.run_id, []).append(overdue)
        return [sweeps.Candidate(run_id, run_id) for run_id in self._overdue]

    async def settle(self, tx: Tx, locked: Locked, candidate: sweeps.Candidate) -> str | None:
        """None when the outcomes came meanwhile. Moves no status; `wakes` tells who waits for the tool."""
        events = []
        for overdue in self._overdue[candidate.run_id]:
            effect = await sweeps.time_out_attempt(tx, overdue)
            if effect is not None:
                told = {"index": effect["index"], "tool": effect["tool"], "attempt": overdue.attempt}
                late = locked.run.status in TERMINAL
                events.append(NewEvent(tx.ids.uuid7(), Ev.ACTION_UNKNOWN, {**told, "late": late}))
        if not events:
            return None
        await record(tx, locked.run, Decision(None, sets={"wake": True}, events=tuple(events)))
        return "effects_unknown"

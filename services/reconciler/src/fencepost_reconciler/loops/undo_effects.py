"""Tells effects what became of undoing them: undone, standing as before, or a person's (ADR-0030)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from fencepost_domain.compensation import decide_undone
from fencepost_domain.decision import Decision, NewEvent
from fencepost_domain.vocabulary import TERMINAL, EffectState, Ev
from fencepost_store import compensation
from fencepost_store.record import record
from fencepost_store.runs import Locked
from fencepost_store.sweeps import Candidate
from fencepost_store.transaction import Store, Tx

from fencepost_reconciler.sweep import Sweep

EVERY: Final = timedelta(seconds=1)
_EVENT: Final = {
    EffectState.COMPENSATED: Ev.EFFECT_COMPENSATED,
    EffectState.COMPLETED: Ev.EFFECT_OBSERVED,
    EffectState.NEEDS_HUMAN: Ev.EFFECT_NEEDS_HUMAN,
}


class UndoEffects:
    def __init__(self, store: Store) -> None:
        self._sweep = Sweep(store, "undo_effects", compensation.find_undone, settle)

    async def run_once(self) -> dict[str, int]:
        return await self._sweep.run_once()


async def settle(tx: Tx, locked: Locked, candidate: Candidate) -> str | None:
    """None while its outcome isn't known. Moves no status: the first run may have ended long ago."""
    found = await compensation.lock_undone(tx, candidate.key)
    undone = decide_undone(found.undoing) if found is not None else None
    if found is None or undone is None:
        return None
    await compensation.end_compensation(tx, found.key, undone.state, undone.error)
    told: dict[str, Any] = {
        "effect_key": found.key, "index": found.index, "tool": found.tool, "state": str(undone.state),
        "by": found.undone_by or f"run:{found.run_id}", "run_id": str(found.run_id),
        "late": locked.run.status in TERMINAL,
    }  # fmt: skip
    if undone.error is not None:
        told["detail"] = undone.error["detail"]
    elif undone.state is EffectState.COMPLETED:
        told["detail"] = "somebody decided that it is not undone"
    event = NewEvent(tx.ids.uuid7(), _EVENT[undone.state], told)
    await record(tx, locked.run, Decision(None, events=(event,)))
    return str(undone.state)

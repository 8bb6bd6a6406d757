"""Finalizations that the reconciler writes, because the run's worker can't."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fencepost_domain.decision import Finalization, FinalMessage
from fencepost_domain.endings import stopped
from fencepost_domain.run import Run
from fencepost_domain.vocabulary import Reason, RunStatus, Stop
from fencepost_store.sweeps import Remains, remains_of
from fencepost_store.transaction import Tx

from fencepost_reconciler.words import Text, explain

DECIDED_BY: Final = "reconciler"
NOTHING_REMAINS: Final = Remains((), (), {})


CAUSES: Final[Mapping[Stop, Text]] = {
    Stop.CANCEL: Text.CANCELLED,
    Stop.DEADLINE: Text.DEADLINE,
    Stop.HANDOFF: Text.HANDED_OVER,
}
# Why a run was stopped, where it was for its own time: the finalization's code.
CODES: Final[Mapping[Text, str]] = {
    Text.PAUSE_ENDED: "pause_expired",
    Text.VERSION_ENDED: "version_expired",
    Text.SIMULATION_UNSERVED: "version_not_served",
    Text.PARENT_STOPPED: "parent_stopped",
}


async def stopped_by(tx: Tx, run: Run, stop: Stop, *, why: Text | None = None) -> Finalization:
    """The end of a stopped run; says what was done and names what is unconfirmed. Run locked."""
    remains = await remains_of(tx, run.id)
    return stopped(
        stop,
        explain(why or CAUSES[stop], remains, run.locale),
        DECIDED_BY,
        code=CODES.get(why) if why else None,
        evidence={"completed": [effect["effect_key"] for effect in remains.done]},
        left_undone=remains.undone,
        unconfirmed_effects=remains.unconfirmed,
        usage=remains.usage,
    )


async def exhausted(tx: Tx, run: Run) -> Finalization:
    """The end of a run whose attempts are used up without progress. Run locked.

    Remains are read only where the decision may need them: a take-over of many runs shouldn't wait for it.
    """
    remains = await remains_of(tx, run.id) if run.attempt >= run.max_attempts else NOTHING_REMAINS
    return Finalization(
        RunStatus.FAILED,
        Reason.ATTEMPTS_EXHAUSTED,
        explain(Text.ATTEMPTS, remains, run.locale),
        DECIDED_BY,
        evidence={"attempts": run.attempt},
        left_undone=remains.undone,
        unconfirmed_effects=remains.unconfirmed,
        usage=remains.usage,
    )


def message_of(tx: Tx, finalization: Finalization) -> FinalMessage:
    """The run's final message says what its finalization explains."""
    return FinalMessage(tx.ids.uuid7(), finalization.explanation)

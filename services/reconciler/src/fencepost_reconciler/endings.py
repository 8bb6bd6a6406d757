"""Finalizations that the reconciler writes, because the run's worker can't."""

from __future__ import annotations

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


async def stopped_by(tx: Tx, run: Run, stop: Stop, *, pause_ended: bool = False) -> Finalization:
    """The end of a cancelled run, or of one out of time; names what is unconfirmed. Run locked."""
    remains = await remains_of(tx, run.id)
    cause = Text.CANCELLED if stop is Stop.CANCEL else Text.PAUSE_ENDED if pause_ended else Text.DEADLINE
    return stopped(
        stop,
        explain(cause, remains, run.locale),
        DECIDED_BY,
        code="pause_expired" if pause_ended else None,
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

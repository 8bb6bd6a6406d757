"""Decisions that end a run, or take it from an owner that is gone.

Pure functions of the locked row, a command and the database's `now`; each returns a Decision, or None when
there is nothing to do, or raises what the caller is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from fencepost_domain.decision import Decision, Finalization, FinalMessage, NewEvent, NewOutbox
from fencepost_domain.errors import Conflict
from fencepost_domain.fence import Fence, FenceKind
from fencepost_domain.run import CANCEL, NO_LEASE, RESUMABLE, Run, move
from fencepost_domain.vocabulary import (
    TERMINAL,
    Ev,
    Reason,
    RunEvent,
    RunStatus,
    Stop,
)

STOPS: Final[Mapping[Stop, tuple[RunEvent, Ev]]] = {
    Stop.CANCEL: (RunEvent.CANCEL_ASKED, Ev.RUN_CANCEL_ASKED),
    Stop.DEADLINE: (RunEvent.DEADLINE_PASSED, Ev.RUN_DEADLINE_PASSED),
    Stop.HANDOFF: (RunEvent.HANDOFF_ASKED, Ev.RUN_HANDOFF_ASKED),
}
ENDS: Final[Mapping[Stop, tuple[RunStatus, Reason]]] = {
    Stop.CANCEL: (RunStatus.CANCELLED, Reason.USER_CANCELLED),
    Stop.DEADLINE: (RunStatus.EXPIRED, Reason.DEADLINE_EXCEEDED),
    Stop.HANDOFF: (RunStatus.BLOCKED, Reason.HANDED_OVER),
}


def decide_stop(
    run: Run,
    event_id: UUID,
    *,
    stop: Stop,
    actor: str,
    settled: bool,
    finalization: Finalization,
    message: FinalMessage,
    note: str | None = None,
    assignee: str | None = None,
) -> Decision | None:
    """Cancel, hand over, or stop at the deadline; None when it is being stopped already.

    settled: no open attempt and no live child. With no lease besides, the run ends at once with
    `finalization` and `message`; else it is drained by its owner or, after it, by the reconciler.
    """
    if run.status in TERMINAL:
        raise Conflict("run_finished", f"the run ended as {run.status}", {"status": str(run.status)})
    if run.status is RunStatus.CANCELLING:
        return None
    cause, kind = STOPS[stop]
    told = {"note": note, "assignee": assignee}
    event = NewEvent(event_id, kind, {name: said for name, said in told.items() if said is not None}, actor)
    clock: dict[str, Any] = {
        "deadline_at": None,
        "deadline_left": None,
        "paused_until": None,
        "waiting_on": None,
    }
    if run.status is not RunStatus.RUNNING and settled:
        return move(
            run,
            cause,
            finalization.status,
            sets={"stop": stop, "pause_asked": False, **clock},
            events=(event,),
            release=True,
            finalization=finalization,
            message=message,
        )
    return move(
        run,
        cause,
        RunStatus.CANCELLING,
        sets={"stop": stop, "pause_asked": False, "drain_from": True, **clock},
        events=(event,),
        outbox=(NewOutbox(CANCEL, run.module),),
    )


def decide_drained(
    run: Run, fence: Fence | None, *, finalization: Finalization, message: FinalMessage
) -> Decision:
    """End a cancelling run: by its owner, or by the reconciler once the lease is past."""
    return move(
        run,
        RunEvent.DRAINED,
        finalization.status,
        sets=dict(NO_LEASE),
        fence=fence,
        fence_kind=FenceKind.DRAIN if fence else None,
        release=True,
        finalization=finalization,
        message=message,
    )


def decide_finalize(
    run: Run,
    fence: Fence,
    *,
    finalization: Finalization,
    message: FinalMessage,
    events: tuple[NewEvent, ...] = (),
) -> Decision:
    """End a running run as the termination controller said, with its one final message."""
    return move(
        run,
        RunEvent.FINALIZED,
        finalization.status,
        sets={**NO_LEASE, "pause_asked": False},
        events=events,
        fence=fence,
        fence_kind=FenceKind.RECORD,
        release=True,
        finalization=finalization,
        message=message,
    )


def decide_lease_expired(
    run: Run, event_id: UUID, *, now: datetime, finalization: Finalization, message: FinalMessage
) -> Decision | None:
    """Take a run from an owner whose lease is past; None when it isn't (any more): case WF-2.

    A claim after a lost lease counts as an attempt only if nothing was checkpointed since the last
    counted one, or since the last lease that was lost: what was stored once doesn't excuse a run that
    kills every worker after it. When the attempts are used up the run fails with `finalization`.
    """
    if run.status is not RunStatus.RUNNING or run.lease_expires_at is None or run.lease_expires_at > now:
        return None
    counts = run.progress == run.attempt_progress
    event = NewEvent(event_id, Ev.RUN_LEASE_EXPIRED, {"owner": run.lease_owner or "", "counts": counts})
    if counts and run.attempt >= run.max_attempts:
        return move(
            run,
            RunEvent.ATTEMPTS_EXHAUSTED,
            RunStatus.FAILED,
            sets={**NO_LEASE, "pause_asked": False},
            events=(event,),
            release=True,
            finalization=finalization,
            message=message,
        )
    return move(
        run,
        RunEvent.LEASE_EXPIRED,
        RunStatus.QUEUED,
        sets={**NO_LEASE, "available_at": now, "next_counts": counts, "attempt_progress": True},
        events=(event,),
        outbox=(NewOutbox(RESUMABLE, run.module),),
    )


def stopped(stop: Stop, explanation: str, decided_by: str, **rest: Any) -> Finalization:
    """The finalization of a run that was cancelled, handed over, or ran out of time."""
    status, reason = ENDS[stop]
    return Finalization(status, reason, explanation, decided_by, **rest)

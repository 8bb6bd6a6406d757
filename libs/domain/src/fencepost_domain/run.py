"""Decisions about a run: pure functions of the locked row, a command and the database's `now`.

Each returns a Decision or raises what the caller is told. None reads a clock; `now` is what Postgres said
after the row was locked. The state table is checked for every change of status.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from fencepost_domain.decision import Decision, Finalization, FinalMessage, NewEvent, NewFeed, NewOutbox
from fencepost_domain.errors import Conflict, FenceLost
from fencepost_domain.fence import Fence, FenceKind
from fencepost_domain.transitions import check_transition
from fencepost_domain.vocabulary import (
    TERMINAL,
    WAITS_ON_A_PERSON,
    Ev,
    Reason,
    RunEvent,
    RunMode,
    RunStatus,
    Stop,
    WaitingOn,
)

REQUESTED: Final = "agent.run.requested.v1"
RESUMABLE: Final = "agent.run.resumable.v1"
CANCEL: Final = "agent.run.cancel.v1"
PERSON_WAITS: Final = timedelta(days=7)  # an open question or a pause nobody ends is ended after this
NO_LEASE: Final[Mapping[str, Any]] = {"lease_owner": None, "lease_expires_at": None, "claim_nonce": None}


@dataclass(frozen=True, slots=True)
class Run:
    """The run's row as locked. Instants aware UTC; `deadline_at` None means infinity."""

    id: UUID
    tenant_id: UUID
    user_id: str
    roles: tuple[str, ...]
    module: str
    mode: RunMode
    status: RunStatus
    waiting_on: WaitingOn | None
    stop: Stop | None
    pause_asked: bool
    revision: int
    attempt: int
    max_attempts: int
    progress: int
    attempt_progress: int
    wakes: int
    lease_owner: str | None
    lease_expires_at: datetime | None
    available_at: datetime | None
    deadline_at: datetime | None
    deadline_left: timedelta | None
    conversation_id: UUID
    graph_version: str
    event_seq: int
    locale: str
    zone: str | None
    rerouted: bool = False

    def fence(self) -> Fence:
        """The fence of the present owner. Raises FenceLost when nobody owns the run."""
        if self.lease_owner is None:
            raise FenceLost(self.id, "nobody holds a lease")
        return Fence(self.id, self.lease_owner, self.revision)


def check_fence(run: Run, fence: Fence, kind: FenceKind, now: datetime) -> None:
    """Raise FenceLost unless the fence still holds on the locked row at `now`."""
    wanted = RunStatus.CANCELLING if kind is FenceKind.DRAIN else RunStatus.RUNNING
    if run.status is not wanted:
        raise FenceLost(run.id, f"the run is {run.status}")
    if run.lease_owner != fence.owner or run.revision != fence.revision:
        raise FenceLost(run.id, f"revision {run.revision} belongs to another claim")
    if run.lease_expires_at is None or run.lease_expires_at <= now:
        raise FenceLost(run.id, "the lease is past")
    if kind is FenceKind.START and run.deadline_at is not None and run.deadline_at <= now:
        raise FenceLost(run.id, "the deadline is past")


def _move(run: Run, cause: RunEvent, to: RunStatus, **rest: Any) -> Decision:
    fence: Fence | None = rest.get("fence")
    # An owner that lost the run is told so, not that the state table knows no way: it drops the run.
    if fence is not None and (run.lease_owner != fence.owner or run.revision != fence.revision):
        raise FenceLost(run.id, f"the run is {run.status} at revision {run.revision}")
    check_transition(cause, run.status, to)
    feed = (NewFeed("run.status", {"run_id": str(run.id), "status": str(to)}), *rest.pop("feed", ()))
    return Decision(cause, to, feed=feed, **rest)


def _stop_clock(run: Run, now: datetime) -> dict[str, Any]:
    """The deadline stands still while a person is waited for or the run is paused."""
    if run.deadline_at is None:
        return {}
    return {"deadline_at": None, "deadline_left": max(run.deadline_at - now, timedelta(0))}


def _start_clock(run: Run, now: datetime) -> dict[str, Any]:
    if run.deadline_left is None:
        return {}
    return {"deadline_at": now + run.deadline_left, "deadline_left": None}


def decide_defer(
    run: Run, fence: Fence, event_id: UUID, *, wait: timedelta, reason: str, detail: str, now: datetime
) -> Decision:
    """Give the run back for a later attempt. The caller checks that attempts are left."""
    at = now + wait
    return _move(
        run,
        RunEvent.DEFERRED,
        RunStatus.QUEUED,
        sets={**NO_LEASE, "available_at": at, "next_counts": True},
        events=(
            NewEvent(
                event_id, Ev.RUN_DEFERRED, {"reason": reason, "detail": detail, "until": at.isoformat()}
            ),
        ),
        outbox=(NewOutbox(RESUMABLE, run.module, at),),
        fence=fence,
        fence_kind=FenceKind.RECORD,
    )


def decide_park(
    run: Run,
    fence: Fence,
    event_id: UUID,
    *,
    waiting_on: WaitingOn,
    wakes_seen: int,
    now: datetime,
    poll_at: datetime | None = None,
) -> Decision:
    """Park at an interrupt, or stay queued when `wakes` moved since the worker looked (case AP-6).

    wakes_seen: the counter as known before the worker looked for what it is about to wait for.
    poll_at: for `tool`, when the task is looked at first.
    """
    if run.wakes != wakes_seen:
        return _move(
            run,
            RunEvent.INTERRUPTED,
            RunStatus.QUEUED,
            sets={**NO_LEASE, "available_at": now, "next_counts": False},
            events=(NewEvent(event_id, Ev.RUN_PARKED, {"on": str(waiting_on), "woken_meanwhile": True}),),
            outbox=(NewOutbox(RESUMABLE, run.module),),
            fence=fence,
            fence_kind=FenceKind.RECORD,
        )
    person = waiting_on in WAITS_ON_A_PERSON
    sets = {
        **NO_LEASE,
        "waiting_on": waiting_on,
        "next_counts": False,
        **(_stop_clock(run, now) if person else {}),
    }
    if poll_at is not None:
        sets["available_at"] = poll_at
    return _move(
        run,
        RunEvent.INTERRUPTED,
        RunStatus.WAITING,
        sets=sets,
        events=(NewEvent(event_id, Ev.RUN_PARKED, {"on": str(waiting_on), "woken_meanwhile": False}),),
        fence=fence,
        fence_kind=FenceKind.RECORD,
        release=person,
    )


def decide_wake(run: Run, event_id: UUID, *, cause: str, now: datetime) -> Decision | None:
    """Queue a waiting run whose wait is over; None when it isn't waiting (wakes tells the worker then)."""
    if run.status is not RunStatus.WAITING:
        return None
    return _move(
        run,
        RunEvent.WOKEN,
        RunStatus.QUEUED,
        sets={"waiting_on": None, "available_at": now, **_start_clock(run, now)},
        events=(NewEvent(event_id, Ev.RUN_WOKEN, {"by": cause}),),
        outbox=(NewOutbox(RESUMABLE, run.module),),
    )


def decide_pause(run: Run, event_id: UUID, *, actor: str, now: datetime) -> Decision | None:
    """Pause now, or leave a mark for the owner; None when it is paused or marked already.

    Raises Conflict run_finished on a finished run, run_cancelling on one that is being stopped.
    """
    _check_live(run)
    if run.status is RunStatus.PAUSED or (run.status is RunStatus.RUNNING and run.pause_asked):
        return None
    if run.status is RunStatus.RUNNING:
        marked = NewEvent(event_id, Ev.RUN_PAUSE_ASKED, {"to": str(RunStatus.RUNNING)}, actor)
        return Decision(RunEvent.PAUSE_ASKED, None, {"pause_asked": True}, (marked,))
    event = NewEvent(event_id, Ev.RUN_PAUSE_ASKED, {"to": str(RunStatus.PAUSED)}, actor)
    return _move(
        run,
        RunEvent.PAUSE_ASKED,
        RunStatus.PAUSED,
        sets={"paused_until": now + PERSON_WAITS, **_stop_clock(run, now)},
        events=(event,),
        release=True,
    )


def decide_paused(run: Run, fence: Fence, event_id: UUID, *, now: datetime) -> Decision:
    """The owner reached a safe boundary and lets go."""
    return _move(
        run,
        RunEvent.PAUSED,
        RunStatus.PAUSED,
        sets={
            **NO_LEASE,
            "pause_asked": False,
            "next_counts": False,
            "paused_until": now + PERSON_WAITS,
            **_stop_clock(run, now),
        },
        events=(NewEvent(event_id, Ev.RUN_PAUSED),),
        fence=fence,
        fence_kind=FenceKind.RECORD,
        release=True,
    )


def decide_resume(
    run: Run, event_id: UUID, *, actor: str, still_open: WaitingOn | None, now: datetime
) -> Decision | None:
    """Go on after a pause: waiting while `still_open` is, else queued. None when it isn't paused."""
    _check_live(run)
    waits = RunStatus.WAITING if still_open else RunStatus.QUEUED
    to = run.status if run.status is RunStatus.RUNNING else waits
    on = {"on": str(still_open)} if to is RunStatus.WAITING else {}
    event = NewEvent(event_id, Ev.RUN_RESUMED, {"to": str(to), **on}, actor)
    if run.status is RunStatus.RUNNING and run.pause_asked:
        return Decision(RunEvent.RESUMED, None, {"pause_asked": False}, (event,))
    if run.status is not RunStatus.PAUSED:
        return None
    if still_open is not None:
        sets = {"waiting_on": still_open, "paused_until": None}
        return _move(run, RunEvent.RESUMED, RunStatus.WAITING, sets=sets, events=(event,))
    return _move(
        run,
        RunEvent.RESUMED,
        RunStatus.QUEUED,
        sets={"waiting_on": None, "paused_until": None, "available_at": now, **_start_clock(run, now)},
        events=(event,),
        outbox=(NewOutbox(RESUMABLE, run.module),),
    )


def _check_live(run: Run) -> None:
    if run.status in TERMINAL:
        raise Conflict("run_finished", f"the run ended as {run.status}", {"status": str(run.status)})
    if run.status is RunStatus.CANCELLING:
        raise Conflict("run_cancelling", "the run is being stopped", {"status": str(run.status)})


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
) -> Decision | None:
    """Cancel, or stop at the deadline; None when it is being stopped already.

    settled: no open attempt and no live child. With no lease besides, the run ends at once with
    `finalization` and `message`; else it is drained by its owner or, after it, by the reconciler.
    """
    if run.status in TERMINAL:
        raise Conflict("run_finished", f"the run ended as {run.status}", {"status": str(run.status)})
    if run.status is RunStatus.CANCELLING:
        return None
    cause = RunEvent.CANCEL_ASKED if stop is Stop.CANCEL else RunEvent.DEADLINE_PASSED
    kind = Ev.RUN_CANCEL_ASKED if stop is Stop.CANCEL else Ev.RUN_DEADLINE_PASSED
    event = NewEvent(event_id, kind, {"note": note} if note else {}, actor)
    clock: dict[str, Any] = {
        "deadline_at": None,
        "deadline_left": None,
        "paused_until": None,
        "waiting_on": None,
    }
    if run.status is not RunStatus.RUNNING and settled:
        return _move(
            run,
            cause,
            finalization.status,
            sets={"stop": stop, "pause_asked": False, **clock},
            events=(event,),
            release=True,
            finalization=finalization,
            message=message,
        )
    return _move(
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
    return _move(
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
    return _move(
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


def decide_reroute(run: Run, fence: Fence, event_id: UUID, *, module: str, now: datetime) -> Decision:
    """Hand over to another module: once, before any action. The caller checks both."""
    return _move(
        run,
        RunEvent.REROUTED,
        RunStatus.QUEUED,
        sets={
            **NO_LEASE,
            "module": module,
            "rerouted": True,
            "graph_version": "",
            "available_at": now,
            "next_counts": False,
        },
        events=(NewEvent(event_id, Ev.RUN_REROUTED, {"from": run.module, "to": module}),),
        outbox=(NewOutbox(REQUESTED, module),),
        fence=fence,
        fence_kind=FenceKind.RECORD,
    )


def decide_lease_expired(
    run: Run, event_id: UUID, *, now: datetime, finalization: Finalization, message: FinalMessage
) -> Decision | None:
    """Take a run from an owner whose lease is past; None when it isn't (any more): case WF-2.

    A claim after a lost lease counts as an attempt only if nothing was checkpointed since the last
    counted one; when the attempts are used up the run fails with `finalization`.
    """
    if run.status is not RunStatus.RUNNING or run.lease_expires_at is None or run.lease_expires_at > now:
        return None
    counts = run.progress == run.attempt_progress
    event = NewEvent(event_id, Ev.RUN_LEASE_EXPIRED, {"owner": run.lease_owner or "", "counts": counts})
    if counts and run.attempt >= run.max_attempts:
        return _move(
            run,
            RunEvent.ATTEMPTS_EXHAUSTED,
            RunStatus.FAILED,
            sets={**NO_LEASE, "pause_asked": False},
            events=(event,),
            release=True,
            finalization=finalization,
            message=message,
        )
    return _move(
        run,
        RunEvent.LEASE_EXPIRED,
        RunStatus.QUEUED,
        sets={**NO_LEASE, "available_at": now, "next_counts": counts},
        events=(event,),
        outbox=(NewOutbox(RESUMABLE, run.module),),
    )


def stopped(stop: Stop, explanation: str, decided_by: str, **rest: Any) -> Finalization:
    """The finalization of a run that was cancelled or ran out of time."""
    if stop is Stop.CANCEL:
        return Finalization(RunStatus.CANCELLED, Reason.USER_CANCELLED, explanation, decided_by, **rest)
    return Finalization(RunStatus.EXPIRED, Reason.DEADLINE_EXCEEDED, explanation, decided_by, **rest)

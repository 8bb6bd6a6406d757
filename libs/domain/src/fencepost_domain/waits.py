"""Decisions after which a run goes on later: deferred, parked, woken, paused, resumed, rerouted.

Pure functions of the locked row, a command and the database's `now`; each returns a Decision, or None when
there is nothing to do, or raises what the caller is told.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from fencepost_domain.decision import Decision, NewEvent, NewOutbox
from fencepost_domain.fence import Fence, FenceKind
from fencepost_domain.run import (
    NO_LEASE,
    PERSON_WAITS,
    REQUESTED,
    RESUMABLE,
    Run,
    check_live,
    move,
    start_clock,
    stop_clock,
)
from fencepost_domain.vocabulary import (
    WAITS_ON_A_PERSON,
    Ev,
    RunEvent,
    RunStatus,
    WaitingOn,
)


def decide_defer(
    run: Run, fence: Fence, event_id: UUID, *, wait: timedelta, reason: str, detail: str, now: datetime
) -> Decision:
    """Give the run back for a later attempt. The caller checks that attempts are left."""
    at = now + wait
    return move(
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
        return move(
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
        **(stop_clock(run, now) if person else {}),
    }
    if poll_at is not None:
        sets["available_at"] = poll_at
    return move(
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
    return move(
        run,
        RunEvent.WOKEN,
        RunStatus.QUEUED,
        sets={"waiting_on": None, "available_at": now, **start_clock(run, now)},
        events=(NewEvent(event_id, Ev.RUN_WOKEN, {"by": cause}),),
        outbox=(NewOutbox(RESUMABLE, run.module),),
    )


def decide_requeue(run: Run, *, now: datetime) -> Decision | None:
    """Make a queued run due at once, for an operator; None when it isn't queued, or is due already."""
    if run.status is not RunStatus.QUEUED or run.available_at is None or run.available_at <= now:
        return None
    return Decision(None, sets={"available_at": now}, outbox=(NewOutbox(RESUMABLE, run.module),))


def decide_unserved(run: Run, event_id: UUID, *, since: datetime, now: datetime) -> Decision | None:
    """Nobody serves the version it is bound to: it waits on it, and a person is asked. None unless queued.

    The question is opened in the same transaction; who serves the version again wakes it.
    """
    if run.status is not RunStatus.QUEUED:
        return None
    event = NewEvent(event_id, Ev.RUN_UNSERVED, {"graph": run.graph_version, "since": since.isoformat()})
    return move(
        run,
        RunEvent.UNSERVED,
        RunStatus.WAITING,
        sets={"waiting_on": WaitingOn.VERSION, **stop_clock(run, now)},
        events=(event,),
        release=True,
    )


def decide_pause(run: Run, event_id: UUID, *, actor: str, now: datetime) -> Decision | None:
    """Pause now, or leave a mark for the owner; None when it is paused or marked already.

    Raises Conflict run_finished on a finished run, run_cancelling on one that is being stopped.
    """
    check_live(run)
    if run.status is RunStatus.PAUSED or (run.status is RunStatus.RUNNING and run.pause_asked):
        return None
    if run.status is RunStatus.RUNNING:
        marked = NewEvent(event_id, Ev.RUN_PAUSE_ASKED, {"to": str(RunStatus.RUNNING)}, actor)
        return Decision(RunEvent.PAUSE_ASKED, None, {"pause_asked": True}, (marked,))
    event = NewEvent(event_id, Ev.RUN_PAUSE_ASKED, {"to": str(RunStatus.PAUSED)}, actor)
    return move(
        run,
        RunEvent.PAUSE_ASKED,
        RunStatus.PAUSED,
        # A mark left by an owner that is gone is spent: else the run would pause again after its resume.
        sets={"pause_asked": False, "paused_until": now + PERSON_WAITS, **stop_clock(run, now)},
        events=(event,),
        release=True,
    )


def decide_paused(run: Run, fence: Fence, event_id: UUID, *, now: datetime) -> Decision:
    """The owner reached a safe boundary and lets go."""
    return move(
        run,
        RunEvent.PAUSED,
        RunStatus.PAUSED,
        sets={
            **NO_LEASE,
            "pause_asked": False,
            "next_counts": False,
            "paused_until": now + PERSON_WAITS,
            **stop_clock(run, now),
        },
        events=(NewEvent(event_id, Ev.RUN_PAUSED),),
        fence=fence,
        fence_kind=FenceKind.RECORD,
        release=True,
    )


def decide_resume(
    run: Run, event_id: UUID, *, actor: str, still_open: WaitingOn | None, now: datetime
) -> Decision | None:
    """Go on after a pause: waiting while `still_open` is, else queued. None when it isn't paused.

    A pause that was only asked for is taken back, wherever the run is since.
    """
    check_live(run)
    waits = RunStatus.WAITING if still_open else RunStatus.QUEUED
    to = waits if run.status is RunStatus.PAUSED else run.status
    on = {"on": str(still_open)} if to is RunStatus.WAITING else {}
    event = NewEvent(event_id, Ev.RUN_RESUMED, {"to": str(to), **on}, actor)
    if run.status is not RunStatus.PAUSED:
        return Decision(RunEvent.RESUMED, None, {"pause_asked": False}, (event,)) if run.pause_asked else None
    if still_open is not None:
        sets = {"waiting_on": still_open, "paused_until": None}
        return move(run, RunEvent.RESUMED, RunStatus.WAITING, sets=sets, events=(event,))
    return move(
        run,
        RunEvent.RESUMED,
        RunStatus.QUEUED,
        sets={"waiting_on": None, "paused_until": None, "available_at": now, **start_clock(run, now)},
        events=(event,),
        outbox=(NewOutbox(RESUMABLE, run.module),),
    )


def decide_reroute(run: Run, fence: Fence, event_id: UUID, *, module: str, now: datetime) -> Decision:
    """Hand over to another module: once, before any action. The caller checks both."""
    return move(
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

"""A run as locked, and the steps every decision about it is made of.

`now` is what Postgres said after the row was locked; nothing here reads a clock. The state table is checked
for every change of status. Decisions themselves are in `waits` (the run goes on later) and `endings`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from fencepost_domain.decision import Decision, NewFeed
from fencepost_domain.errors import Conflict, FenceLost
from fencepost_domain.fence import Fence, FenceKind
from fencepost_domain.transitions import check_transition
from fencepost_domain.vocabulary import (
    TERMINAL,
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


def move(run: Run, cause: RunEvent, to: RunStatus, **rest: Any) -> Decision:
    fence: Fence | None = rest.get("fence")
    # An owner that lost the run is told so, not that the state table knows no way: it drops the run.
    if fence is not None and (run.lease_owner != fence.owner or run.revision != fence.revision):
        raise FenceLost(run.id, f"the run is {run.status} at revision {run.revision}")
    check_transition(cause, run.status, to)
    feed = (NewFeed("run.status", {"run_id": str(run.id), "status": str(to)}), *rest.pop("feed", ()))
    return Decision(cause, to, feed=feed, **rest)


def stop_clock(run: Run, now: datetime) -> dict[str, Any]:
    """The deadline stands still while a person is waited for or the run is paused."""
    if run.deadline_at is None:
        return {}
    return {"deadline_at": None, "deadline_left": max(run.deadline_at - now, timedelta(0))}


def start_clock(run: Run, now: datetime) -> dict[str, Any]:
    if run.deadline_left is None:
        return {}
    return {"deadline_at": now + run.deadline_left, "deadline_left": None}


def check_live(run: Run) -> None:
    if run.status in TERMINAL:
        raise Conflict("run_finished", f"the run ended as {run.status}", {"status": str(run.status)})
    if run.status is RunStatus.CANCELLING:
        raise Conflict("run_cancelling", "the run is being stopped", {"status": str(run.status)})

"""What operators ask and are told: why a run isn't moving, repairs; and the package of a handed-over run."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fencepost_domain.vocabulary import RunStatus, WaitingOn
from pydantic import StringConstraints

from fencepost_contracts.http import Note, Wire

Reason = Annotated[str, StringConstraints(min_length=1, max_length=500, pattern=r"\S")]
Assignee = Annotated[str, StringConstraints(min_length=1, max_length=255, pattern=r"^\S(.*\S)?$")]
RepairVerb = Literal["release_lease", "requeue", "expire_approval"]


class HandoffRequest(Wire):
    """POST /v1/runs/{id}/handoff. `assignee`: the user id of who is to go on, if anybody is named."""

    assignee: Assignee | None = None
    note: Annotated[Note, StringConstraints(min_length=1, pattern=r"\S")]


class HandoffView(Wire):
    """From what a person, or a run that `continues` this one, goes on."""

    run_id: UUID
    by: str
    at: datetime
    assignee: str | None
    note: str
    goal: str
    contract: dict[str, Any]
    done: tuple[dict[str, Any], ...]
    open_effects: tuple[dict[str, Any], ...]
    plan_left: tuple[dict[str, Any], ...]
    artifacts: tuple[Any, ...]
    next_step: str


class RepairRequest(Wire):
    """POST /v1/admin/runs/{id}/repairs. `reason` is kept in the run's log, with who ordered it."""

    verb: RepairVerb
    reason: Reason


class StuckView(Wire):
    """Why a live run isn't moving, and what would move it. Nothing of what was asked for in it.

    code: for machines. moved_by: time, person, worker, reconciler, provider, run or operator. until: when it
    is over at the latest; null where nothing says so. moving: at work, or about to be. repairs: verbs that
    apply (`settle_effect` is POST /v1/effects/{id}/resolution). warnings: attempts_nearly_used, overdue.
    """

    run_id: UUID
    tenant_id: UUID
    module: str
    user_id: str
    status: RunStatus
    waiting_on: WaitingOn | None
    code: str
    why: str
    what_moves_it: str
    moved_by: str
    moving: bool
    since: datetime
    until: datetime | None
    details: dict[str, Any]
    repairs: tuple[str, ...]
    warnings: tuple[str, ...]
    attempt: int
    max_attempts: int
    revision: int
    graph: str | None
    created_at: datetime

"""Decisions of people: one atomic step, judged on the locked row (design 02 §4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from fencepost_domain.errors import Conflict, Gone
from fencepost_domain.vocabulary import TERMINAL, InterruptKind, InterruptStatus, RunStatus


@dataclass(frozen=True, slots=True)
class Interrupt:
    """An interrupt's row as locked. `indexes` are the actions it asks for (empty for other kinds)."""

    id: UUID
    run_id: UUID
    kind: InterruptKind
    status: InterruptStatus
    indexes: tuple[int, ...]
    expires_at: datetime
    resolution: Mapping[str, Any] | None
    resolution_hash: str | None


@dataclass(frozen=True, slots=True)
class Resolved:
    """What to do with a decision. `fresh` False: it was decided the same way before; show the stored one."""

    fresh: bool


def decide_resolution(
    interrupt: Interrupt, run_status: RunStatus, resolution_hash: str, now: datetime
) -> Resolved:
    """May this decision be taken, or was it, or is it too late?

    resolution_hash: of the parsed decision, so that a repeated click is the same and another answer isn't.
    Raises Conflict already_resolved (with the stored one), Gone expired, Conflict run_finished or
    run_cancelling. Never refused because of the run's status otherwise.
    """
    if interrupt.status is InterruptStatus.RESOLVED:
        if interrupt.resolution_hash == resolution_hash:
            return Resolved(fresh=False)
        raise Conflict(
            "already_resolved",
            "it was decided otherwise before",
            {"resolution": dict(interrupt.resolution or {})},
        )
    if interrupt.status is InterruptStatus.EXPIRED or (
        interrupt.status is InterruptStatus.OPEN and interrupt.expires_at <= now
    ):
        raise Gone("interrupt_expired", f"it could be answered until {interrupt.expires_at.isoformat()}")
    if interrupt.status is InterruptStatus.WITHDRAWN:
        if run_status in TERMINAL:
            raise Gone("interrupt_withdrawn", f"it isn't asked any more: the run ended as {run_status}")
        raise Gone("interrupt_withdrawn", "the run asks something else now, or nothing; look at the run")
    if run_status in TERMINAL:
        raise Conflict("run_finished", f"the run ended as {run_status}", {"status": str(run_status)})
    if run_status is RunStatus.CANCELLING:
        raise Conflict("run_cancelling", "the run is being stopped", {"status": str(run_status)})
    return Resolved(fresh=True)

"""Why a live run isn't moving, and what would move it: one answer for every way a run can stand.

A pure function of what the tables say at one instant. Every live status has its rows here; `code` is for
machines, the sentences are the api's. `repairs` names what an operator may do about it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from fencepost_domain.vocabulary import InterruptKind, RunStatus, Stop, WaitingOn

SWEEP: Final = timedelta(seconds=10)  # what the reconciler should have done is overdue after this
RELEASE_LEASE: Final = "release_lease"
REQUEUE: Final = "requeue"
EXPIRE_APPROVAL: Final = "expire_approval"
SETTLE_EFFECT: Final = "settle_effect"


@dataclass(frozen=True, slots=True)
class Question:
    """The run's open interrupt."""

    id: str
    kind: InterruptKind
    risk: str | None
    asked_of: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class OpenEffect:
    """An effect that isn't settled. ends_at: of its open attempt; looked_at: when it is looked up next."""

    effect_key: str
    tool: str
    state: str
    ends_at: datetime | None
    looked_at: datetime | None

    def told(self) -> dict[str, str]:
        return {"effect_key": self.effect_key, "tool": self.tool, "state": self.state}


@dataclass(frozen=True, slots=True)
class Stands:
    """How a live run stands. holder: another run that has its conversation; before: one that is queued there
    ahead of it. owner_alive: the lease's owner is a registered worker. ahead: due runs of its tenant before
    it; tenants_ahead: tenants whose turn is earlier. moved_*: by whom and why its status changed last.
    """

    now: datetime
    status: RunStatus
    waiting_on: WaitingOn | None
    stop: Stop | None
    pause_asked: bool
    attempt: int
    max_attempts: int
    available_at: datetime
    lease_owner: str | None
    lease_expires_at: datetime | None
    paused_until: datetime | None
    drain_until: datetime | None
    deadline_at: datetime | None
    served: bool
    module_served: bool
    owner_alive: bool
    moved_at: datetime
    moved_by: str = ""
    moved_why: str = ""
    holder: str | None = None
    before: str | None = None
    question: Question | None = None
    effects: Sequence[OpenEffect] = ()
    model_call_ends_at: datetime | None = None
    children: int = 0
    ahead: int = 0
    tenants_ahead: int = 0


@dataclass(frozen=True, slots=True)
class Explained:
    """code, since when, until when at the latest (None: open), what moves it (`by`), and details.

    moving: it is at work or about to be; nothing is stuck. warnings: `attempts_nearly_used`, `overdue`.
    """

    code: str
    since: datetime
    by: str
    until: datetime | None = None
    moving: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)
    repairs: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def explain(s: Stands) -> Explained:
    """Total: every live status, and every kind of wait, has an answer."""
    match s.status:
        case RunStatus.QUEUED:
            found = _queued(s)
        case RunStatus.RUNNING:
            found = _running(s)
        case RunStatus.WAITING:
            found = _waiting(s)
        case RunStatus.PAUSED:
            by = {"paused_by": s.moved_by}
            found = Explained("paused", s.moved_at, "person", s.paused_until, details=by)
        case _:
            found = _cancelling(s)
    return _with_warnings(s, found)


def _queued(s: Stands) -> Explained:
    if s.available_at > s.now:
        why = {"reason": s.moved_why} if s.moved_why else {}
        return Explained("not_due", s.moved_at, "time", s.available_at, details=why, repairs=(REQUEUE,))
    if not s.module_served:
        return Explained("no_worker", s.moved_at, "operator")
    if not s.served:
        return Explained("version_not_served", s.moved_at, "operator")
    if s.holder is not None:
        return Explained("conversation_held", s.moved_at, "run", details={"run_id": s.holder})
    if s.before is not None:
        return Explained("behind_in_conversation", s.moved_at, "run", details={"run_id": s.before})
    line = {"ahead": s.ahead, "tenants_ahead": s.tenants_ahead}
    return Explained("in_line", max(s.moved_at, s.available_at), "worker", moving=True, details=line)


def _running(s: Stands) -> Explained:
    lease = s.lease_expires_at or s.now
    owner = {"owner": s.lease_owner}
    if lease <= s.now or not s.owner_alive:
        return Explained(
            "owner_silent", s.moved_at, "reconciler", lease, details=owner, repairs=(RELEASE_LEASE,)
        )
    if s.effects:
        return Explained(
            "tool_in_progress", s.moved_at, "provider", _ends(s.effects), moving=True,
            details={**owner, "effects": [e.told() for e in s.effects]}, repairs=(RELEASE_LEASE,),
        )  # fmt: skip
    code = "pausing" if s.pause_asked else "asking_model" if s.model_call_ends_at else "at_work"
    return Explained(
        code, s.moved_at, "worker", s.model_call_ends_at, moving=True, details=owner, repairs=(RELEASE_LEASE,)
    )


def _waiting(s: Stands) -> Explained:
    effects = {"effects": [e.told() for e in s.effects]} if s.effects else {}
    if s.question is not None:
        return _asked(s, s.question, effects)
    match s.waiting_on:
        case WaitingOn.TOOL if s.effects:
            until = _ends(s.effects) or max(s.available_at, s.now)
            return Explained("tool_in_progress", s.moved_at, "provider", until, details=effects)
        case WaitingOn.TOOL if s.available_at > s.now:
            return Explained("tool_in_progress", s.moved_at, "provider", s.available_at, repairs=(REQUEUE,))
        case WaitingOn.CHILD if s.children:
            return Explained("children", s.moved_at, "run", details={"children": s.children})
        case WaitingOn.VERSION if not s.served:
            return Explained("version_not_served", s.moved_at, "operator")
        case WaitingOn.RECONCILE if s.effects:
            settle = (SETTLE_EFFECT,)
            return Explained("needs_reconcile", s.moved_at, "person", details=effects, repairs=settle)
        case _:
            return Explained("wait_over", s.moved_at, "reconciler", repairs=(REQUEUE,))


_ASKED: Final[Mapping[InterruptKind, tuple[str, tuple[str, ...]]]] = {
    InterruptKind.APPROVAL: ("needs_approval", (EXPIRE_APPROVAL,)),
    InterruptKind.INPUT: ("needs_answer", (EXPIRE_APPROVAL,)),
    InterruptKind.RECONCILE: ("needs_reconcile", (SETTLE_EFFECT,)),
    InterruptKind.VERSION: ("version_not_served", ()),
}


def _asked(s: Stands, question: Question, effects: Mapping[str, Any]) -> Explained:
    code, repairs = _ASKED[question.kind]
    who = question.asked_of if question.kind in (InterruptKind.APPROVAL, InterruptKind.INPUT) else "operator"
    details = {"interrupt_id": question.id, "asked_of": who, **effects}
    if question.risk:
        details["risk"] = question.risk
    return Explained(code, s.moved_at, "person", question.expires_at, details=details, repairs=repairs)


def _cancelling(s: Stands) -> Explained:
    lease = s.lease_expires_at
    orphaned = s.lease_owner is not None and (lease is None or lease <= s.now or not s.owner_alive)
    details: dict[str, Any] = {"stop": str(s.stop or Stop.CANCEL), "effects": [e.told() for e in s.effects]}
    if s.lease_owner is not None:
        details["owner"] = s.lease_owner
    by = "provider" if s.effects else "reconciler" if orphaned or s.lease_owner is None else "worker"
    repairs = (RELEASE_LEASE,) if orphaned else ()
    return Explained("draining", s.moved_at, by, s.drain_until, moving=True, details=details, repairs=repairs)


def _ends(effects: Sequence[OpenEffect]) -> datetime | None:
    """When all of these are settled or judged at the latest; None where nothing says so."""
    ends = [e.ends_at or e.looked_at for e in effects]
    known = [at for at in ends if at is not None]
    return max(known) if known and len(known) == len(ends) else None


def _with_warnings(s: Stands, found: Explained) -> Explained:
    warnings = list(found.warnings)
    if s.status in (RunStatus.QUEUED, RunStatus.RUNNING) and s.attempt + 1 >= s.max_attempts:
        warnings.append("attempts_nearly_used")
    late = found.until is not None and found.until + SWEEP < s.now
    idle = found.code in ("wait_over", "in_line") and found.since + SWEEP < s.now
    if late or (idle and found.code == "wait_over"):
        warnings.append("overdue")  # somebody who should have moved it didn't: is a reconciler up?
    return Explained(
        found.code, found.since, found.by, found.until, found.moving and not late, found.details,
        found.repairs, tuple(warnings),
    )  # fmt: skip

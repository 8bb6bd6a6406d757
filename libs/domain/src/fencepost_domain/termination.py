"""The termination controller: the one pure function that says how a run ends.

The order is the law (design 04): policy violation, cancel, deadline, budget, required task failed,
acceptance met, no progress. An earlier row is never overruled by a later one, so nothing later can turn a
failure into a success.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fencepost_domain.vocabulary import Reason, RunStatus, Stop


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known about a run when it asks to end.

    unsettled: effects `started`, `unknown` or `needs_human`; with any of them nothing succeeds.
    completed: effects that completed. failure: what went wrong first, by its reason and finer code.
    """

    policy_violation: str | None = None
    stop: Stop | None = None
    deadline_passed: bool = False
    budget_exhausted: bool = False
    failure: Reason | None = None
    failure_code: str | None = None
    rejected: bool = False
    approval_expired: bool = False
    answered: bool = False
    completed: int = 0
    left_undone: tuple[str, ...] = ()
    unsettled: int = 0
    evidence: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ending:
    status: RunStatus
    reason: Reason
    code: str | None = None


def decide_termination(s: Standing) -> Ending:
    """How the run ends. Total: every standing has exactly one ending."""
    if s.policy_violation:
        return Ending(RunStatus.BLOCKED, Reason.POLICY_DENIED, s.policy_violation)
    if s.stop is Stop.CANCEL:
        return Ending(RunStatus.CANCELLED, Reason.USER_CANCELLED)
    if s.stop is Stop.HANDOFF:
        return Ending(RunStatus.BLOCKED, Reason.HANDED_OVER)
    if s.stop is Stop.DEADLINE or s.deadline_passed:
        return Ending(RunStatus.EXPIRED, Reason.DEADLINE_EXCEEDED)
    if s.approval_expired:
        return Ending(RunStatus.EXPIRED, Reason.APPROVAL_EXPIRED)
    if s.rejected:
        return Ending(RunStatus.CANCELLED, Reason.APPROVAL_REJECTED)
    partly = RunStatus.PARTIALLY_SUCCEEDED if s.completed and not s.unsettled else None
    if s.budget_exhausted:
        return Ending(partly or RunStatus.FAILED, Reason.BUDGET_EXHAUSTED)
    if s.failure is not None:
        return Ending(partly or RunStatus.FAILED, s.failure, s.failure_code)
    if s.unsettled:
        return Ending(RunStatus.BLOCKED, Reason.REQUIRED_TASK_FAILED, "effect_unsettled")
    if s.answered:
        return Ending(RunStatus.SUCCEEDED, Reason.ACCEPTANCE_MET)
    return Ending(partly or RunStatus.FAILED, Reason.NO_PROGRESS)

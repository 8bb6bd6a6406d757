"""The termination controller: the one pure function that says how a run ends.

The order is the law (design 04): policy violation, cancel, deadline, budget, required task failed,
acceptance met, no progress. An earlier row is never overruled by a later one, so nothing later can turn a
failure into a success. Success needs an answer and, where a task contract holds, every hard requirement of
it proven. A run that ends at a limit with something done or delivered ends as `partially_succeeded`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from fencepost_domain.acceptance import Acceptance
from fencepost_domain.vocabulary import Reason, RunStatus, Stop

# Failures after which a person must look, whatever was done before: they end as `blocked`.
BLOCKING: Final = frozenset({Reason.VERSION_REVOKED, Reason.POLICY_DENIED})
BLOCKING_CODES: Final = frozenset({"diverged"})


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known about a run when it asks to end.

    unsettled: effects `started`, `unknown` or `needs_human`; with any of them nothing succeeds.
    completed: effects that completed and whose result stands (a file that its gate refused doesn't).
    delivered: files and drafts the user gets though the whole isn't done. failure: what went wrong first, by
    its reason and finer code. acceptance: the contract's judgement, None where no contract holds.
    stalled: code of the no-progress detection.
    """

    policy_violation: str | None = None
    stop: Stop | None = None
    deadline_passed: bool = False
    budget_exhausted: bool = False
    budget_code: str | None = None
    failure: Reason | None = None
    failure_code: str | None = None
    rejected: bool = False
    approval_expired: bool = False
    answered: bool = False
    completed: int = 0
    delivered: int = 0
    left_undone: tuple[str, ...] = ()
    unsettled: int = 0
    acceptance: Acceptance | None = None
    stalled: str | None = None
    evidence: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ending:
    """unproven: hard requirements that keep it from success, for the user's text and the record."""

    status: RunStatus
    reason: Reason
    code: str | None = None
    unproven: tuple[str, ...] = ()


def decide_termination(s: Standing) -> Ending:
    """How the run ends. Total: every standing has exactly one ending."""
    if s.policy_violation:
        return Ending(RunStatus.BLOCKED, Reason.POLICY_DENIED, s.policy_violation)
    if s.failure in BLOCKING or s.failure_code in BLOCKING_CODES:
        return Ending(RunStatus.BLOCKED, s.failure or Reason.REQUIRED_TASK_FAILED, s.failure_code)
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
    return _decide_by_work(s)


def _decide_by_work(s: Standing) -> Ending:
    """The rows from the budget on: what was done decides between failed and partly."""
    something = (s.completed or s.delivered) and not s.unsettled
    short = RunStatus.PARTIALLY_SUCCEEDED if something else RunStatus.FAILED
    unproven = s.acceptance.open if s.acceptance is not None else ()
    if s.budget_exhausted:
        return Ending(short, Reason.BUDGET_EXHAUSTED, s.budget_code, unproven)
    if s.failure is not None:
        return Ending(short, s.failure, s.failure_code, unproven)
    if s.unsettled:
        return Ending(RunStatus.BLOCKED, Reason.REQUIRED_TASK_FAILED, "effect_unsettled", unproven)
    if s.answered and unproven and not s.stalled:
        # It came to its end by itself and what was asked for isn't there: words in its place are no success.
        return Ending(short, Reason.REQUIRED_TASK_FAILED, "requirement_unproven", unproven)
    if s.answered and not unproven:
        return Ending(RunStatus.SUCCEEDED, Reason.ACCEPTANCE_MET)
    code = s.stalled or ("requirement_unproven" if unproven else None)
    return Ending(short, Reason.NO_PROGRESS, code, unproven)

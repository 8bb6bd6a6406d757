"""The termination controller over every standing, judged by the order of design 04 written out as a list."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import pytest
from fencepost_domain.acceptance import Acceptance
from fencepost_domain.endings import ENDS
from fencepost_domain.termination import Ending, Standing, decide_termination
from fencepost_domain.vocabulary import Reason, RunStatus, Stop

UNMET = Acceptance(missing=("artifact_exists",), failed=("language_matches",))
FAILURES = (
    (None, None),
    (Reason.REQUIRED_TASK_FAILED, "tool_failed"),
    (Reason.QUALITY_FAILED, "response_quality_failed"),
    (Reason.VERSION_REVOKED, "definition"),
    (Reason.REQUIRED_TASK_FAILED, "diverged"),
)
# Row by row: (does it hold, how it ends). The first that holds decides; nothing after it is looked at.
LAW: list[tuple[Callable[[Standing], bool], Callable[[Standing], tuple[RunStatus, Reason]]]] = [
    (lambda s: bool(s.policy_violation), lambda s: (RunStatus.BLOCKED, Reason.POLICY_DENIED)),
    (
        lambda s: s.failure is Reason.VERSION_REVOKED or s.failure_code == "diverged",
        lambda s: (RunStatus.BLOCKED, s.failure or Reason.REQUIRED_TASK_FAILED),
    ),
    (lambda s: s.stop is Stop.CANCEL, lambda s: (RunStatus.CANCELLED, Reason.USER_CANCELLED)),
    (lambda s: s.stop is Stop.HANDOFF, lambda s: (RunStatus.BLOCKED, Reason.HANDED_OVER)),
    (
        lambda s: s.stop is Stop.DEADLINE or s.deadline_passed,
        lambda s: (RunStatus.EXPIRED, Reason.DEADLINE_EXCEEDED),
    ),
    (lambda s: s.approval_expired, lambda s: (RunStatus.EXPIRED, Reason.APPROVAL_EXPIRED)),
    (lambda s: s.rejected, lambda s: (RunStatus.CANCELLED, Reason.APPROVAL_REJECTED)),
    (lambda s: s.budget_exhausted, lambda s: (partly(s), Reason.BUDGET_EXHAUSTED)),
    (lambda s: s.failure is not None, lambda s: (partly(s), s.failure or Reason.NO_PROGRESS)),
    (lambda s: s.unsettled > 0, lambda s: (RunStatus.BLOCKED, Reason.REQUIRED_TASK_FAILED)),
    (
        lambda s: s.answered and s.acceptance is not None and not s.acceptance.met and not s.stalled,
        lambda s: (partly(s), Reason.REQUIRED_TASK_FAILED),
    ),
    (
        lambda s: s.answered and (s.acceptance is None or s.acceptance.met),
        lambda s: (RunStatus.SUCCEEDED, Reason.ACCEPTANCE_MET),
    ),
    (lambda s: True, lambda s: (partly(s), Reason.NO_PROGRESS)),
]


def partly(s: Standing) -> RunStatus:
    has = (s.completed > 0 or s.delivered > 0) and not s.unsettled
    return RunStatus.PARTIALLY_SUCCEEDED if has else RunStatus.FAILED


def every_standing() -> Iterator[Standing]:
    yes = (False, True)
    stops = (None, Stop.CANCEL, Stop.HANDOFF, Stop.DEADLINE)
    acceptances = (None, Acceptance(), UNMET)
    axes = ((None, "tool_not_allowed"), stops, yes, yes, yes, yes, FAILURES, yes, (0, 2), (0, 1), (0, 1))
    for policy, stop, late, expired, no, budget, failure, answered, done, files, open_, accepted in product(
        *axes, acceptances
    ):
        yield Standing(
            policy_violation=policy, stop=stop, deadline_passed=late, approval_expired=expired,
            rejected=no, budget_exhausted=budget, budget_code="model_calls" if budget else None,
            failure=failure[0], failure_code=failure[1], answered=answered, completed=done, delivered=files,
            unsettled=open_, acceptance=accepted,
        )  # fmt: skip


def test_every_standing_ends_as_the_first_row_of_the_law_says() -> None:
    seen = 0
    for standing in every_standing():
        expected = next(ends(standing) for holds, ends in LAW if holds(standing))
        ending = decide_termination(standing)
        assert (ending.status, ending.reason) == expected, standing
        seen += 1

    assert seen == 30_720


def test_success_needs_an_answer_every_requirement_and_no_open_effect() -> None:
    succeeded = [s for s in every_standing() if decide_termination(s).status is RunStatus.SUCCEEDED]

    assert succeeded
    assert all(
        s.answered and not s.unsettled and s.failure is None and not s.budget_exhausted for s in succeeded
    )
    assert all(s.acceptance is None or s.acceptance.met for s in succeeded)


def test_an_ending_names_what_was_not_proven() -> None:
    ending = decide_termination(Standing(answered=True, completed=1, acceptance=UNMET))

    assert ending == Ending(
        RunStatus.PARTIALLY_SUCCEEDED,
        Reason.REQUIRED_TASK_FAILED,
        "requirement_unproven",
        ("language_matches", "artifact_exists"),
    )


def test_a_run_that_went_in_circles_says_so() -> None:
    ending = decide_termination(Standing(answered=True, acceptance=UNMET, stalled="repeated_action"))

    assert (ending.status, ending.reason, ending.code) == (
        RunStatus.FAILED,
        Reason.NO_PROGRESS,
        "repeated_action",
    )


@pytest.mark.parametrize("stop", list(ENDS))
def test_a_stopped_run_ends_as_the_controller_says(stop: Stop) -> None:
    ending = decide_termination(Standing(stop=stop))

    assert (ending.status, ending.reason) == ENDS[stop]

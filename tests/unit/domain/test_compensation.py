"""What became of undoing an effect: every end of the compensating run, by every state of its own effect."""

from __future__ import annotations

import pytest
from fencepost_domain.compensation import DONE, NOT_DONE, Undoing, decide_undone
from fencepost_domain.effect import check_effect_transition
from fencepost_domain.vocabulary import TERMINAL, EffectState, Reason, RunStatus

S = EffectState
LIVE = frozenset(RunStatus) - TERMINAL
OPEN = frozenset(EffectState) - DONE - NOT_DONE


@pytest.mark.parametrize("status", RunStatus)
@pytest.mark.parametrize("state", sorted(DONE))
def test_what_was_done_is_compensated_whatever_becomes_of_the_run(status: RunStatus, state: S) -> None:
    undone = decide_undone(Undoing(status, None, state))
    assert undone is not None and undone.state is S.COMPENSATED


@pytest.mark.parametrize("state", [None, *sorted(OPEN | NOT_DONE)])
def test_nothing_is_said_while_its_run_may_still_do_it(state: S | None) -> None:
    assert all(decide_undone(Undoing(status, None, state)) is None for status in LIVE)


@pytest.mark.parametrize("state", sorted(OPEN))
def test_what_is_not_known_stays_so_until_it_is_settled(state: S) -> None:
    assert all(decide_undone(Undoing(status, Reason.NO_PROGRESS, state)) is None for status in TERMINAL)


@pytest.mark.parametrize("state", sorted(NOT_DONE))
def test_what_failed_is_a_persons_with_the_reason(state: S) -> None:
    error = {"code": "rejected", "detail": "HTTP 422: too late"}
    undone = decide_undone(Undoing(RunStatus.FAILED, Reason.REQUIRED_TASK_FAILED, state, error))
    assert undone is not None and undone.state is S.NEEDS_HUMAN
    assert undone.error == {"code": "compensation_failed", "detail": "it was not undone: HTTP 422: too late"}


@pytest.mark.parametrize("reason", Reason)
def test_never_opened_it_stands_where_somebody_decided_so_and_else_a_person_is_asked(reason: Reason) -> None:
    undone = decide_undone(Undoing(RunStatus.CANCELLED, reason, None))
    decided = reason in (Reason.APPROVAL_REJECTED, Reason.USER_CANCELLED)
    assert undone is not None and undone.state is (S.COMPLETED if decided else S.NEEDS_HUMAN)
    check_effect_transition(S.COMPENSATING, undone.state)

"""The recovery gate's judgement: each check gives each of its answers, and the hardest is the gate's."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fencepost_domain.recovery import (
    SEEN_WITHIN,
    Answer,
    EffectFact,
    Facts,
    PendingAction,
    Person,
    judge,
)
from fencepost_domain.vocabulary import EffectClass, EffectState

NOW = datetime(2026, 3, 4, 10, tzinfo=UTC)
USER = frozenset({"user"})
REQUESTER = Person(USER, USER, NOW - timedelta(hours=1))
QUIET = Facts(NOW, "", REQUESTER)
APPROVED = PendingAction(
    0, 1, "life.create_reminder", is_approved=True, needs_approval=True,
    token_expires_at=NOW + timedelta(days=1), decided_by="user-1", decider_roles=("user",),
)  # fmt: skip


def effect(
    state: EffectState, ends: int | None, kind: EffectClass = EffectClass.EXTERNAL_IDEMPOTENT
) -> EffectFact:
    return EffectFact(
        0, "work.send", kind, state, NOW + timedelta(seconds=ends) if ends is not None else None
    )


def seen(**more: Any) -> Facts:
    return replace(QUIET, requester=replace(REQUESTER, **more))


def pending(**more: Any) -> Facts:
    return replace(QUIET, pending=[replace(APPROVED, **more)])


CASES = {
    "all is well": (QUIET, "binding", Answer.OK),
    "tampered": (replace(QUIET, broken="catalog_tampered"), "binding", Answer.STOP),
    "an attempt in progress": (
        replace(QUIET, effects=[effect(EffectState.STARTED, 30)]), "effects", Answer.WAIT),
    "in progress, though opaque": (
        replace(QUIET, effects=[effect(EffectState.STARTED, 30, EffectClass.EXTERNAL_OPAQUE)]),
        "effects", Answer.WAIT),
    "looked up": (replace(QUIET, effects=[effect(EffectState.UNKNOWN, None)]), "effects", Answer.WAIT),
    "ended and not timed out yet": (
        replace(QUIET, effects=[effect(EffectState.STARTED, -1)]), "effects", Answer.WAIT),
    "a person's to say": (
        replace(QUIET, effects=[effect(EffectState.NEEDS_HUMAN, None)]), "effects", Answer.HUMAN),
    "opaque and unknown": (
        replace(QUIET, effects=[effect(EffectState.UNKNOWN, None, EffectClass.EXTERNAL_OPAQUE)]),
        "effects", Answer.HUMAN),
    "a call without its result": (pending(is_approved=False), "tool_calls", Answer.REPAIR),
    "a call that was approved and comes next": (pending(), "tool_calls", Answer.OK),
    "approved and it holds": (pending(), "approvals", Answer.OK),
    "prepared too long ago": (pending(token_expires_at=NOW), "approvals", Answer.REPAIR),
    "its contract was changed": (pending(changed="changed since"), "approvals", Answer.REPAIR),
    "an approver nobody knows": (pending(decider_roles=None), "approvals", Answer.REPAIR),
    "an approver without the role": (
        pending(decider_roles=("user",), needed_roles=("approver",)), "approvals", Answer.REPAIR),
    "an approver with it": (
        pending(decider_roles=("approver",), needed_roles=("approver",)), "approvals", Answer.OK),
    "not approved, so nothing to void": (
        pending(is_approved=False, decider_roles=None), "approvals", Answer.OK),
    "never seen": (seen(roles=None, seen_at=None), "rights", Answer.HUMAN),
    "not seen for long": (seen(seen_at=NOW - SEEN_WITHIN), "rights", Answer.HUMAN),
    "seen just within": (seen(seen_at=NOW - SEEN_WITHIN + timedelta(seconds=1)), "rights", Answer.OK),
    "other roles altogether": (seen(roles=frozenset({"approver"})), "rights", Answer.HUMAN),
    "more roles": (seen(roles=USER | {"approver"}), "rights", Answer.OK),
    "confirmed": (seen(roles=None, seen_at=None, confirmed_at=NOW), "rights", Answer.OK),
    "confirmed too long ago": (
        seen(roles=None, seen_at=None, confirmed_at=NOW - SEEN_WITHIN), "rights", Answer.HUMAN),
    "told to stop": (seen(confirmed_at=NOW, said_stop=True), "rights", Answer.STOP),
    "nobody answered": (seen(never_answered=True), "rights", Answer.STOP),
    "a lost file": (replace(QUIET, artifacts_bad=["a1"]), "artifacts", Answer.REPAIR),
    "no access to the model": (replace(QUIET, secrets_missing=["gpt"]), "secrets", Answer.WAIT),
    "a lineage over its budget": (
        replace(QUIET, limits={"actions": 2}, spent={"actions": 3}), "budget", Answer.STOP),
    "used up but not exceeded": (
        replace(QUIET, limits={"actions": 2, "cost": "0.10"}, spent={"actions": 2, "cost": "0.1"}),
        "budget", Answer.OK),
    "others spoke": (replace(QUIET, said_since=2), "changed", Answer.REPAIR),
    "state moved": (replace(QUIET, state_since=1), "changed", Answer.REPAIR),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_check_gives_each_of_its_answers(case: str) -> None:
    facts, name, answer = CASES[case]
    verdict = judge(facts)
    found = {check.name: check for check in verdict.checks}
    assert found[name].answer is answer
    assert found[name].detail
    quiet = {check.name: check.answer for check in judge(QUIET).checks}
    others = {n for n, check in found.items() if check.answer is not quiet[n]} - {name, "tool_calls"}
    assert others == set(), "what is wrong in one place is said there alone"


def test_a_quiet_run_passes_every_check() -> None:
    verdict = judge(QUIET)
    assert {check.answer for check in verdict.checks} == {Answer.OK}
    assert [check.name for check in verdict.checks] == [
        "binding", "effects", "tool_calls", "approvals", "rights", "artifacts", "secrets", "budget",
        "changed",
    ]  # fmt: skip


def test_the_hardest_answer_is_the_gates() -> None:
    facts = replace(
        pending(token_expires_at=NOW), effects=[effect(EffectState.STARTED, 5)], secrets_missing=["gpt"]
    )
    verdict = judge(facts)
    assert (verdict.answer, verdict.deciding.name) == (Answer.WAIT, "effects")
    assert verdict.deciding.until == NOW + timedelta(seconds=5)
    assert judge(replace(facts, broken="graph_revoked")).answer is Answer.STOP


def test_only_what_does_not_hold_is_withdrawn() -> None:
    good, old = APPROVED, replace(APPROVED, index=1, token_expires_at=NOW - timedelta(seconds=1))
    verdict = judge(replace(QUIET, pending=[good, old]))
    assert [action.index for action in verdict.withdrawn] == [1]
    assert verdict.answer is Answer.REPAIR

"""May this preparation be committed now? Every way in which it may not (I12, I13)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from fencepost_domain.action import Action, Approval, check_commit, check_replace, edit_approves
from fencepost_domain.errors import Conflict
from fencepost_domain.policy import Rule
from fencepost_domain.vocabulary import ActionStatus, EffectClass, InterruptStatus, Risk

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
ACTION = Action(
    run_id=UUID(int=1),
    index=0,
    n=1,
    tenant_id=UUID(int=2),
    tool="life.x",
    tool_version="1",
    catalog_fp="c",
    arguments="{}",
    arguments_hash="h",
    author="u",
    risk=Risk.MEDIUM,
    effect_class=EffectClass.LOCAL,
    approval=True,
    status=ActionStatus.APPROVED,
    preview={},
    change={},
    precondition={},
    token_id=UUID(int=3),
    token_key_id="k",
    token_mac=b"",
    token_expires_at=NOW + HOUR,
    token_spent_at=None,
    interrupt_id=UUID(int=4),
    decided_by="u",
    prepared_at=NOW - HOUR,
)
APPROVAL = Approval(
    id=UUID(int=4),
    status=InterruptStatus.RESOLVED,
    indexes=(0,),
    opened_at=NOW - HOUR / 2,
    expires_at=NOW + HOUR,
    resolution={"decision": "approve"},
    resolved_by="u",
)
S, I = ActionStatus, InterruptStatus  # noqa: E741


def checked(action: Action = ACTION, approval: Approval | None = APPROVAL, **more: Any) -> str:
    """The code of the refusal, or ok."""
    told = {"edited_hash": None, "now": NOW, **more}
    try:
        check_commit(action, approval, **told)
    except Conflict as refused:
        return refused.code
    return "ok"


def test_an_approved_action_may_be_committed() -> None:
    assert checked() == "ok"
    assert checked(replace(ACTION, approval=False, status=S.PREPARED, risk=Risk.LOW), None) == "ok"


@pytest.mark.parametrize(
    ("action", "approval", "expected"),
    [
        ({"status": S.WITHDRAWN}, {}, "withdrawn"),
        ({"status": S.REJECTED}, {}, "rejected"),
        ({"status": S.EXPIRED}, {}, "approval_expired"),
        ({"status": S.COMMITTED}, {}, "token_spent"),
        ({"status": S.FAILED}, {}, "token_spent"),
        ({"token_spent_at": NOW}, {}, "token_spent"),
        ({"token_expires_at": NOW}, {}, "token_expired"),
        ({"status": S.PREPARED}, {}, "not_approved"),
        ({}, {"status": I.OPEN, "resolution": None}, "not_approved"),
        ({}, {"status": I.OPEN, "resolution": None, "expires_at": NOW}, "approval_expired"),
        ({}, {"status": I.EXPIRED, "resolution": None, "expires_at": NOW}, "approval_expired"),
        ({}, {"status": I.WITHDRAWN, "resolution": None}, "not_approved"),
        ({}, {"expires_at": NOW}, "approval_expired"),
        ({}, {"resolution": {"decision": "reject"}}, "rejected"),
        ({}, {"resolution": {}}, "rejected"),
        ({}, {"resolution": {"decisions": []}}, "not_approved"),
        ({}, {"resolution": {"decisions": [{"index": 1, "decision": "approve"}]}}, "not_approved"),
        ({}, {"resolution": {"decisions": [{"index": 0, "decision": "reject"}]}}, "rejected"),
        ({}, {"resolution": {"decisions": [{"index": 0, "decision": "approve"}]}}, "ok"),
        ({}, {"indexes": (1,)}, "not_approved"),
        ({}, {"opened_at": NOW - 2 * HOUR}, "not_approved"),
        ({"prepared_at": None}, {}, "not_approved"),
    ],
)
def test_i12_each_way_in_which_it_is_not_approved(
    action: dict[str, Any], approval: dict[str, Any], expected: str
) -> None:
    assert checked(replace(ACTION, **action), replace(APPROVAL, **approval)) == expected


def test_i12_an_approval_of_edited_arguments_approves_exactly_those() -> None:
    assert checked(edited_hash="other") == "not_approved"
    assert checked(replace(ACTION, n=2, prepared_at=NOW), edited_hash="h") == "ok"
    assert checked(approval=None) == "not_approved"


def test_a_later_preparation_takes_the_place_of_what_was_neither_tried_nor_refused() -> None:
    for status, opened, expected in (
        (S.PREPARED, False, "ok"),
        (S.APPROVED, False, "ok"),
        (S.WITHDRAWN, False, "ok"),
        (S.EXPIRED, False, "ok"),
        (S.REJECTED, False, "rejected"),
        (S.COMMITTED, False, "reconcile"),
        (S.FAILED, False, "reconcile"),
        (S.PREPARED, True, "reconcile"),
    ):
        found = "ok"
        try:
            check_replace(replace(ACTION, status=status), effect_opened=opened)
        except Conflict as refused:
            found = refused.code
        assert found == expected, status


@pytest.mark.parametrize(
    ("approval", "more", "expected"),
    [
        ({}, {}, True),
        ({"resolved_by": "boss"}, {"editor_roles": ("approver",)}, True),
        ({"resolved_by": "boss"}, {"editor_roles": ()}, False),
        ({}, {"rule": Rule(four_eyes=True)}, False),
        ({"resolved_by": "boss"}, {"editor_roles": ("approver",), "rule": Rule(four_eyes=True)}, False),
        ({"resolved_by": "boss"}, {"editor_roles": ("approver",), "rule": Rule(quorum=2)}, False),
        ({}, {"edited_hash": None}, "not_approved"),
        ({}, {"edited_hash": "other"}, "not_approved"),
        ({"resolution": {"decision": "reject"}}, {}, "not_approved"),
        ({"indexes": (1,)}, {}, "not_approved"),
        ({"expires_at": NOW}, {}, "approval_expired"),
    ],
)
def test_an_editor_approves_at_once_only_where_nobody_else_has_to(
    approval: dict[str, Any], more: dict[str, Any], expected: bool | str
) -> None:
    told: dict[str, Any] = {
        "index": 0,
        "edited_hash": "h",
        "arguments_hash": "h",
        "editor_roles": ("user",),
        "requester": "u",
        "rule": Rule(),
        "now": NOW,
        **more,
    }
    try:
        found: bool | str = edit_approves(replace(APPROVAL, **approval), **told)
    except Conflict as refused:
        found = refused.code
    assert found == expected

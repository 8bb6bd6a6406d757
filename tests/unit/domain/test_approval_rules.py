"""Who may decide, how many it takes, whether it stands today, and what a grant covers."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from fencepost_contracts.policies import ApprovalPolicy
from fencepost_contracts.tools import Approvers, Tool
from fencepost_domain.errors import Conflict, Forbidden
from fencepost_domain.grant import Grant, Today, check_grant, lapse_of, may_be_granted, status_of
from fencepost_domain.policy import Rule, Voter, check_may_decide, check_still_stands, tally
from fencepost_domain.vocabulary import EffectClass, Risk

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
FINANCE = frozenset({"approver.finance"})
ANN, BOSS, PEER = "ann", Voter("boss", frozenset({"approver"})), Voter("peer", frozenset({"approver"}))


@pytest.mark.parametrize(
    ("caller", "roles", "rule", "allowed"),
    [
        ("ann", {"user"}, Rule(), True),
        ("bob", {"user"}, Rule(), False),
        ("bob", {"approver"}, Rule(), True),
        ("bob", {"approver.finance"}, Rule(), False),
        ("bob", {"approver.finance"}, Rule(roles=(FINANCE,)), True),
        ("bob", {"approver"}, Rule(roles=(FINANCE,)), False),
        ("ann", {"user"}, Rule(roles=(FINANCE,)), False),
        ("ann", {"user", "approver.finance"}, Rule(roles=(FINANCE,)), True),
        ("bob", {"approver.finance"}, Rule(roles=(FINANCE, frozenset({"admin"}))), False),
        ("bob", {"approver.finance", "admin"}, Rule(roles=(FINANCE, frozenset({"admin"}))), True),
        ("ann", {"admin"}, Rule(four_eyes=True), False),
        ("editor", {"admin"}, Rule(four_eyes=True), False),
        ("bob", {"user"}, Rule(four_eyes=True), False),
        ("bob", {"operator"}, Rule(four_eyes=True), True),
    ],
)
def test_who_may_decide(caller: str, roles: set[str], rule: Rule, allowed: bool) -> None:
    told: dict[str, Any] = {"requester": "ann", "author": "editor", "rule": rule}
    if allowed:
        check_may_decide(caller=caller, caller_roles=roles, **told)
    else:
        with pytest.raises(Forbidden):
            check_may_decide(caller=caller, caller_roles=roles, **told)


@pytest.mark.parametrize(
    ("votes", "needed", "found"),
    [
        ([{0: "approve"}], {0: 1}, {0: "approve"}),
        ([{0: "approve"}], {0: 2}, None),
        ([{0: "approve"}, {0: "approve"}], {0: 2}, {0: "approve"}),
        ([{0: "approve"}, {0: "reject"}], {0: 3}, {0: "reject"}),
        ([{0: "reject"}], {0: 9}, {0: "reject"}),
        ([{0: "edit"}], {0: 3}, {0: "approve"}),
        ([{0: "edit"}, {0: "reject"}], {0: 3}, {0: "reject"}),
        ([{0: "approve", 1: "reject"}], {0: 2, 1: 2}, None),
        (
            [{0: "approve", 1: "reject"}, {0: "approve", 1: "approve"}],
            {0: 2, 1: 2},
            {0: "approve", 1: "reject"},
        ),
        ([], {0: 1}, None),
    ],
)
def test_what_votes_come_to(votes: Any, needed: dict[int, int], found: Any) -> None:
    assert tally(tuple(needed), votes, needed) == found


def stands(*voters: Voter, rule: Rule, author: str = ANN) -> bool:
    try:
        check_still_stands(voters, requester=ANN, author=author, rule=rule)
    except Conflict as refused:
        assert refused.code == "approval_revoked"
        return False
    return True


def test_i12_an_approval_stands_while_enough_of_those_who_gave_it_may_give_it_today() -> None:
    assert stands(BOSS, rule=Rule())
    assert not stands(replace(BOSS, roles=frozenset({"user"})), rule=Rule())
    assert stands(BOSS, PEER, rule=Rule(four_eyes=True, quorum=2))
    assert not stands(BOSS, BOSS, rule=Rule(quorum=2)), "a person counts once"
    assert not stands(BOSS, replace(PEER, roles=frozenset()), rule=Rule(quorum=2))
    assert not stands(Voter(ANN, frozenset({"admin"})), rule=Rule(four_eyes=True))
    assert not stands(BOSS, rule=Rule(four_eyes=True), author="boss")
    assert not stands(rule=Rule())


def tool(**more: Any) -> Tool:
    said = {"name": "life.x", "version": "1", "description": "x", "input_schema": {}, "output_schema": {}}
    more = {"risk": "medium", "effect_class": "local", "approval": True, "timeout_seconds": 2, **more}
    return Tool.model_validate({**said, **more})


def test_the_tenants_and_the_contracts_demands_count_both() -> None:
    settings = {"approval": {"four_eyes": ["high"], "roles": {"medium": ["admin"]}, "quorum": {"medium": 2}}}
    policy = ApprovalPolicy.of(settings)
    asked = tool(approvers=Approvers(four_eyes=True, roles=("approver.finance",), quorum=3))
    assert policy.rule("medium", asked) == Rule(True, (frozenset({"admin"}), FINANCE), 3)
    assert policy.rule("medium") == Rule(False, (frozenset({"admin"}),), 2)
    assert policy.rule("high") == Rule(four_eyes=True)
    assert policy.rule("low") == Rule()


@pytest.mark.parametrize(
    "approval",
    [
        {"roles": ["x"]},
        {"roles": {"medium": []}},
        {"roles": {"medium": "admin"}},
        {"roles": {"medium": ["king"]}},
        {"quorum": 3},
        {"quorum": {"medium": "2"}},
        {"quorum": {"medium": True}},
        {"quorum": {"medium": 0}},
        {"four_eyes": "medium"},
        "none",
    ],
)
def test_a_policy_that_can_not_be_read_demands_the_most(approval: Any) -> None:
    rule = ApprovalPolicy.of({"approval": approval}).rule("medium")
    assert rule.four_eyes or rule.roles == (frozenset({"admin"}),) or rule.quorum == 2


GRANT = Grant(
    id=UUID(int=1),
    user_id=ANN,
    granted_by="boss",
    granted_roles=frozenset({"approver"}),
    tool="life.x",
    catalog_fp="c",
    condition=None,
    max_uses=2,
    uses=0,
    expires_at=NOW + timedelta(days=1),
    ended_reason=None,
)
TODAY = Today(frozenset({"approver", "user"}), "c", NOW)


def refused(grant: Grant = GRANT, today: Today = TODAY, **more: Any) -> str | None:
    told: dict[str, Any] = {
        "tool": "life.x",
        "catalog_fp": "c",
        "requester": ANN,
        "author": ANN,
        "rule": Rule(),
    }
    try:
        check_grant(grant, today, **{**told, **more})
    except Conflict as error:
        return str(error)
    return None


def test_a_grant_covers_one_persons_tool_of_one_contract_while_its_granter_may_decide() -> None:
    assert refused() is None
    assert refused(rule=Rule(four_eyes=True)) is None
    for bad in (
        refused(replace(GRANT, ended_reason="revoked")),
        refused(replace(GRANT, expires_at=NOW)),
        refused(today=replace(TODAY, catalog_fp="newer")),
        refused(today=replace(TODAY, roles=frozenset({"user"}))),
        refused(tool="life.y"),
        refused(requester="bob"),
        refused(catalog_fp="older"),
        refused(rule=Rule(quorum=2)),
        refused(rule=Rule(roles=(FINANCE,))),
        refused(author="boss", rule=Rule(four_eyes=True)),
    ):
        assert bad


def test_what_may_be_remembered_at_all() -> None:
    assert may_be_granted(Risk.MEDIUM, EffectClass.LOCAL, grantable=True)
    assert not may_be_granted(Risk.MEDIUM, EffectClass.LOCAL, grantable=False)
    assert not may_be_granted(Risk.HIGH, EffectClass.LOCAL, grantable=True)
    assert not may_be_granted(Risk.MEDIUM, EffectClass.EXTERNAL_OPAQUE, grantable=True)


def test_how_a_grant_is_shown() -> None:
    assert status_of(GRANT, TODAY) == "active"
    assert status_of(replace(GRANT, uses=2), TODAY) == "used_up"
    assert status_of(replace(GRANT, expires_at=NOW), TODAY) == "expired"
    assert status_of(GRANT, replace(TODAY, catalog_fp=None)) == "ended"
    assert lapse_of(GRANT, replace(TODAY, roles=frozenset())) == "role_changed"
    assert lapse_of(GRANT, replace(TODAY, catalog_fp="d")) == "contract_changed"

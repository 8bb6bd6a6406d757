"""Remembered approvals: a stored approval an action, uses counted under lock, void for good reasons."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.support.approvals import ADD, APPROVE, NOTE, PAY, Stage, remember
from tests.support.gateway import ENTRY, code
from tests.support.lives import OTHER_TENANT, TENANT, USER


async def granted(stage: Stage, body: Any = None, by: str = USER, *roles: str) -> str:
    _, _, interrupt = await stage.asked(arguments={"text": "x", "n": 3})
    answer = await stage.decide(interrupt, body or remember(), by, *(roles or ("user",)))
    assert answer.status_code == 200, answer.text
    return str(answer.json()["resolution"]["remember"]["grant_id"])


async def noted(stage: Stage, n: int = 3, **more: Any) -> dict[str, Any]:
    held = await stage.gateway.bound(module="probe", **more)
    action = await stage.gateway.prepared(held, NOTE, {"text": "x", "n": n})
    return {**action, "held": held}


async def test_i12_a_grant_makes_a_stored_approval_of_exactly_the_arguments(stage: Stage) -> None:
    grant = await granted(stage)
    action = await noted(stage)
    assert action["status"] == "approved"
    answer = await stage.gateway.commit(action["held"], action)
    assert answer.json()["state"] == "completed"
    [use] = await stage.lives.sql("SELECT grant_id, arguments_hash, granted_by FROM agent.grant_uses")
    assert (str(use["grant_id"]), use["arguments_hash"]) == (grant, action["arguments_hash"])
    shown = (await stage.api.as_().get(f"/v1/grants/{grant}")).json()
    assert (shown["status"], shown["uses"], shown["recent"][0]["run_id"]) == (
        "active", 1, str(action["held"].run.id)
    )  # fmt: skip
    run = (await stage.api.as_().get(f"/v1/runs/{action['held'].run.id}")).json()
    assert (run["actions"][0]["grant_id"], run["actions"][0]["decided_by"]) == (grant, USER)
    assert await stage.lives.violations() == []


async def test_a_condition_decides_and_what_it_can_not_judge_is_asked(stage: Stage) -> None:
    await granted(stage, remember(condition="args.n < 5 && args.text != ''"))
    assert (await noted(stage, n=4))["status"] == "approved"
    assert (await noted(stage, n=5))["status"] == "prepared"
    held = await stage.gateway.bound(module="probe")
    assert (await stage.gateway.prepared(held, NOTE, {"text": "x"}))["status"] == "prepared"  # no n to judge


REFUSED = [
    (remember(31), "/remember/expires_at"),
    (remember(-1), "/remember/expires_at"),
    (remember(condition="args.n <"), "/remember/condition"),
    (remember(condition="args.n"), "/remember/condition"),
    (remember(condition="amount < 5"), "/remember/condition"),
    (remember(condition="args.n > 5"), "/remember/condition"),
    (remember(condition="args.amuont < 5"), "/remember/condition"),
    (remember(condition="args.text.map(x, x) == []"), "/remember/condition"),
    (remember(max_uses=0), "/remember/max_uses"),
    ({**remember(), "decision": "reject"}, "/remember"),
    ({**remember(), "arguments": {"text": "other"}}, "/remember"),
    ({**APPROVE, "remember": True}, "/remember"),
]


@pytest.mark.parametrize(("body", "pointer"), REFUSED)
async def test_what_is_not_remembered_is_said_with_its_place(stage: Stage, body: Any, pointer: str) -> None:
    _, _, interrupt = await stage.asked(arguments={"text": "x", "n": 3})
    answer = await stage.decide(interrupt, body)
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, pointer), answer.text
    assert await stage.lives.sql("SELECT id FROM agent.grants") == []
    shown = await stage.api.as_().get(f"/v1/interrupts/{interrupt}")
    assert shown.json()["status"] == "open"


async def test_high_risk_and_a_contract_that_does_not_say_so_are_never_remembered(stage: Stage) -> None:
    _, _, high = await stage.asked(PAY, {"amount": "5"})
    answer = await stage.decide(high, remember(), "ann", "approver.finance")
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, "not_grantable")
    _, _, plain = await stage.asked("probe.send", {"files": []})
    answer = await stage.decide(plain, remember())
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, "not_grantable")


async def test_the_last_use_is_given_once(stage: Stage) -> None:
    """Sixteen runs at once ask for three uses; two gateways' worth of transactions."""
    await granted(stage, remember(max_uses=3))
    helds = [await stage.gateway.bound(module="probe") for _ in range(16)]

    async def prepared(held: Any) -> str | None:
        answer = await stage.gateway.prepare(held, NOTE, {"text": "x", "n": 3})
        return str(answer.json()["actions"][0]["status"]) if answer.status_code == 200 else None

    told = await asyncio.gather(*(prepared(held) for held in helds))
    assert told.count("approved") == 3, told
    [row] = await stage.lives.sql("SELECT uses, max_uses FROM agent.grants")
    assert (row["uses"], row["max_uses"]) == (3, 3)
    shown = (await stage.api.as_().get("/v1/grants")).json()["items"]
    assert [one["status"] for one in shown] == ["used_up"]
    assert await stage.lives.violations() == []


async def test_a_later_preparation_of_the_same_action_is_no_further_use(stage: Stage) -> None:
    await granted(stage, remember(max_uses=1))
    action = await noted(stage)
    again = await stage.gateway.prepared(action["held"], NOTE, {"text": "y", "n": 3}, n=2)
    assert again["status"] == "approved"
    [row] = await stage.lives.sql("SELECT uses FROM agent.grants")
    assert row["uses"] == 1
    assert (await noted(stage))["status"] == "prepared"


async def test_a_revocation_before_the_commit_is_seen_by_it(stage: Stage) -> None:
    grant = await granted(stage)
    action = await noted(stage)
    gone = await stage.api.as_().delete(f"/v1/grants/{grant}")
    assert (gone.json()["status"], gone.json()["ended_reason"]) == ("ended", "revoked")
    same = await stage.api.as_().delete(f"/v1/grants/{grant}")
    assert same.json()["ended_at"] == gone.json()["ended_at"]
    assert code(await stage.gateway.commit(action["held"], action)) == "approval_revoked"
    assert await stage.attempts() == 0
    anew = await stage.gateway.prepared(action["held"], NOTE, {"text": "x", "n": 3}, n=2)
    assert anew["status"] == "prepared"
    assert await stage.lives.violations() == []


async def test_a_grant_that_ran_out_before_the_commit_approves_nothing(stage: Stage) -> None:
    await granted(stage)
    action = await noted(stage)
    await stage.lives.sql(
        "UPDATE agent.grants SET created_at = created_at - interval '8 days',"
        " expires_at = clock_timestamp() - interval '1 second'"
    )
    assert code(await stage.gateway.commit(action["held"], action)) == "approval_revoked"
    assert (await noted(stage))["status"] == "prepared"


async def test_another_contract_voids_it_for_good(stage: Stage) -> None:
    grant = await granted(stage)
    await stage.lives.sql(
        "INSERT INTO agent.catalogs (fingerprint, module, version, body) VALUES ('newer', 'probe', '2', '{}')"
    )
    assert (await noted(stage))["status"] == "prepared"
    await stage.lives.sql("UPDATE agent.catalogs SET revoked_at = now() WHERE fingerprint = 'newer'")
    assert (await noted(stage))["status"] == "prepared", "what was void once stays void"
    shown = (await stage.api.as_().get(f"/v1/grants/{grant}")).json()
    assert (shown["status"], shown["ended_reason"], shown["ended_by"]) == (
        "ended", "contract_changed", "gateway"
    )  # fmt: skip


async def test_a_role_its_granter_lost_voids_it(stage: Stage) -> None:
    grant = await granted(stage, None, "boss", "approver")
    assert (await noted(stage))["status"] == "approved"
    await stage.lives.sql("UPDATE agent.principals SET roles = '{user}' WHERE user_id = 'boss'")
    shown = (await stage.api.as_().get(f"/v1/grants/{grant}")).json()
    assert (shown["status"], shown["ended_reason"]) == ("ended", "role_changed")
    assert (await noted(stage))["status"] == "prepared"


async def test_i27_a_grant_is_one_persons_and_nobody_elses(stage: Stage) -> None:
    grant = await granted(stage)
    assert (await noted(stage, user="other"))["status"] == "prepared"
    for client in (
        stage.api.as_("other"),
        stage.api.as_("peer", "approver"),
        stage.api.as_(tenant=OTHER_TENANT),
        stage.api.as_("spy", "admin", tenant=OTHER_TENANT),
    ):
        assert (await client.get(f"/v1/grants/{grant}")).status_code == 404
        assert (await client.delete(f"/v1/grants/{grant}")).status_code == 404
        assert (await client.get("/v1/grants")).json()["items"] == []
    assert (await stage.api.as_("chief", "operator").get(f"/v1/grants/{grant}")).status_code == 200
    assert (await noted(stage))["status"] == "approved"


async def test_under_four_eyes_the_requesters_own_grant_does_not_count(
    stage: Stage,
) -> None:
    await granted(stage)
    chief = stage.api.as_("chief", "admin")
    await chief.patch("/v1/settings", json={"approval": {"four_eyes": ["medium"]}})
    assert (await noted(stage))["status"] == "prepared"
    await granted(stage, None, "boss", "approver")
    action = await noted(stage)
    assert action["status"] == "approved"
    assert (await stage.gateway.commit(action["held"], action)).json()["state"] == "completed"
    await chief.patch("/v1/settings", json={"approval": {"quorum": {"medium": 2}}})
    assert (await noted(stage))["status"] == "prepared", "where two decide, one's memory is not enough"


async def test_the_database_refuses_what_may_never_be_remembered(stage: Stage) -> None:
    await granted(stage)
    for change in (
        "risk = 'high'",
        "effect_class = 'external_opaque'",
        "expires_at = created_at + interval '31 days'",
        "uses = 5, max_uses = 4",
    ):
        with pytest.raises(Exception, match="grants_"):
            await stage.lives.sql(f"UPDATE agent.grants SET {change}")
    with pytest.raises(Exception, match="append-only"):
        await stage.lives.sql("DELETE FROM agent.approval_votes")


async def test_a_shipped_tool_can_be_remembered(stage: Stage) -> None:
    _, _, interrupt = await stage.asked(ADD, ENTRY)
    body = remember(condition="args.currency == 'USD' && double(args.amount) <= 2000.0")
    assert (await stage.decide(interrupt, body)).status_code == 200
    held = await stage.gateway.bound()
    action = await stage.gateway.prepared(held, ADD, {**ENTRY, "amount": "15.00"})
    assert (await stage.gateway.commit(held, action)).json()["state"] == "completed"
    dear = await stage.gateway.prepared(held, ADD, {**ENTRY, "amount": "2000.01"}, index=1)
    assert dear["status"] == "prepared"
    assert TENANT and await stage.lives.violations() == []

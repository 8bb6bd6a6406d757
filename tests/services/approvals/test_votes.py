"""Several persons decide: a vote each, the last one once, one no is no (I12, I13)."""

from __future__ import annotations

import asyncio

from tests.support.approvals import APPROVE, PAY, REJECT, Stage
from tests.support.lives import USER

PAID = {"amount": "100.00"}
FIN = ("approver.finance",)


async def test_i12_a_quorum_is_distinct_persons_with_the_role_and_not_the_requester(stage: Stage) -> None:
    held, action, interrupt = await stage.asked(PAY, PAID)
    assert (await stage.decide(interrupt, APPROVE, USER, "user", *FIN)).status_code == 403
    assert (await stage.decide(interrupt, APPROVE, "ann", "approver")).status_code == 403
    first = await stage.decide(interrupt, APPROVE, "ann", *FIN)
    assert (first.status_code, first.json()["status"]) == (200, "open")
    assert [(v["by"], v["decision"]) for v in first.json()["votes"]] == [("ann", "approve")]
    again = await stage.decide(interrupt, APPROVE, "ann", *FIN)
    assert (again.json()["status"], again.headers["idempotent-replayed"]) == ("open", "true")
    second = await stage.decide(interrupt, APPROVE, "bob", *FIN)
    assert second.json()["status"] == "resolved"
    assert second.json()["resolution"] == {
        "decision": "approve", "decisions": [{"index": 0, "decision": "approve"}], "votes": 2, "needed": 2
    }  # fmt: skip
    assert await stage.committed(held, action) == "completed"
    assert await stage.lives.violations() == []


async def test_i13_one_no_of_several_is_no(stage: Stage) -> None:
    held, action, interrupt = await stage.asked(PAY, PAID)
    await stage.decide(interrupt, APPROVE, "ann", *FIN)
    refused = await stage.decide(interrupt, {**REJECT, "note": "too much"}, "bob", *FIN)
    assert refused.json()["resolution"]["decision"] == "reject"
    late = await stage.decide(interrupt, APPROVE, "carol", *FIN)
    assert (late.status_code, late.json()["code"]) == (409, "already_resolved")
    assert await stage.committed(held, action) == "rejected"
    assert await stage.attempts() == 0
    assert await stage.lives.violations() == []


async def test_a_person_has_one_word(stage: Stage) -> None:
    _, _, interrupt = await stage.asked(PAY, PAID)
    await stage.decide(interrupt, APPROVE, "ann", *FIN, key="k")
    other = await stage.decide(interrupt, REJECT, "ann", *FIN)
    assert (other.status_code, other.json()["code"]) == (409, "already_voted")
    assert other.json()["resolution"]["decision"] == "approve"
    same_key = await stage.decide(interrupt, REJECT, "ann", *FIN, key="k")
    assert (same_key.status_code, same_key.json()["code"]) == (422, "idempotency_key_reused")


async def test_i13_sixteen_clicks_of_two_persons_are_two_votes_and_one_decision(stage: Stage) -> None:
    held, action, interrupt = await stage.asked(PAY, PAID)
    clicks = [stage.decide(interrupt, APPROVE, ("ann", "bob")[n % 2], *FIN) for n in range(16)]
    answers = await asyncio.gather(*clicks)
    assert {answer.status_code for answer in answers} == {200}
    [row] = await stage.lives.sql("SELECT count(*) AS n FROM agent.approval_votes")
    assert row["n"] == 2
    rows = await stage.lives.sql("SELECT 1 AS one FROM agent.run_events WHERE type = 'interrupt.resolved'")
    assert len(rows) == 1
    assert await stage.committed(held, action) == "completed"


async def test_i13_the_quorums_last_yes_and_a_no_at_once_are_one_of_both(stage: Stage) -> None:
    for _ in range(4):
        _, _, interrupt = await stage.asked(PAY, PAID)
        await stage.decide(interrupt, APPROVE, "ann", *FIN)
        yes, no = await asyncio.gather(
            stage.decide(interrupt, APPROVE, "bob", *FIN), stage.decide(interrupt, REJECT, "carol", *FIN)
        )
        assert sorted((yes.status_code, no.status_code)) == [200, 409]
        won = yes if yes.status_code == 200 else no
        shown = await stage.api.as_("ann", *FIN).get(f"/v1/interrupts/{interrupt}")
        assert shown.json()["resolution"]["decision"] == won.json()["resolution"]["decision"]
    assert await stage.lives.violations() == []


async def test_a_vote_and_the_expiry_a_cancel_or_a_pause(stage: Stage) -> None:
    _, _, late = await stage.asked(PAY, PAID)
    await stage.decide(late, APPROVE, "ann", *FIN)
    await stage.lives.age("agent.interrupts", "expires_at", "id = %s", late)
    answer = await stage.decide(late, APPROVE, "bob", *FIN)
    assert (answer.status_code, answer.json()["code"]) == (410, "interrupt_expired")
    again = await stage.decide(late, APPROVE, "ann", *FIN)
    assert again.status_code == 410  # counted again, and too late for that

    held, _, stopped = await stage.asked(PAY, PAID)
    await stage.decide(stopped, APPROVE, "ann", *FIN)
    await stage.lives.cancel(held.run.id)
    assert (await stage.decide(stopped, APPROVE, "bob", *FIN)).status_code in (409, 410)

    held, action, paused = await stage.asked(PAY, PAID)
    await stage.decide(paused, APPROVE, "ann", *FIN)
    await stage.lives.pause(held.run.id)
    assert (await stage.decide(paused, APPROVE, "bob", *FIN)).json()["status"] == "resolved"
    assert await stage.lives.status(held.run.id) == "paused"
    assert action["approval"] and await stage.lives.violations() == []


async def test_an_edit_where_others_decide_is_proposed_and_its_editor_is_out(stage: Stage) -> None:
    held, _, interrupt = await stage.asked(PAY, PAID)
    bad = await stage.decide(interrupt, {**APPROVE, "arguments": {"amount": ""}}, "ann", *FIN)
    assert (bad.status_code, bad.json()["errors"][0]["pointer"]) == (422, "/arguments/amount")
    edited = await stage.decide(interrupt, {**APPROVE, "arguments": {"amount": "90.00"}}, "ann", *FIN)
    assert edited.json()["status"] == "resolved"
    held = await stage.again(held)
    action = await stage.gateway.prepared(held, PAY, {"amount": "90.00"}, n=2, edited_by=str(interrupt))
    assert action["status"] == "prepared"
    second = await stage.ask(held, action)
    assert (await stage.decide(second, APPROVE, "ann", *FIN)).status_code == 403
    for who in ("bob", "carol"):
        assert (await stage.decide(second, APPROVE, who, *FIN)).status_code == 200
    assert await stage.committed(held, action) == "completed"
    assert await stage.lives.violations() == []


async def test_an_edit_that_changes_nothing_is_a_plain_yes(stage: Stage) -> None:
    held, action, interrupt = await stage.asked(arguments={"text": "x", "n": 2})
    same = await stage.decide(interrupt, {**APPROVE, "arguments": {"n": 2, "text": "x"}})
    assert same.json()["resolution"]["decisions"] == [{"index": 0, "decision": "approve"}]
    assert (await stage.decide(interrupt, APPROVE)).headers["idempotent-replayed"] == "true"
    assert await stage.committed(held, action) == "completed"


async def test_the_tenants_quorum_and_roles_count_beside_the_contracts(stage: Stage) -> None:
    chief = stage.api.as_("chief", "admin")
    patch = {"approval": {"quorum": {"medium": 2}, "roles": {"medium": ["admin", "approver.legal"]}}}
    assert (await chief.patch("/v1/settings", json=patch)).status_code == 200
    wrong = await chief.patch("/v1/settings", json={"approval": {"roles": {"medium": ["king"]}}})
    assert wrong.status_code == 422
    _, _, interrupt = await stage.asked()
    assert (await stage.decide(interrupt, APPROVE)).status_code == 403
    shown = (await stage.api.as_("lee", "approver.legal").get(f"/v1/interrupts/{interrupt}")).json()["rule"]
    assert (shown["needed"], shown["given"], shown["may_decide"]) == (2, 0, True)
    assert shown["roles"] == [["admin", "approver.legal"]]
    assert (await stage.decide(interrupt, APPROVE, "lee", "approver.legal")).json()["status"] == "open"
    await chief.patch("/v1/settings", json={"approval": {"quorum": None}})
    counted = await stage.decide(interrupt, APPROVE, "lee", "approver.legal")
    assert counted.json()["status"] == "resolved", "it takes one now, and one is there"

"""What was approved is asked again at commit: rights, policy, bytes. What doesn't stand is refused."""

from __future__ import annotations

from tests.support.approvals import APPROVE, GUARDED, PAY, SEND, Stage
from tests.support.gateway import code
from tests.support.lives import TENANT, USER

FIN = ("approver.finance",)


async def seen(stage: Stage, user: str, *roles: str) -> None:
    await stage.lives.sql(
        "INSERT INTO agent.principals (tenant_id, user_id, roles) VALUES (%s, %s, %s)"
        " ON CONFLICT (tenant_id, user_id) DO UPDATE SET roles = excluded.roles",
        TENANT, user, list(roles),
    )  # fmt: skip


async def test_i12_an_approvers_role_taken_away_before_the_commit_voids_the_approval(stage: Stage) -> None:
    held, action, interrupt = await stage.asked()
    await stage.decide(interrupt, APPROVE, "boss", "approver")
    await seen(stage, "boss", "user")
    assert await stage.committed(held, action) == "approval_revoked"
    assert await stage.attempts() == 0


async def test_i12_of_a_quorum_one_who_may_not_any_more_leaves_too_few(stage: Stage) -> None:
    held, action, interrupt = await stage.asked(PAY, {"amount": "5"})
    for who in ("ann", "bob"):
        await stage.decide(interrupt, APPROVE, who, *FIN)
    await seen(stage, "bob", "user", "approver")
    assert await stage.committed(held, action) == "approval_revoked"


async def test_i12_a_policy_made_stricter_after_the_approval_counts(stage: Stage) -> None:
    held, action, interrupt = await stage.asked()
    await stage.decide(interrupt, APPROVE)
    chief = stage.api.as_("chief", "admin")
    await chief.patch("/v1/settings", json={"approval": {"four_eyes": ["medium"]}})
    again = await stage.again(held)
    refused = await stage.gateway.commit(again, action)
    assert code(refused) == "approval_revoked" and USER in refused.json()["detail"]
    anew = await stage.gateway.prepared(again, "probe.note", {"text": "x"}, n=2)
    second = await stage.ask(again, anew)
    assert (await stage.decide(second, APPROVE)).status_code == 403
    await stage.decide(second, APPROVE, "boss", "approver")
    assert await stage.committed(again, anew) == "completed"
    assert await stage.lives.violations() == []


async def test_a_requesters_role_taken_away_is_refused_at_commit_and_at_prepare(stage: Stage) -> None:
    held = await stage.gateway.bound(module="probe")
    await seen(stage, USER, "user", "operator")
    action = await stage.gateway.prepared(held, GUARDED, {})
    interrupt = await stage.ask(held, action)
    await stage.decide(interrupt, APPROVE, "boss", "approver")
    await seen(stage, USER, "user")
    assert await stage.committed(held, action) == "permission_revoked"
    other = await stage.gateway.bound(module="probe")
    refused = await stage.gateway.prepare(other, GUARDED, {})
    assert refused.json()["refusals"][0]["code"] == "tool_not_allowed"


async def test_bytes_that_changed_after_the_approval_do_not_go_out(stage: Stage) -> None:
    await stage.lives.queued()
    file = await stage.artifact(b"as it was shown")
    held, action, interrupt = await stage.asked(SEND, {"files": [str(file)]})
    [attached] = action["change"]["attachments"]
    assert attached["name"] == "a.txt" and len(attached["sha256"]) == 64
    await stage.decide(interrupt, APPROVE)
    await stage.lives.sql("ALTER TABLE agent.artifacts DISABLE TRIGGER USER")  # as its owner could
    await stage.lives.sql("UPDATE agent.artifacts SET sha256 = sha256('other') WHERE id = %s", file)
    assert await stage.committed(held, action) == "attachment_changed"
    assert await stage.attempts() == 0


async def test_bytes_that_are_as_they_were_shown_go_out_and_anothers_never(stage: Stage) -> None:
    await stage.lives.queued()
    mine, theirs = await stage.artifact(), await stage.artifact(user="other")
    held, action, interrupt = await stage.asked(SEND, {"files": [str(mine)]})
    await stage.decide(interrupt, APPROVE)
    assert await stage.committed(held, action) == "completed"
    other = await stage.gateway.bound(module="probe")
    refused = await stage.gateway.prepare(other, SEND, {"files": [str(theirs)]})
    assert refused.json()["refusals"][0]["pointer"] == "/files"

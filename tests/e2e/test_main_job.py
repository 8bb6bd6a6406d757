"""The main job, from outside: one sentence in, one approved effect out, and what is asked before."""

from __future__ import annotations

from uuid import uuid4

import pytest
from fencepost.errors import ApiError

from tests.e2e.conftest import Caller


async def test_a_chinese_sentence_becomes_one_reminder(caller: Caller) -> None:
    run = await caller.ask("明天上午九点提醒我交周报")

    assert (run["status"], run["waiting_on"]) == ("waiting", "approval")
    assert "上午09:00" in run["interrupt"]["question"] and "北京时间" in run["interrupt"]["question"]
    assert await caller.items("/v1/reminders") == []
    ended = await caller.resolve(run, decision="approve")

    assert ended["status"] == "succeeded"
    assert ended["finalization"]["reason"] == "acceptance_met"
    assert [r["title"] for r in await caller.items("/v1/reminders")] == ["交周报"]


async def test_an_english_sentence_becomes_one_ledger_entry(caller: Caller) -> None:
    run = await caller.ask("paid $1,234.50 for the hotel", zone="America/New_York")
    ended = await caller.resolve(run, decision="approve")

    assert ended["status"] == "succeeded"
    [entry] = await caller.items("/v1/ledger-entries")
    assert (entry["amount"], entry["currency"]) == ("1234.50", "USD")


async def test_i13_reject_means_nothing_was_done(caller: Caller) -> None:
    run = await caller.ask("明天上午九点提醒我交周报")
    ended = await caller.resolve(run, decision="reject")

    assert (ended["status"], ended["finalization"]["reason"]) == ("cancelled", "approval_rejected")
    assert await caller.items("/v1/reminders") == []


async def test_no_zone_known_anywhere_is_asked_for_and_the_same_run_goes_on(caller: Caller) -> None:
    run = await caller.ask("remind me tomorrow at 9 to call Bob", zone=None)

    assert (run["status"], run["waiting_on"]) == ("waiting", "input")
    asked = await caller.resolve(run, text="Asia/Shanghai")
    assert asked["id"] == run["id"]
    assert asked["waiting_on"] == "approval"
    ended = await caller.resolve(asked, decision="approve")
    assert ended["status"] == "succeeded"
    assert len(await caller.items("/v1/reminders")) == 1


async def test_the_same_key_is_the_same_run(caller: Caller) -> None:
    key = str(uuid4())
    first = await caller.client.create_run("hello", idempotency_key=key)
    again = await caller.client.create_run("hello", idempotency_key=key)

    assert again["id"] == first["id"]
    with pytest.raises(ApiError) as refused:
        await caller.client.create_run("hello there", idempotency_key=key)
    assert refused.value.code == "idempotency_key_reused"


async def test_small_talk_is_answered_directly(caller: Caller) -> None:
    run = await caller.ask("hello!")

    assert run["status"] == "succeeded"
    assert run["actions"] == []
    assert run["output"]["text"]


async def test_two_actions_are_asked_for_together_with_a_decision_each(caller: Caller) -> None:
    run = await caller.ask("记一笔午饭35元，再记一笔打车20元")

    assert len(run["actions"]) == 2
    ended = await caller.resolve(
        run, decisions=[{"index": 0, "decision": "approve"}, {"index": 1, "decision": "reject"}]
    )
    assert ended["finalization"] is not None
    assert [e["amount"] for e in await caller.items("/v1/ledger-entries")] == ["35.00"]


@pytest.mark.parametrize(
    ("say", "told"),
    [
        ("我有哪些提醒？", "交周报"),
        ("取消交周报的提醒", "交周报"),
        ("把交周报的提醒改到后天下午三点", "交周报"),
    ],
)
async def test_reminders_are_listed_changed_and_cancelled(caller: Caller, say: str, told: str) -> None:
    made = await caller.ask("明天上午九点提醒我交周报")
    await caller.resolve(made, decision="approve")

    run = await caller.ask(say)
    if run["status"] == "waiting":
        assert run["waiting_on"] == "approval", run
        run = await caller.resolve(run, decision="approve")

    assert run["status"] == "succeeded", run["finalization"]
    assert told in run["output"]["text"]


async def test_the_ledger_is_summed_by_currency(caller: Caller) -> None:
    for sentence in ("打车35块5", "午饭花了20元"):
        await caller.resolve(await caller.ask(sentence), decision="approve")

    run = await caller.ask("这个月花了多少钱？")

    assert run["status"] == "succeeded"
    assert "55.5" in run["output"]["text"]


async def test_plan_for_today(caller: Caller) -> None:
    run = await caller.ask("今天有什么安排？")

    assert run["status"] == "succeeded"
    assert run["output"]["text"]


async def test_another_tenants_run_is_not_there(caller: Caller, mesh: object) -> None:
    run = await caller.ask("明天上午九点提醒我交周报")
    from fencepost.aio import AsyncClient

    stranger = caller.mesh.identity.mint_token("u1", str(uuid4()), ("user", "approver", "admin"))
    async with AsyncClient(caller.mesh.url, stranger) as other:
        with pytest.raises(ApiError) as refused:
            await other.get_run(run["id"])
        assert refused.value.status == 404
        with pytest.raises(ApiError) as refused:
            await other.resolve(run["interrupt"]["id"], {"decision": "approve"}, idempotency_key="k")
        assert refused.value.status == 404


async def test_edited_arguments_that_do_not_fit_are_refused_and_the_question_stays(caller: Caller) -> None:
    run = await caller.ask("paid $1,234.50 for the hotel", zone="America/New_York")
    [asked] = run["interrupt"]["preview"]

    with pytest.raises(ApiError) as refused:
        await caller.resolve(run, decision="approve", arguments={**asked["arguments"], "user_id": "u2"})
    assert refused.value.status == 422
    assert refused.value.errors[0]["pointer"].startswith("/arguments")

    edited = {**asked["arguments"], "amount": "234.50"}
    ended = await caller.resolve(run, decision="approve", arguments=edited)
    assert ended["status"] == "succeeded", ended["finalization"]
    [entry] = await caller.items("/v1/ledger-entries")
    assert entry["amount"] == "234.50"

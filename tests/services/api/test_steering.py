"""Cancel, pause and resume over HTTP: only transitions of the table, terminal for ever (I06, I08, I22)."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta

import pytest
from fencepost_domain.vocabulary import TERMINAL, Risk, RunStatus
from fencepost_domain.waits import decide_defer
from fencepost_reconciler.loops.drain import Drain
from fencepost_runtime.system import SystemClock
from fencepost_store.record import record
from fencepost_store.runs import lock_run

from tests.support.api import Served, a_key
from tests.support.graces import Over
from tests.support.lives import LEASE, Lives

VERBS = ("cancel", "pause", "resume")


async def test_i06_terminal_is_for_ever(served: Served, lives: Lives) -> None:
    ann = served.as_()
    for status in sorted(TERMINAL):
        if status in (RunStatus.CANCELLED, RunStatus.EXPIRED):
            run_id = await lives.queued()
            await lives.cancel(run_id)
        else:
            held = await lives.claimed()
            await lives.finalize(held, status)
            run_id = held.run.id
        before = await lives.run(run_id)
        for verb in VERBS:
            refused = await ann.post(f"/v1/runs/{run_id}/{verb}")
            assert (refused.status_code, refused.json()["code"]) == (409, "run_finished"), (status, verb)
        assert await lives.run(run_id) == before
    assert await lives.violations() == []


async def test_i06_each_ask_moves_the_run_as_the_table_says(served: Served, lives: Lives) -> None:
    ann = served.as_()
    run_id = await lives.queued()
    steps = (
        ("resume", "queued"),  # nothing to resume
        ("pause", "paused"),
        ("pause", "paused"),
        ("resume", "queued"),
        ("cancel", "cancelled"),
    )
    for verb, status in steps:
        answer = await ann.post(f"/v1/runs/{run_id}/{verb}")
        assert (answer.status_code, answer.json()["status"]) == (202, status), verb
    finished = (await ann.get(f"/v1/runs/{run_id}")).json()["finalization"]
    assert (finished["status"], finished["reason"]) == ("cancelled", "user_cancelled")
    assert await lives.event_types(run_id) == [
        "run.requested", "run.pause_asked", "run.resumed", "run.cancel_asked", "message.completed",
        "run.finalized",
    ]  # fmt: skip
    assert await lives.violations() == []


async def test_a_running_run_is_marked_for_a_pause_and_unmarked(served: Served, lives: Lives) -> None:
    held = await lives.claimed()
    ann = served.as_()
    paused = (await ann.post(f"/v1/runs/{held.run.id}/pause")).json()
    assert (paused["status"], paused["pause_asked"]) == ("running", True)
    resumed = (await ann.post(f"/v1/runs/{held.run.id}/resume")).json()
    assert (resumed["status"], resumed["pause_asked"]) == ("running", False)
    assert await lives.violations() == []


async def test_i08_a_running_run_is_drained_by_its_owner(served: Served, lives: Lives) -> None:
    held = await lives.claimed()
    ann = served.as_()
    for _ in range(2):  # idempotent
        answer = (await ann.post(f"/v1/runs/{held.run.id}/cancel", json={"note": "stop"})).json()
        assert (answer["status"], answer["finalization"]) == ("cancelling", None)
    row = await lives.run(held.run.id)
    assert (row["stop"], row["revision"], row["lease_owner"]) == ("cancel", 2, held.fence.owner)
    assert row["drain_until"] is not None
    hints = await lives.sql("SELECT event_type FROM agent.outbox WHERE run_id = %s", held.run.id)
    assert "agent.run.cancel.v1" in {hint["event_type"] for hint in hints}
    for verb in ("pause", "resume"):
        refused = await ann.post(f"/v1/runs/{held.run.id}/{verb}")
        assert (refused.status_code, refused.json()["code"]) == (409, "run_cancelling")
    assert await lives.violations() == []


async def test_a_waiting_run_is_cancelled_at_once_and_its_question_withdrawn(
    served: Served, lives: Lives
) -> None:
    held, interrupt = await lives.waiting(locale="zh-CN")
    answer = (await served.as_().post(f"/v1/runs/{held.run.id}/cancel")).json()
    assert (answer["status"], answer["interrupt"]) == ("cancelled", None)
    assert (
        answer["output"]["text"]
        == answer["finalization"]["explanation"]
        == "已取消。没有执行任何操作，可以重新发起。"
    )
    assert answer["finalization"]["left_undone"] == ["create_reminder"]
    assert (await served.as_().get(f"/v1/interrupts/{interrupt}")).json()["status"] == "withdrawn"
    assert await lives.violations() == []


async def test_i22_an_open_attempt_is_waited_for_and_named(served: Served, lives: Lives) -> None:
    held = await lives.claimed(locale="en")
    await lives.opened(await lives.prepared(held))
    answer = (await served.as_().post(f"/v1/runs/{held.run.id}/cancel")).json()
    assert answer["status"] == "cancelling"
    assert [(a["tool"], a["effect"]) for a in answer["actions"]] == [("create_reminder", "started")]


@pytest.mark.parametrize("rounds", range(3))
async def test_asks_that_race_end_in_one_legal_state(served: Served, lives: Lives, rounds: int) -> None:
    held, _ = await lives.waiting()
    clients = [served.as_() for _ in range(9)]
    answers = await asyncio.gather(
        *(c.post(f"/v1/runs/{held.run.id}/{VERBS[n % 3]}") for n, c in enumerate(clients))
    )
    assert {a.status_code for a in answers} <= {202, 409}
    assert await lives.status(held.run.id) == "cancelled"
    assert await lives.violations() == []


async def test_lists_are_paged_and_filtered(served: Served, lives: Lives) -> None:
    ann = served.as_()
    runs = [await lives.queued(metadata={"job": str(n % 2)}) for n in range(5)]
    await lives.cancel(runs[0])
    first = (await ann.get("/v1/runs?limit=2")).json()
    second = (await ann.get(f"/v1/runs?limit=2&cursor={first['next_cursor']}")).json()
    third = (await ann.get(f"/v1/runs?limit=2&cursor={second['next_cursor']}")).json()
    seen = [item["id"] for part in (first, second, third) for item in part["items"]]
    assert seen == [str(run_id) for run_id in reversed(runs)] and third["next_cursor"] is None

    async def ids(query: str) -> list[str]:
        return [item["id"] for item in (await ann.get(f"/v1/runs?{query}")).json()["items"]]

    assert await ids("status=cancelled") == [str(runs[0])]
    assert await ids("status=cancelled,failed&module=life") == [str(runs[0])]
    assert await ids("module=work") == []
    assert await ids("metadata.job=1") == [str(runs[3]), str(runs[1])]
    assert await ids("metadata.job=2") == []
    created = (await ann.get(f"/v1/runs/{runs[2]}")).json()["created_at"]
    assert await ids(f"created_after={created}") == [str(runs[4]), str(runs[3])]
    conversation = (await ann.get(f"/v1/runs/{runs[1]}")).json()["conversation_id"]
    assert await ids(f"conversation_id={conversation}") == [str(runs[1])]


@pytest.mark.parametrize("key", ["a%00", "", "a%20b", "%ED%A0%80", "k" * 65])
async def test_a_filter_for_a_key_no_metadata_has_is_refused(served: Served, key: str) -> None:
    answer = await served.as_().get(f"/v1/runs?metadata.{key}=x")
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")


async def test_a_conversation_shows_its_messages_in_order(served: Served, lives: Lives) -> None:
    ann = served.as_()
    run_id = await lives.queued(text="first words")
    await lives.cancel(run_id)
    conversation = (await ann.get("/v1/conversations")).json()["items"][0]
    assert conversation["title"] == "first words"
    path = f"/v1/conversations/{conversation['id']}/messages"
    messages = (await ann.get(path)).json()["items"]
    assert [(m["seq"], m["author"], m["text"]) for m in messages] == [
        (1, "user", "first words"), (2, "assistant", "cancelled")
    ]  # fmt: skip
    assert [m["seq"] for m in (await ann.get(f"{path}?after=1")).json()["items"]] == [2]
    assert (await ann.get(f"{path}?limit=1")).json()["next_cursor"] == "1"


async def test_wf4_a_reply_that_comes_after_the_cancel_is_evidence_and_changes_nothing(
    served: Served, lives: Lives
) -> None:
    """Run 1 of the case: cancelled while its tool call is in flight; the reply arrives later."""
    held = await lives.claimed()
    action = await lives.prepared(held, risk=Risk.LOW)
    await lives.opened(action)
    await served.as_().post(f"/v1/runs/{held.run.id}/cancel", headers=a_key())
    await lives.age("agent.runs", "lease_expires_at", "id = %s", held.run.id)
    await lives.age("agent.runs", "drain_until", "id = %s", held.run.id)
    await Drain(lives.reconciler, Over(LEASE, SystemClock())).run_once()
    ended = (await served.as_().get(f"/v1/runs/{held.run.id}")).json()
    assert ended["status"] == "cancelled"
    [unconfirmed] = ended["finalization"]["unconfirmed_effects"]
    assert unconfirmed["tool"] == action.tool and action.tool in ended["finalization"]["explanation"]

    assert await lives.landed(action), "what happened to the world can always be recorded"

    after = (await served.as_().get(f"/v1/runs/{held.run.id}")).json()
    assert (after["status"], after["finalization"]) == ("cancelled", ended["finalization"])
    assert after["actions"][0]["effect"] == "completed"
    assert await lives.claim() == []
    assert (await lives.event_types(held.run.id)).count("run.finalized") == 1
    assert await lives.violations() == []


async def test_wf4_a_retry_that_was_scheduled_does_not_fire_after_the_cancel(
    served: Served, lives: Lives
) -> None:
    """Run 2 of the case: cancelled while it waits 60 s for a retry."""
    held = await lives.claimed()
    async with lives.worker.transaction() as tx:
        locked = await lock_run(tx, held.run.id)
        decision = decide_defer(
            locked.run, held.fence, tx.ids.uuid7(), wait=timedelta(seconds=60), reason="model_failed",
            detail="", now=locked.now,
        )  # fmt: skip
        await record(tx, locked.run, decision)
    answer = await served.as_().post(f"/v1/runs/{held.run.id}/cancel", headers=a_key())
    assert (answer.status_code, answer.json()["status"]) == (202, "cancelled")
    await lives.age("agent.runs", "available_at", "id = %s", held.run.id)
    assert await lives.claim() == [], "the retry is disarmed"
    assert (await lives.event_types(held.run.id)).count("run.finalized") == 1
    assert await lives.violations() == []


CUT_OFF = """
    INSERT INTO agent.model_calls (id, run_id, tenant_id, call_key, attempt, role, provider, model, state,
                                   request_hash, error, ends_at, settled_at)
    VALUES (%s, %s, %s, 'k', 1, %s, 'p', 'm', 'failed', 'h', %s, now(), now()) RETURNING id
"""


async def test_half_an_answer_of_a_stopped_run_is_shown_and_is_no_output(
    served: Served, lives: Lives
) -> None:
    """Of the last call, and of one that was cut off; what a planner had begun is nobody's answer."""
    ann = served.as_()
    for role, partial, shown in (
        ("module", "Half an", "Half an"),
        ("planner", "{", None),
        ("module", "", None),
    ):
        held = await lives.claimed()
        error = json.dumps({"partial": partial})
        await lives.sql(CUT_OFF, lives.ids.uuid7(), held.run.id, held.run.tenant_id, role, error)
        before = (await ann.get(f"/v1/runs/{held.run.id}")).json()
        await lives.finalize(held, RunStatus.FAILED)
        after = (await ann.get(f"/v1/runs/{held.run.id}")).json()
        assert before["partial"] is None
        assert (after["partial"] or {}).get("text") == shown
        assert "Half" not in str(after["output"])

"""The main job, worker's side: calls proposed, decided one by one, committed once, one final message."""

from __future__ import annotations

import pytest

from tests.services.worker.bench import Bench
from tests.services.worker.walks import walks
from tests.support.scripted_model import DONE, call, finish, text_answer, tool_answer

pytestmark = pytest.mark.transcript

REMIND = {"title": "report", "at": "2026-12-01T09:00:00+08:00"}
HOTEL = {"amount": "1234.50", "currency": "USD"}


@walks("direct: finalize -> end")
async def test_i21_a_direct_answer_ends_with_one_final_message(bench: Bench) -> None:
    bench.model.answer(text_answer("Hello there."))
    async with bench.working():
        run_id = await bench.runs.queued("hi")
        assert await bench.ended(run_id) == "succeeded"
    assert await bench.final_messages(run_id) == ["Hello there."]
    assert (await bench.events(run_id))[-2:] == ["message.completed", "run.finalized"]
    assert await bench.violations() == []


async def test_an_approved_action_is_committed_once(bench: Bench) -> None:
    bench.model.answer(tool_answer("life.create_reminder", REMIND))
    async with bench.working():
        run_id = await bench.runs.queued("remind me tomorrow at nine to send the report")
        interrupt = await bench.asked(run_id)
        assert (interrupt["kind"], interrupt["index"], interrupt["n"]) == ("approval", 0, 1)
        assert interrupt["preview"][0]["arguments"] == REMIND
        assert bench.gateway.committed == []
        await bench.resolve(run_id, interrupt["id"], {"decision": "approve"})
        assert await bench.ended(run_id) == "succeeded"
    assert len(bench.gateway.effects) == 1
    assert len(bench.model.requests) == 1
    [message] = await bench.final_messages(run_id)
    assert message.startswith("Done: ")


async def test_i13_a_rejected_action_is_never_committed(bench: Bench) -> None:
    bench.model.answer(tool_answer("life.create_reminder", REMIND))
    async with bench.working():
        run_id = await bench.runs.queued("提醒我交周报", locale="zh-CN")
        interrupt = await bench.asked(run_id)
        await bench.resolve(run_id, interrupt["id"], {"decision": "reject"})
        assert await bench.ended(run_id) == "cancelled"
    assert bench.gateway.committed == []
    [message] = await bench.final_messages(run_id)
    assert "没有做任何改动" in message
    assert await bench.finalization(run_id) == ("cancelled", "approval_rejected")


async def test_a_reading_commits_at_once_and_its_text_is_the_answer(bench: Bench) -> None:
    bench.model.answer(tool_answer("life.list_reminders", {}))
    bench.gateway.results["life.list_reminders"] = {"text": "You have 2 reminders."}
    async with bench.working():
        run_id = await bench.runs.queued("show my reminders")
        assert await bench.ended(run_id) == "succeeded"
    assert await bench.final_messages(run_id) == ["You have 2 reminders."]
    assert await bench.count("SELECT count(*) FROM agent.interrupts") == 0


async def test_two_actions_are_one_question_with_a_decision_for_each(bench: Bench) -> None:
    import json

    bench.model.answer([
        call("life__create_reminder", json.dumps(REMIND), index=0, id="a"),
        call("life__add_ledger_entry", json.dumps(HOTEL), index=1, id="b"),
        finish("tool_calls"),
        DONE,
    ])  # fmt: skip
    async with bench.working():
        run_id = await bench.runs.queued("both")
        interrupt = await bench.asked(run_id)
        assert interrupt["indexes"] == [0, 1]
        decisions = [{"index": 0, "decision": "approve"}, {"index": 1, "decision": "reject", "note": "no"}]
        await bench.resolve(run_id, interrupt["id"], {"decisions": decisions})
        assert await bench.ended(run_id) == "succeeded"
    assert [c["index"] for c in bench.gateway.committed] == [0]
    [message] = await bench.final_messages(run_id)
    assert "Done: life.create_reminder" in message
    assert "Not done, as you did not approve it: life.add_ledger_entry" in message


async def test_edited_arguments_are_a_new_preparation_by_their_editor(bench: Bench) -> None:
    bench.model.answer(tool_answer("life.create_reminder", REMIND))
    async with bench.working():
        run_id = await bench.runs.queued("remind me")
        interrupt = await bench.asked(run_id)
        edited = {**REMIND, "title": "the weekly report"}
        await bench.resolve(run_id, interrupt["id"], {"decision": "approve", "arguments": edited})
        assert await bench.ended(run_id) == "succeeded"
    second = bench.gateway.prepared[1]["calls"][0]
    assert (second["n"], second["arguments"], second["edited_by"]) == (2, edited, str(interrupt["id"]))
    assert [(c["index"], c["n"]) for c in bench.gateway.committed] == [(0, 2)]


async def test_lg2_every_round_before_an_approval_is_keyed_and_done_once(bench: Bench) -> None:
    """Three rounds (two changed preconditions, then done): three preparations, one effect, one model call."""
    bench.model.answer(tool_answer("life.create_reminder", REMIND))
    bench.gateway.commit_script.extend(["precondition_changed", "precondition_changed"])
    async with bench.working():
        run_id = await bench.runs.queued("remind me")
        seen = []
        for n in (1, 2, 3):
            interrupt = await bench.asked(run_id)
            seen.append((interrupt["index"], interrupt["n"]))
            assert interrupt["n"] == n
            await bench.resolve(run_id, interrupt["id"], {"decision": "approve"})
        assert await bench.ended(run_id) == "succeeded"
    assert [p["calls"][0]["n"] for p in bench.gateway.prepared] == [1, 2, 3]
    assert len(bench.gateway.effects) == 1
    assert len(bench.model.requests) == 1


@walks("ask -> module_agent")
async def test_a_question_is_asked_and_its_answer_completes_the_same_run(bench: Bench) -> None:
    asked = {
        "question": "When?",
        "slot": "time",
        "candidates": [{"id": "c1", "label": "nine", "value": "2026-12-01T09:00:00+08:00"}],
    }
    bench.model.answer(tool_answer("ask", asked), tool_answer("life.create_reminder", REMIND))
    async with bench.working():
        run_id = await bench.runs.queued("remind me to send the report")
        interrupt = await bench.asked(run_id)
        assert (interrupt["kind"], interrupt["question"]) == ("input", "When?")
        await bench.resolve(run_id, interrupt["id"], {"choice": "c1"})

        approval = await bench.asked(run_id)
        assert approval["kind"] == "approval"
        await bench.resolve(run_id, approval["id"], {"decision": "approve"})
        assert await bench.ended(run_id) == "succeeded"
    said = bench.model.requests[1]["messages"][-2:]
    assert said[0] == {"role": "assistant", "content": "When?"}
    assert said[1] == {"role": "user", "content": "nine (2026-12-01T09:00:00+08:00)"}


async def test_a_hand_over_happens_once_and_another_module_takes_the_run(bench: Bench) -> None:
    from tests.support.scripted_gateway import life_catalog

    await bench.publish(life_catalog(module="companion", tools=()))
    bench.model.answer(tool_answer("hand_over", {"module": "life"}), text_answer("Here I am."))
    async with bench.working(worker_modules=("life", "companion")):
        run_id = await bench.runs.queued("list my reminders", module="companion")
        assert await bench.ended(run_id) == "succeeded"
    assert "run.rerouted" in await bench.events(run_id)
    assert await bench.runs.fetch("SELECT module, rerouted FROM agent.runs") == [("life", True)]
    offered = [[t["function"]["name"] for t in r["tools"]] for r in bench.model.requests]
    assert "hand_over" in offered[0]
    assert "hand_over" not in offered[1]
    assert "life__create_reminder" in offered[1]


async def test_what_is_another_modules_is_named_and_left_undone(bench: Bench) -> None:
    import json

    bench.model.answer([
        call("life__create_reminder", json.dumps(REMIND), index=0, id="a"),
        call("respond", json.dumps({"text": "", "left_undone": ["write an email to Bob"]}), index=1, id="b"),
        finish("tool_calls"),
        DONE,
    ])  # fmt: skip
    async with bench.working():
        run_id = await bench.runs.queued("remind me and write Bob")
        interrupt = await bench.asked(run_id)
        await bench.resolve(run_id, interrupt["id"], {"decision": "approve"})
        assert await bench.ended(run_id) == "succeeded"
    assert await bench.runs.fetch("SELECT left_undone FROM agent.finalizations") == [
        (["write an email to Bob"],)
    ]
    [message] = await bench.final_messages(run_id)
    assert "Not done yet: write an email to Bob" in message


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("life.delete_everything", {}, "tool_not_allowed"),
        ("work.draft_email", {}, "tool_not_allowed"),
        ("life.create_remindеr", REMIND, "tool_not_allowed"),  # a Cyrillic letter
        ("life.create_reminder", {**REMIND, "user_id": "someone"}, "identity_argument"),
    ],
)
async def test_i14_a_call_that_is_none_is_refused_logged_and_fails_closed(
    bench: Bench, name: str, arguments: dict[str, str], code: str
) -> None:
    bench.model.answer(*[tool_answer(name, arguments)] * 3)
    async with bench.working():
        run_id = await bench.runs.queued("do it")
        assert await bench.ended(run_id) == "blocked"
    assert bench.gateway.prepared == []
    assert (await bench.events(run_id)).count("tool.refused") == 3
    [payload] = await bench.runs.fetch(
        "SELECT convert_from(p.payload, 'UTF8') FROM agent.run_event_payloads p"
        " JOIN agent.run_events e USING (run_id, seq) WHERE e.type = 'tool.refused' LIMIT 1"
    )
    assert code in payload[0]
    assert await bench.finalization(run_id) == ("blocked", "policy_denied")
    # The model heard why, and every call had its answer.
    second = bench.model.requests[1]["messages"]
    assert second[-2]["tool_calls"][0]["id"] == second[-1]["tool_call_id"]
    assert code in second[-1]["content"]


async def test_a_refused_answer_may_be_mended(bench: Bench) -> None:
    bench.model.answer(
        tool_answer("life.create_reminder", {"title": "report"}), tool_answer("life.create_reminder", REMIND)
    )
    async with bench.working():
        run_id = await bench.runs.queued("remind me")
        interrupt = await bench.asked(run_id)
        await bench.resolve(run_id, interrupt["id"], {"decision": "approve"})
        assert await bench.ended(run_id) == "succeeded"
    assert "/at" in bench.model.requests[1]["messages"][-1]["content"]


async def test_the_gateways_refusal_goes_back_to_the_model(bench: Bench) -> None:
    refusal = {
        "index": 0,
        "code": "arguments_invalid",
        "tool": "life.create_reminder",
        "pointer": "/at",
        "detail": "past",
    }
    body = {
        "type": "t",
        "title": "t",
        "status": 422,
        "detail": "",
        "code": "calls_refused",
        "request_id": "r",
    }
    bench.gateway.prepare_script.append((422, {**body, "refusals": [refusal]}))
    bench.model.answer(tool_answer("life.create_reminder", REMIND), text_answer("That time is over."))
    async with bench.working():
        run_id = await bench.runs.queued("remind me")
        assert await bench.ended(run_id) == "succeeded"
    assert await bench.final_messages(run_id) == ["That time is over."]
    assert bench.gateway.committed == []


async def test_a_lost_answer_of_the_gateway_is_asked_for_again_under_the_same_key(bench: Bench) -> None:
    bench.model.answer(tool_answer("life.create_reminder", REMIND))
    bench.gateway.prepare_script.extend(["drop", 503])
    bench.gateway.commit_script.extend(
        ["drop", (202, {"state": "in_progress", "retry_after_seconds": 0.05}), 503]
    )
    async with bench.working():
        run_id = await bench.runs.queued("remind me")
        interrupt = await bench.asked(run_id)
        await bench.resolve(run_id, interrupt["id"], {"decision": "approve"})
        assert await bench.ended(run_id) == "succeeded"
    assert len(bench.gateway.effects) == 1
    assert len({(c["index"], c["n"], c["token_id"]) for c in bench.gateway.committed}) == 1


async def test_a_failed_action_is_said_and_nothing_is_claimed(bench: Bench) -> None:
    failed = {"state": "failed", "result": None, "error": {"code": "tool_failed", "detail": "full"}}
    bench.gateway.commit_script.append((200, failed))
    bench.model.answer(tool_answer("life.create_reminder", REMIND))
    async with bench.working():
        run_id = await bench.runs.queued("remind me")
        interrupt = await bench.asked(run_id)
        await bench.resolve(run_id, interrupt["id"], {"decision": "approve"})
        assert await bench.ended(run_id) == "failed"
    [message] = await bench.final_messages(run_id)
    assert "This failed" in message
    assert "Nothing was done." in message

"""Reported cases seen from a run: what the model sends wrongly, who dies meanwhile (ST-1, ST-4, LG-4)."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import UUID

import pytest
from fencepost_runtime.failpoints import Action, arm
from fencepost_worker.models.pairing import NOT_EXECUTED

from tests.services.worker.bench import Bench
from tests.services.worker.test_invariants import insert_action, insert_effect
from tests.support.eventually import eventually
from tests.support.scripted_model import DONE, Chunks, call, event, finish, say, text_answer
from tests.support.worker_process import worker_process

ENTRIES = ({"amount": "12.00", "currency": "CNY"}, {"amount": "8.50", "currency": "CNY"})
ADD = "life__add_ledger_entry"


def two_calls(*, index: int, ids: bool = True) -> Chunks:
    """Both entries under one index; told apart by their ids, or by nothing."""
    pieces = [
        call(ADD, json.dumps(entry), index=index, id=f"call_{place}" if ids else None)
        for place, entry in enumerate(ENTRIES)
    ]
    return [*pieces, finish("tool_calls"), DONE]


async def test_st1_two_calls_under_one_index_are_two_actions(bench: Bench) -> None:
    bench.model.answer(two_calls(index=0))
    async with bench.working():
        run_id = await bench.runs.queued("taxi 12, lunch 8.5")
        interrupt = await bench.asked(run_id)
        assert interrupt["indexes"] == [0, 1]
        await bench.resolve(run_id, interrupt["id"], {"decision": "approve"})
        assert await bench.ended(run_id) == "succeeded"
    [prepared] = bench.gateway.prepared
    assert [one["arguments"] for one in prepared["calls"]] == list(ENTRIES)
    assert len(bench.gateway.effects) == 2


async def test_st1_calls_that_cannot_be_told_apart_do_nothing(bench: Bench) -> None:
    glued = [call(ADD, '{"amount":"12', index=0), call(ADD, json.dumps(ENTRIES[1]), index=0)]
    bench.model.answer(*[[*glued, finish("tool_calls"), DONE]] * 8)
    async with bench.working():
        run_id = await bench.runs.queued("taxi 12, lunch 8.5")
        await eventually(lambda: deferred(bench, run_id))
        await bench.runs.run("UPDATE agent.runs SET max_attempts = 1, available_at = clock_timestamp()")
        assert await bench.ended(run_id) == "failed"
    assert bench.gateway.prepared == []
    codes = await bench.runs.fetch("SELECT DISTINCT error->>'code' FROM agent.model_calls")
    assert codes == [("protocol_error",)]


async def deferred(bench: Bench, run_id: UUID) -> bool:
    return "run.deferred" in await bench.events(run_id)


@pytest.mark.parametrize("choices", [{}, {"choices": []}], ids=["alone", "beside no choices"])
async def test_st4_an_error_inside_the_stream_ends_the_run_and_its_text_stays_partial(
    bench: Bench, choices: dict[str, object]
) -> None:
    """The status line said 200; the failure is stored with its code, and told as the run's end."""
    wrong = event({**choices, "error": {"message": "no such key", "code": 401}})
    bench.model.answer([say("好的"), wrong, DONE])
    async with bench.working():
        run_id = await bench.runs.queued("remind me")
        assert await bench.ended(run_id) == "failed"
    [(error,)] = await bench.runs.fetch("SELECT error FROM agent.model_calls")
    assert (error["code"], error["provider_code"], error["retryable"]) == ("provider_error", "401", False)
    assert error["partial"] == "好的"
    [message] = await bench.final_messages(run_id)
    assert "好的" not in message and message
    assert (await bench.events(run_id))[-2:] == ["message.completed", "run.finalized"]
    assert await bench.finalization(run_id) == ("failed", "model_failed")


@pytest.mark.faults
async def test_lg4_killed_between_two_results_the_conversation_goes_on(bench: Bench, tmp_path: Path) -> None:
    """One call is done, SIGKILL before the second; cancelled; a new message finds every call answered."""
    conversation = bench.runs.ids.uuid7()
    bench.model.answer(two_calls(index=0))
    folder = tmp_path / "failpoints"
    settings = {"model_url": bench.model.url, "model_name": "scripted"}
    async with worker_process(bench.database, bench.gateway.url, tmp_path, **settings) as doomed:
        first = await bench.runs.queued("do both", conversation_id=conversation)
        interrupt = await bench.asked(first, 30.0)
        arm(folder, "worker.commit.after_answer", Action.KILL)
        await bench.resolve(first, interrupt["id"], {"decision": "approve"})
        await doomed.process.wait()
    assert len(bench.gateway.committed) == 1
    for index, entry in enumerate(ENTRIES):  # as the real gateway would have stored it
        await insert_action(bench, first, index, "life.add_ledger_entry", entry)
    await insert_effect(bench, first, 0, "life.add_ledger_entry", "completed")
    await bench.expire_lease(first)
    before = await bench.events(first)
    await bench.cancel(first)
    bench.model.answer(text_answer("ok"))
    async with bench.working():
        second = await bench.runs.queued("and now?", conversation_id=conversation)
        assert await bench.ended(second) == "succeeded"
    messages = bench.model.requests[-1]["messages"]
    [asked] = [m for m in messages if m.get("tool_calls")]
    answers = [m for m in messages if m["role"] == "tool"]
    assert [m["tool_call_id"] for m in answers] == [c["id"] for c in asked["tool_calls"]]
    assert json.loads(answers[0]["content"])["status"] == "completed"
    assert answers[1]["content"] == NOT_EXECUTED
    assert (await bench.events(first))[: len(before)] == before, "what is stored is not rewritten"
    assert len(bench.gateway.committed) == 1

"""The main job on the worker's side: one call proposed, one decision, one commit, one final message."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.services.worker.bench import Bench, benches
from tests.support.postgres import Database
from tests.support.scripted_model import text_answer, tool_answer


@pytest.fixture
async def bench(database: Database) -> AsyncIterator[Bench]:
    async with benches(database) as one:
        yield one


async def test_i21_a_direct_answer_ends_with_one_final_message(bench: Bench) -> None:
    bench.model.answer(text_answer("Hello there."))
    async with bench.working():
        run_id = await bench.runs.queued("hi")
        assert await bench.ended(run_id) == "succeeded"
    assert await bench.final_messages(run_id) == ["Hello there."]
    events = await bench.events(run_id)
    assert events[-2:] == ["message.completed", "run.finalized"]
    assert await bench.violations() == []


async def test_an_approved_action_is_committed_once(bench: Bench) -> None:
    bench.model.answer(
        tool_answer("life.create_reminder", {"title": "report", "at": "2026-12-01T09:00:00+08:00"})
    )
    async with bench.working():
        run_id = await bench.runs.queued("remind me tomorrow at nine to send the report")
        interrupt = await bench.asked(run_id)
        assert interrupt["kind"] == "approval"
        assert "report" in interrupt["question"]
        assert bench.gateway.committed == []
        await bench.resolve(run_id, interrupt["id"], {"decision": "approve"})
        assert await bench.ended(run_id) == "succeeded"
    assert len(bench.gateway.effects) == 1
    assert len(bench.model.requests) == 1
    [message] = await bench.final_messages(run_id)
    assert message.startswith("Done: ")


async def test_i13_a_rejected_action_is_never_committed(bench: Bench) -> None:
    bench.model.answer(
        tool_answer("life.create_reminder", {"title": "report", "at": "2026-12-01T09:00:00+08:00"})
    )
    async with bench.working():
        run_id = await bench.runs.queued("提醒我交周报", locale="zh-CN")
        interrupt = await bench.asked(run_id)
        await bench.resolve(run_id, interrupt["id"], {"decision": "reject"})
        assert await bench.ended(run_id) == "cancelled"
    assert bench.gateway.committed == []
    [message] = await bench.final_messages(run_id)
    assert "没有做任何改动" in message
    assert await bench.finalization(run_id) == ("cancelled", "approval_rejected")

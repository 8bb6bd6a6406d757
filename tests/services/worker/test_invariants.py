"""The worker's invariants, each on real Postgres under the worker's own role."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from uuid import UUID, uuid4

import pytest
from fencepost_worker import prompts
from fencepost_worker.history import as_messages
from fencepost_worker.models.pairing import NOT_EXECUTED, OUTCOME_UNKNOWN, is_paired, paired
from fencepost_worker.models.port import Call, Message

from tests.services.worker.bench import Bench
from tests.services.worker.walks import walks
from tests.support.eventually import eventually
from tests.support.scripted_gateway import life_catalog
from tests.support.scripted_model import DONE, call, finish, say, text_answer, tool_answer

REMIND = {"title": "report", "at": "2026-12-01T09:00:00+08:00"}


async def test_i03_every_checkpoint_of_a_run_is_under_its_own_id(bench: Bench) -> None:
    bench.model.answer(tool_answer("life.create_reminder", REMIND))
    async with bench.working():
        run_id = await bench.runs.queued("remind me")
        await bench.asked(run_id)
    rows = await bench.runs.fetch(
        "SELECT run_id, thread_id FROM langgraph.checkpoints"
        " UNION SELECT run_id, thread_id FROM langgraph.writes"
    )
    assert rows == [(run_id, run_id)]


async def test_i16_a_run_goes_on_with_what_it_is_bound_to(bench: Bench) -> None:
    """A new catalog, without the tool that waits for its approval, changes nothing for the run in flight."""
    bench.model.answer(tool_answer("life.create_reminder", REMIND), text_answer("nothing to do"))
    async with bench.working():
        run_id = await bench.runs.queued("remind me")
        interrupt = await bench.asked(run_id)
        bound = await bench.runs.fetch("SELECT graph_version, manifest_fp, catalog_fp FROM agent.runs")
        await bench.publish(life_catalog("2", tools=()))
        await bench.resolve(run_id, interrupt["id"], {"decision": "approve"})
        assert await bench.ended(run_id) == "succeeded"
        assert (
            await bench.runs.fetch("SELECT graph_version, manifest_fp, catalog_fp FROM agent.runs") == bound
        )

        await asyncio.sleep(1.1)  # what is published is read at most once a second
        later = await bench.runs.queued("again")
        assert await bench.ended(later) == "succeeded"
    [(catalog,)] = await bench.runs.fetch("SELECT catalog_fp FROM agent.runs WHERE id = %s", later)
    assert catalog == life_catalog("2", tools=()).fingerprint
    assert "life__create_reminder" not in json.dumps(bench.model.requests[-1]["tools"])


@pytest.mark.parametrize("table", ["catalogs", "manifests", "definitions"])
@pytest.mark.parametrize("how", ["revoked", "tampered"])
async def test_i16_a_revoked_or_altered_version_stops_the_run_safely(
    bench: Bench, table: str, how: str
) -> None:
    bench.model.answer(tool_answer("life.create_reminder", REMIND))
    async with bench.working():
        run_id = await bench.runs.queued("remind me")
        interrupt = await bench.asked(run_id)
        if how == "revoked":
            await bench.runs.run(f"UPDATE agent.{table} SET revoked_at = clock_timestamp()")
        else:
            await bench.runs.run(f"ALTER TABLE agent.{table} DISABLE TRIGGER ALL")
            await bench.runs.run(f"UPDATE agent.{table} SET body = body || ' '")
        await bench.resolve(run_id, interrupt["id"], {"decision": "approve"})
        assert await bench.ended(run_id) == "blocked"
    assert bench.gateway.committed == []
    assert await bench.finalization(run_id) == ("blocked", "version_revoked")
    [message] = await bench.final_messages(run_id)
    assert "Nothing was done." in message


async def test_i16_words_that_were_changed_in_place_stop_the_runs_bound_to_them(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.model.answer(tool_answer("life.create_reminder", REMIND))
    async with bench.working():
        run_id = await bench.runs.queued("remind me")
        interrupt = await bench.asked(run_id)
        [(named,)] = await bench.runs.fetch(
            "SELECT m.body::jsonb -> 'prompts' FROM agent.manifests m JOIN agent.runs r"
            " ON r.manifest_fp = m.fingerprint WHERE r.id = %s",
            run_id,
        )
        assert named == prompts.references()
        as_it_was = prompts.read_prompt
        changed = replace(as_it_was("planner-v1"), fingerprint="0" * 64)
        monkeypatch.setattr(
            prompts, "read_prompt", lambda name: changed if name == "planner-v1" else as_it_was(name)
        )
        await bench.resolve(run_id, interrupt["id"], {"decision": "approve"})
        assert await bench.ended(run_id) == "blocked"
    assert await bench.finalization(run_id) == ("blocked", "version_revoked")


async def test_i17_a_waiting_run_that_is_replayed_asks_the_same_question(bench: Bench) -> None:
    bench.model.answer(tool_answer("life.create_reminder", REMIND))
    async with bench.working():
        run_id = await bench.runs.queued("remind me")
        interrupt = await bench.asked(run_id)
        for _ in range(2):
            await bench.pause(run_id)
            await bench.resume(run_id)  # queued, although the question is open: the worker looks again
            again = await bench.asked(run_id)
            assert again["id"] == interrupt["id"]
    assert await bench.count("SELECT count(*) FROM agent.interrupts") == 1
    assert len(bench.model.requests) == 1
    assert len(bench.gateway.prepared) == 1


async def test_ap6_a_decision_between_the_look_and_the_parking_is_not_slept_through(bench: Bench) -> None:
    """The question is open when the run is claimed again; the decision lands while it is about to park."""
    bench.model.answer(tool_answer("life.create_reminder", REMIND))
    async with bench.working() as _:
        run_id = await bench.runs.queued("remind me")
        interrupt = await bench.asked(run_id)
    # No worker: bring the run to the point where a worker looks, sees nothing, and is about to park.
    await bench.pause(run_id)
    await bench.resume(run_id)
    claim = await bench.runs.claim(run_id)
    await bench.resolve(run_id, interrupt["id"], {"decision": "approve"})
    from fencepost_domain.vocabulary import InterruptKind
    from fencepost_store.interrupts import NewInterrupt, open_and_park
    from fencepost_store.runs import lock_run

    async with bench.runs.worker.transaction() as tx:
        locked = await lock_run(tx, run_id)
        new = NewInterrupt(uuid4(), InterruptKind.APPROVAL, 0, 1, "?", actions=((0, 1),))
        await open_and_park(
            tx,
            locked.run,
            locked.now,
            claim.fence,
            new,
            wakes_seen=claim.run.wakes,
            event_id=tx.ids.uuid7(),
        )
    assert await bench.runs.status(run_id) == "queued"
    async with bench.working():
        assert await bench.ended(run_id) == "succeeded"
    assert len(bench.gateway.effects) == 1


async def test_i18_no_request_goes_out_with_an_unpaired_call() -> None:
    calls = (Call("c1", "a", {}), Call("c2", "b", {}))
    history = [
        Message("user", "do both"),
        Message("assistant", "", calls),
        Message("tool", "done", call_id="c1"),
        Message("tool", "stray", call_id="c9"),
        Message("user", "and now?"),
        Message("tool", "late", call_id="c1"),
    ]
    sent = paired(history, unknown=frozenset({"c2"}))
    assert is_paired(sent)
    assert not is_paired(history)
    assert [(m.call_id, m.text) for m in sent if m.role == "tool"] == [
        ("c1", "done"),
        ("c2", OUTCOME_UNKNOWN),
    ]
    assert [m.text for m in paired(history) if m.call_id == "c2"] == [NOT_EXECUTED]


async def test_lg4_a_conversation_with_a_broken_run_goes_on_with_every_call_answered(bench: Bench) -> None:
    """Two calls; the first is done, the worker dies before the second; cancelled; then a new message."""
    conversation = bench.runs.ids.uuid7()
    other = {"amount": "5", "currency": "CNY"}
    bench.model.answer([
        call("life__create_reminder", json.dumps(REMIND), index=0, id="c1"),
        call("life__add_ledger_entry", json.dumps(other), index=1, id="c2"),
        finish("tool_calls"),
        DONE,
    ])  # fmt: skip
    async with bench.working():
        first = await bench.runs.queued("do both", conversation_id=conversation)
        await bench.asked(first)
    # What the real gateway would have stored: c1 completed, c2 prepared.
    for index, (tool, arguments) in enumerate(
        [("life.create_reminder", REMIND), ("life.add_ledger_entry", other)]
    ):
        await insert_action(bench, first, index, tool, arguments)
    await insert_effect(bench, first, 0, "life.create_reminder", "completed")
    await bench.cancel(first)
    assert await bench.runs.status(first) == "cancelled"
    bench.model.answer(text_answer("ok"))
    async with bench.working():
        second = await bench.runs.queued("and now?", conversation_id=conversation)
        assert await bench.ended(second) == "succeeded"
    messages = bench.model.requests[-1]["messages"]
    [asked] = [m for m in messages if m.get("tool_calls")]
    at = messages.index(asked)
    answers = messages[at + 1 : at + 3]
    assert [m["tool_call_id"] for m in answers] == [c["id"] for c in asked["tool_calls"]]
    assert json.loads(answers[0]["content"])["status"] == "completed"
    assert answers[1]["content"] == NOT_EXECUTED
    assert sum(m["role"] == "tool" for m in messages) == 2


def test_lg4_an_effect_that_had_started_is_said_to_be_unknown() -> None:
    run_id = uuid4()
    action = {
        "run_id": run_id,
        "index": 0,
        "tool": "t",
        "arguments": "{}",
        "status": "approved",
        "result": None,
    }
    turns = [{"run_id": run_id, "author": "user", "text": "do"}]
    sent = as_messages(turns, [{**action, "effect_state": "started", "error": None}])
    assert is_paired(sent)
    assert sent[-1].text == OUTCOME_UNKNOWN


async def insert_action(bench: Bench, run_id: UUID, index: int, tool: str, arguments: dict[str, str]) -> None:
    await bench.runs.run(
        "INSERT INTO agent.actions (run_id, index, n, tenant_id, tool, tool_version, catalog_fp, arguments,"
        " arguments_hash, author, risk, effect_class, approval, preview, change, precondition, token_id,"
        " token_key_id, token_mac, token_expires_at)"
        " SELECT id, %s, 1, tenant_id, %s, '1', catalog_fp, %s, 'h', user_id, 'medium', 'local', true, '{}',"
        " '{}', '{}', gen_random_uuid(), 'k', '', now() FROM agent.runs WHERE id = %s",
        index,
        tool,
        json.dumps(arguments),
        run_id,
    )


async def insert_effect(bench: Bench, run_id: UUID, index: int, tool: str, state: str) -> None:
    await bench.runs.run(
        "INSERT INTO agent.effects (effect_key, run_id, root_run_id, tenant_id, index, n, tool, class, state,"
        " arguments_hash, request, result)"
        " SELECT id || ':action:' || %s || ':commit', id, root_run_id, tenant_id, %s, 1, %s, 'local', %s,"
        " 'h', '', '{\"ok\": true}' FROM agent.runs WHERE id = %s",
        index,
        index,
        tool,
        state,
        run_id,
    )


async def test_i19_half_a_streamed_call_has_no_effect(bench: Bench) -> None:
    cut = [call("life__create_reminder", json.dumps(REMIND)[:20], id="a")]
    bench.model.answer(cut, tool_answer("life.create_reminder", REMIND))
    async with bench.working():
        run_id = await bench.runs.queued("remind me")
        interrupt = await bench.asked(run_id)
        await bench.resolve(run_id, interrupt["id"], {"decision": "reject"})
        await bench.ended(run_id)
    assert len(bench.gateway.prepared) == 1
    calls = await bench.runs.fetch(
        "SELECT attempt, state, error->>'code' FROM agent.model_calls ORDER BY attempt"
    )
    assert calls == [(1, "failed", "incomplete"), (2, "settled", None)]


async def test_i19_a_stream_that_never_ends_well_defers_and_then_fails_the_run(bench: Bench) -> None:
    bench.model.answer(*[[say("I will"), call("life__create_reminder", "{", id="a")]] * 2)
    async with bench.working():
        run_id = await bench.runs.queued("remind me")
        await eventually(
            lambda: bench.runs.fetch("SELECT 1 FROM agent.run_events WHERE type = 'run.deferred'")
        )
        await bench.runs.run("UPDATE agent.runs SET max_attempts = 1, available_at = clock_timestamp()")
        bench.model.answer(*[[call("life__create_reminder", "{", id="a")]] * 2)
        assert await bench.ended(run_id) == "failed"
    assert await bench.finalization(run_id) == ("failed", "attempts_exhausted")
    assert bench.gateway.prepared == []
    partial = await bench.runs.fetch("SELECT error->>'partial' FROM agent.model_calls WHERE attempt = 1")
    assert partial == [("I will",)]


async def test_a_budget_of_model_calls_is_not_exceeded(bench: Bench) -> None:
    bench.model.answer(*[tool_answer("life.create_reminder", {"title": "no time"})] * 3)
    async with bench.working():
        run_id = await bench.runs.queued("remind me", budget={"model_calls": 2})
        assert await bench.ended(run_id) == "failed"
    assert await bench.finalization(run_id) == ("failed", "budget_exhausted")
    assert len(bench.model.requests) == 2
    assert await bench.runs.fetch("SELECT model_calls FROM agent.budgets") == [(2,)]


@walks("module_agent ! model_failed")
async def test_a_provider_that_refuses_the_key_fails_the_run_without_a_retry(bench: Bench) -> None:
    bench.model.status = 401
    async with bench.working():
        run_id = await bench.runs.queued("hi")
        assert await bench.ended(run_id) == "failed"
    assert len(bench.model.requests) == 1
    assert await bench.finalization(run_id) == ("failed", "model_failed")


async def test_the_offline_model_answers_by_name_through_the_same_ledger(bench: Bench) -> None:
    async with bench.working(model_url=None, model_name=None):
        run_id = await bench.runs.queued("明天上午九点提醒我交周报", locale="zh-CN")
        interrupt = await bench.asked(run_id)
        await bench.resolve(run_id, interrupt["id"], {"decision": "approve"})
        assert await bench.ended(run_id) == "succeeded"
    rows = await bench.runs.fetch("SELECT provider, model, state, call_key FROM agent.model_calls")
    [(provider, model, state, key)] = rows
    assert (provider, model, state) == ("offline", "offline-rules-1", "settled")
    assert key.startswith(f"{run_id}:")
    assert key.endswith(":module_agent:0:0")

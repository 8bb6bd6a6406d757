"""The recovery gate, as a worker's claims meet it: what is told, what is stored, how a run leaves there."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest
from fencepost_reconciler.loops.wake_runs import WakeRuns

from tests.services.worker.bench import Bench
from tests.support.eventually import eventually
from tests.support.scripted_model import text_answer, tool_answer
from tests.support.worker_runs import TENANT, USER

REMIND = {"title": "report", "at": "2026-12-01T09:00:00+08:00"}
ALL = ["binding", "effects", "tool_calls", "approvals", "rights", "artifacts", "secrets", "budget", "changed"]


async def checks(bench: Bench, run_id: UUID) -> list[dict[str, Any]]:
    rows = await bench.runs.fetch(
        "SELECT convert_from(p.payload, 'UTF8') FROM agent.run_events e"
        " JOIN agent.run_event_payloads p USING (run_id, seq)"
        " WHERE e.run_id = %s AND e.type = 'recovery.checked' ORDER BY e.seq",
        run_id,
    )
    return [json.loads(text) for (text,) in rows]


async def waiting_to_be_approved(bench: Bench) -> tuple[UUID, UUID]:
    bench.model.answer(tool_answer("life.create_reminder", REMIND))
    async with bench.working():
        run_id = await bench.runs.queued("remind me")
        return run_id, (await bench.asked(run_id))["id"]


async def test_every_later_claim_is_checked_and_the_first_is_not(bench: Bench) -> None:
    bench.model.answer(tool_answer("life.create_reminder", REMIND), text_answer("hi"))
    async with bench.working():
        run_id = await bench.runs.queued("remind me")
        interrupt = await bench.asked(run_id)
        assert await checks(bench, run_id) == []
        await bench.resolve(run_id, interrupt["id"], {"decision": "approve"})
        assert await bench.ended(run_id) == "succeeded"
        fresh = await bench.runs.queued("hello")
        assert await bench.ended(fresh) == "succeeded"
    told = await checks(bench, run_id)
    assert [one["check"] for one in told] == ALL
    assert {one["answer"] for one in told} == {"ok"}
    assert await checks(bench, fresh) == []
    [(gate, revision)] = await bench.runs.fetch(
        "SELECT gate_revision, revision FROM agent.runs WHERE id = %s", run_id
    )
    assert gate == revision - 1, "let through under the revision of its second claim"
    assert await bench.violations() == []


@pytest.mark.parametrize("why", ["never seen", "not seen for long"])
async def test_a_requester_whose_rights_are_not_known_is_asked_and_then_it_goes_on(
    bench: Bench, why: str
) -> None:
    run_id, asked = await waiting_to_be_approved(bench)
    if why == "never seen":
        await bench.runs.run("DELETE FROM agent.principals WHERE user_id = %s", USER)
    else:
        await bench.runs.run("UPDATE agent.principals SET seen_at = clock_timestamp() - interval '31 days'")
    await bench.resolve(run_id, asked, {"decision": "approve"})
    async with bench.working():
        question = await bench.asked(run_id)
        assert (question["kind"], question["index"]) == ("input", -1)
        assert {one["id"] for one in question["candidates"]} == {"go_on", "stop"}
        assert bench.gateway.committed == []
        assert await bench.violations() == []
        await bench.resolve(run_id, question["id"], {"choice": "go_on"})
        assert await bench.ended(run_id) == "succeeded"
    assert len(bench.gateway.effects) == 1
    assert await bench.violations() == []


async def test_told_to_stop_at_the_gate_the_run_is_blocked_and_nothing_was_done(bench: Bench) -> None:
    run_id, asked = await waiting_to_be_approved(bench)
    await bench.runs.run("DELETE FROM agent.principals")
    await bench.resolve(run_id, asked, {"decision": "approve"})
    async with bench.working():
        question = await bench.asked(run_id)
        await bench.resolve(run_id, question["id"], {"choice": "stop"})
        assert await bench.ended(run_id) == "blocked"
    assert await bench.finalization(run_id) == ("blocked", "policy_denied")
    assert bench.gateway.committed == []


async def test_a_lineage_over_its_budget_is_stopped(bench: Bench) -> None:
    run_id, asked = await waiting_to_be_approved(bench)
    await bench.runs.run("UPDATE agent.budgets SET limits = '{\"actions\": 1}', actions = 2")
    await bench.resolve(run_id, asked, {"decision": "approve"})
    async with bench.working():
        assert await bench.ended(run_id) == "failed"
    assert await bench.finalization(run_id) == ("failed", "budget_exhausted")
    assert bench.gateway.committed == []


async def test_an_attempt_in_progress_is_waited_for_without_the_graph(bench: Bench) -> None:
    """A gateway is at work for a worker that died: nobody repeats, and the outcome wakes the run."""
    run_id, asked = await waiting_to_be_approved(bench)
    effect = f"{run_id}:action:0:commit"
    await bench.runs.run(
        "INSERT INTO agent.effects (effect_key, run_id, root_run_id, tenant_id, index, n, tool, class, state,"
        " arguments_hash, request, attempts) VALUES (%s, %s, %s, %s, 0, 1, 'work.send',"
        " 'external_idempotent', 'started', '', '', 1)",
        *(effect, run_id, run_id, TENANT),
    )
    await bench.runs.run(
        "INSERT INTO agent.effect_attempts (effect_key, attempt, run_id, tenant_id, executor_boot, state,"
        " request, attempt_ends_at) VALUES (%s, 1, %s, %s, 'b', 'started', '',"
        " clock_timestamp() + interval '1 hour')",
        *(effect, run_id, TENANT),
    )
    await bench.resolve(run_id, asked, {"decision": "approve"})
    async with bench.working(), bench.reconciler() as store:
        await bench.reaches(run_id, "waiting")
        [(on,)] = await bench.runs.fetch("SELECT waiting_on FROM agent.runs WHERE id = %s", run_id)
        assert on == "tool"
        assert [(c["check"], c["answer"]) for c in await checks(bench, run_id) if c["answer"] == "wait"] == [
            ("effects", "wait")
        ]
        assert bench.gateway.committed == []
        await bench.runs.run("UPDATE agent.runs SET available_at = clock_timestamp() WHERE id = %s", run_id)
        assert await WakeRuns(store).run_once() == {}, "it is still in progress"
        await bench.runs.run(
            "UPDATE agent.effect_attempts SET state = 'completed', settled_at = clock_timestamp()"
        )
        await bench.runs.run("UPDATE agent.effects SET state = 'completed', result = '{}'")

        async def woken() -> bool:
            await WakeRuns(store).run_once()
            return await bench.runs.status(run_id) != "waiting"

        await eventually(woken)
        assert await bench.ended(run_id) == "succeeded"


async def test_what_others_said_meanwhile_is_noticed(bench: Bench) -> None:
    run_id, asked = await waiting_to_be_approved(bench)
    [(conversation,)] = await bench.runs.fetch("SELECT conversation_id FROM agent.runs WHERE id = %s", run_id)
    await bench.runs.queued("and buy milk", conversation_id=conversation)
    bench.model.answer(text_answer("Noted."))
    await bench.resolve(run_id, asked, {"decision": "approve"})
    async with bench.working():
        assert await bench.ended(run_id) == "succeeded"
    [changed] = [one for one in await checks(bench, run_id) if one["check"] == "changed"]
    assert changed["answer"] == "repair"


async def test_a_run_that_continues_another_tells_its_model_what_was_done(bench: Bench) -> None:
    bench.model.answer(text_answer("The room is booked already; the invitation is left."))
    brief = {"goal": "book the room", "done": [{"tool": "life.book_room"}], "plan_left": [], "note": "away"}
    async with bench.working():
        run_id = await bench.runs.queued("go on", facts={"continues": brief})
        assert await bench.ended(run_id) == "succeeded"
    [request] = bench.model.requests
    told = [m["content"] for m in request["messages"] if m["role"] == "system"]
    assert any("handed over" in text and "life.book_room" in text for text in told)

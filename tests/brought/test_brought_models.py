"""The configured model in a brought graph: asked once, paid once, paired, and frozen in a simulation."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio
from fencepost.requests import derive, run_difference

from tests.brought.desk import Desk, at_desk, desk_mesh
from tests.faults.mesh import Mesh
from tests.support.eventually import eventually
from tests.support.scripted_model import (
    DONE,
    Chunks,
    ScriptedModel,
    call,
    finish,
    providing,
    text_answer,
    usage,
)
from tests.support.scripted_model import tool_answer as asked_for

AFTER = ("worker.model.after_answer", "worker.checkpoint.before_commit", "worker.prepare.after_answer")


def two_calls() -> Chunks:
    first = call("tutor__search", '{"query": "a"}', id="c1")
    second = call("tutor__note", '{"text": "b"}', index=1, id="c2")
    return [first, second, finish("tool_calls"), usage(), DONE]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def provider() -> AsyncIterator[ScriptedModel]:
    async with providing(ScriptedModel()) as model:
        yield model


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def mesh(tmp_path_factory: pytest.TempPathFactory, provider: ScriptedModel) -> AsyncIterator[Mesh]:
    env = {"FENCEPOST_MODEL_URL": provider.url, "FENCEPOST_MODEL_NAME": "scripted"}
    async with desk_mesh(tmp_path_factory.mktemp("tutor"), **env) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def tutor(mesh: Mesh, provider: ScriptedModel) -> AsyncIterator[Desk]:
    provider.requests.clear()
    provider.script.clear()
    async with at_desk(mesh, mesh.running.data_dir, "tutor") as one:
        yield one


def roles(request: dict[str, Any]) -> list[str]:
    return [message["role"] for message in request["messages"]]


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_the_tutorials_agent_runs_as_it_is(tutor: Desk, provider: ScriptedModel, way: str) -> None:
    provider.answer(
        asked_for("tutor.search", {"query": "cats"}),
        asked_for("tutor.note", {"text": "cats are fine"}),
        text_answer("I noted it."),
    )
    run_id = await tutor.ask(f"{way} look up cats and note it")
    question = await tutor.waits(run_id)
    assert question["preview"][0]["arguments"] == {"text": "cats are fine"}
    await tutor.decide(question, decision="approve")
    run = await tutor.ended(run_id)
    assert run["status"] == "succeeded" and run["output"]["text"] == "I noted it."
    assert [roles(one) for one in provider.requests] == [
        ["user"],
        ["user", "assistant", "tool"],
        ["user", "assistant", "tool", "assistant", "tool"],
    ]
    offered = {tool["function"]["name"] for tool in provider.requests[0]["tools"]}
    assert offered == {"tutor__search", "tutor__note"}
    ids = [c["id"] for m in provider.requests[2]["messages"] for c in m.get("tool_calls", ())]
    assert len(set(ids)) == 2, "a provider that uses one id for all calls is not taken at its word"
    assert run["usage"]["model_calls"] == 3 and run["usage"]["input_tokens"] == 21
    assert await tutor.mesh.violations() == []


@pytest.mark.faults
@pytest.mark.parametrize("point", AFTER)
async def test_i15_killed_behind_an_answer_the_model_is_not_asked_again(
    tutor: Desk, provider: ScriptedModel, point: str
) -> None:
    provider.answer(asked_for("tutor.note", {"text": "once"}), text_answer("Done."))
    tutor.mesh.arm(point)
    run_id = await tutor.ask("async note it")
    await tutor.mesh.hit(point)
    tutor.mesh.disarm(point)
    await tutor.decide(await tutor.waits(run_id), decision="approve")
    run = await tutor.ended(run_id)
    assert run["output"]["text"] == "Done."
    assert len(provider.requests) == 2
    assert [state for _, _, state in await tutor.effects(run_id)] == ["completed"]
    assert await tutor.mesh.violations() == []


async def test_lg4_a_call_that_the_graph_loses_is_closed_in_what_is_sent(
    tutor: Desk, provider: ScriptedModel
) -> None:
    provider.answer(two_calls(), text_answer("Half."))
    run = await tutor.ended(await tutor.ask("drop one of the two"))
    assert run["status"] == "succeeded"
    assert roles(provider.requests[1]) == ["user", "assistant", "tool", "tool"]
    first, second = [m["content"] for m in provider.requests[1]["messages"] if m["role"] == "tool"]
    assert "about a" in first and "not_executed" in second


async def test_lg4_cancelled_between_two_calls_the_next_message_is_sent_paired(
    tutor: Desk, provider: ScriptedModel
) -> None:
    """c1 has its result, c2 waits for a person: cancelled there, the conversation goes on."""
    provider.answer(two_calls(), text_answer("Hello again."))
    made = await tutor.client.create_run("async do both", module="tutor", idempotency_key=str(uuid4()))
    await tutor.waits(str(made["id"]))
    await tutor.verb(str(made["id"]), "cancel")
    await tutor.ended(str(made["id"]))
    again = await tutor.client.create_run(
        "async and now?",
        module="tutor",
        conversation_id=made["conversation_id"],
        idempotency_key=str(uuid4()),
    )
    run = await tutor.ended(str(again["id"]))
    assert run["output"]["text"] == "Hello again."
    sent = provider.requests[-1]["messages"]
    calls = [c["id"] for m in sent for c in m.get("tool_calls") or ()]
    answers = [m["tool_call_id"] for m in sent if m["role"] == "tool"]
    assert len(calls) == 2 and calls == answers


async def test_a_call_budget_ends_the_run_at_its_limit(tutor: Desk, provider: ScriptedModel) -> None:
    provider.answer(*[asked_for("tutor.search", {"query": f"{n}"}) for n in range(12)])
    run_id = await tutor.ask("async go round in circles")
    run = await tutor.ended(run_id)
    assert run["finalization"]["reason"] in ("budget_exhausted", "no_progress")
    assert len(await tutor.effects(run_id)) <= 10, "the actions of a run have their limit"


async def test_an_async_node_that_would_block_the_loop_is_told_what_to_write(
    tutor: Desk, provider: ScriptedModel
) -> None:
    run_id = await tutor.ask("blocked")
    await tutor.mesh.sql("UPDATE agent.runs SET max_attempts = 1 WHERE id = %s", run_id)
    run = await tutor.ended(run_id)
    assert run["status"] == "failed" and provider.requests == []
    log = (tutor.mesh.running.logs / "worker.log").read_text()
    assert "await model.ainvoke" in log


async def test_a_simulation_of_a_brought_graph_asks_nobody_and_touches_nothing(
    tutor: Desk, provider: ScriptedModel
) -> None:
    provider.answer(
        asked_for("tutor.search", {"query": "x"}), asked_for("tutor.note", {"text": "y"}), text_answer("Z.")
    )
    run_id = await tutor.ask("async x then y")
    await tutor.decide(await tutor.waits(run_id), decision="approve")
    await tutor.ended(run_id)
    count = "SELECT (SELECT count(*) FROM agent.effects), (SELECT count(*) FROM agent.actions)"
    before = await tutor.mesh.sql(count)
    asked = len(provider.requests)
    made = await tutor.client.get(derive(run_id, "simulations", {}, str(uuid4())))
    run = await tutor.ended(str(made["id"]))
    assert run["status"] == "succeeded", run["finalization"]
    assert dict(await tutor.client.get(run_difference(made["id"])))["same"]
    assert len(provider.requests) == asked
    assert await tutor.mesh.sql(count) == before


async def test_a_fork_inherits_answers_and_effects_and_asks_for_the_rest(
    tutor: Desk, provider: ScriptedModel
) -> None:
    provider.answer(
        asked_for("tutor.search", {"query": "x"}), asked_for("tutor.note", {"text": "y"}), text_answer("Z.")
    )
    run_id = await tutor.ask("async x then y")
    await tutor.decide(await tutor.waits(run_id), decision="approve")
    run = await tutor.ended(run_id)
    asked = len(provider.requests)
    provider.answer(text_answer("Another ending."))
    at = run["fork_points"][-1]
    made = await tutor.client.get(derive(run_id, "fork", {"at_seq": at}, str(uuid4())))
    forked = await tutor.ended(str(made["id"]))
    assert forked["status"] == "succeeded"
    assert len(provider.requests) <= asked + 1
    assert await tutor.effects(str(made["id"])) == [], "what was done is inherited, not done again"


async def test_langgraphs_prebuilt_agent_calls_our_tools_side_by_side(
    mesh: Mesh, provider: ScriptedModel
) -> None:
    """Two calls of one answer, each a task of its own in the prebuilt tool node, each asked about."""
    provider.requests.clear()
    provider.script.clear()
    both = [
        call("keep_note", '{"text": "a"}', id="c1"),
        call("keep_note", '{"text": "b"}', index=1, id="c2"),
        finish("tool_calls"),
        usage(),
        DONE,
    ]
    provider.answer(both, text_answer("Kept."))
    async with at_desk(mesh, mesh.running.data_dir, "prebuilt") as agent:
        run_id = await agent.ask("keep both")
        asked: dict[str, str] = {}  # the note of each question, in the order they were asked: the tasks race
        for decision in ("approve", "reject"):

            async def other() -> dict[str, Any] | None:
                found = await agent.waits(run_id)
                return found if found["id"] not in asked else None

            question = await eventually(other, 60.0)
            assert question is not None
            asked[question["id"]] = question["preview"][0]["arguments"]["text"]
            await agent.decide(question, decision=decision)
        run = await agent.ended(run_id)
        assert run["output"]["text"] == "Kept."
        assert sorted(one["status"] for one in run["actions"]) == ["committed", "rejected"]
        kept, refused = asked.values()
        told = [m["content"] for m in provider.requests[-1]["messages"] if m["role"] == "tool"]
        answers = dict(zip("ab", told, strict=True))  # as called, whichever was asked about first
        assert "completed" in answers[kept] and "rejected" in answers[refused]
        assert await mesh.violations() == []

"""A stranger's LangGraph graph on the whole real mesh: fence, approvals, effects, pauses, crashes, faults."""

from __future__ import annotations

import json
import os
import signal

import pytest

from tests.brought.desk import Desk
from tests.faults.mesh import Mesh
from tests.support.eventually import eventually

STEPS = ("steps", "steps end", "steps_draft", "steps_draft between", "steps_draft end", "steps_say")


async def approve(desk: Desk, run_id: str) -> None:
    await desk.decide(await desk.waits(run_id), decision="approve")


async def test_a_graph_runs_and_its_types_come_back(desk: Desk) -> None:
    run = await desk.ended(await desk.ask("steps"))
    assert run["status"] == "succeeded" and run["output"]["text"] == "steps steps_draft"
    assert await desk.texts(run["id"]) == [("draft", "one"), ("draft", "two")]
    assert await desk.mesh.violations() == []


@pytest.mark.parametrize("place", STEPS)
async def test_i15_killed_at_a_node_it_goes_on_and_repeats_no_node_that_is_checkpointed(
    desk: Desk, place: str
) -> None:
    desk.dies_at(place)
    run = await desk.ended(await desk.ask("steps"))
    assert run["status"] == "succeeded" and run["output"]["text"] == "steps steps_draft"
    node = place.partition(" ")[0]
    for other in ("steps", "steps_draft", "steps_say"):
        assert desk.count(other) == (2 if other == node else 1), desk.noted()
    assert await desk.texts(run["id"]) == [("draft", "one"), ("draft", "two")]
    assert await desk.effects(run["id"]) == [
        (0, "desk.write_draft", "completed"),
        (1, "desk.write_draft", "completed"),
    ]
    assert await desk.mesh.violations() == []


@pytest.mark.parametrize("dies", ["", "rounds draft 1", "rounds 1 rejected"])
async def test_lg2_three_rounds_are_three_drafts_and_three_keyed_actions(desk: Desk, dies: str) -> None:
    """Reject, reject, approve: every resume runs the node from its first line, and nothing repeats."""
    if dies:
        desk.dies_at(dies)
    run_id = await desk.ask("rounds")
    for _ in range(2):
        await desk.decide(await desk.waits(run_id), decision="reject")
    await approve(desk, run_id)
    run = await desk.ended(run_id)
    assert run["output"]["text"] == "published draft 2"
    assert [title for kind, title in await desk.texts(run_id) if kind == "draft"] == [
        "draft 0",
        "draft 1",
        "draft 2",
    ]
    assert [title for kind, title in await desk.texts(run_id) if kind == "publication"] == ["draft 2"]
    assert [(a["index"], a["status"]) for a in run["actions"]] == [
        (0, "committed"),
        (1, "rejected"),
        (2, "committed"),
        (3, "rejected"),
        (4, "committed"),
        (5, "committed"),
    ]
    asked = "SELECT index, n FROM agent.interrupts WHERE run_id = %s ORDER BY index"
    assert await desk.mesh.sql(asked, run_id) == [(1, 1), (3, 1), (5, 1)]
    assert await desk.mesh.violations() == []


async def test_calls_of_one_answer_are_one_question_and_each_gets_its_answer_in_order(desk: Desk) -> None:
    run_id = await desk.ask("calls one two three")
    question = await desk.waits(run_id)
    assert question["indexes"] == [0, 1, 2]
    decisions = [{"index": n, "decision": "reject" if n == 1 else "approve"} for n in range(3)]
    await desk.decide(question, decisions=decisions)
    run = await desk.ended(run_id)
    told = [json.loads(line)["status"] for line in run["output"]["text"].split("\n")]
    assert told == ["completed", "rejected", "completed"]
    assert await desk.texts(run_id) == [("publication", "one"), ("publication", "three")]
    assert desk.count("calls") == 1


async def test_what_a_person_said_no_to_is_not_put_before_them_again(desk: Desk) -> None:
    run_id = await desk.ask("again")
    first = await desk.waits(run_id)
    await desk.decide(first, decision="reject")

    async def other() -> bool:
        return bool((await desk.waits(run_id))["id"] != first["id"])

    await eventually(other, 60.0)
    second = await desk.waits(run_id)
    assert second["preview"][0]["arguments"] == {"title": "two"}
    await desk.decide(second, decision="approve")
    run = await desk.ended(run_id)
    assert run["output"]["text"] == "rejected refused completed"
    assert await desk.texts(run_id) == [("publication", "two")]


async def test_an_edit_is_prepared_anew_and_done_as_edited(desk: Desk) -> None:
    run_id = await desk.ask("calls first")
    await desk.decide(await desk.waits(run_id), decision="approve", arguments={"title": "edited"})
    run = await desk.ended(run_id)
    assert run["status"] == "succeeded"
    assert await desk.texts(run_id) == [("publication", "edited")]


async def test_a_call_that_is_not_in_the_contract_is_told_to_the_graph_and_never_leaves(desk: Desk) -> None:
    run = await desk.ended(await desk.ask("calls nonsense"))
    told = json.loads(run["output"]["text"])
    assert told["status"] == "refused" and told["reasons"][0]["code"] == "tool_not_allowed"
    assert run["actions"] == []


@pytest.mark.parametrize("more", ["", " fail_once"])
async def test_an_authors_own_interrupts_are_questions_and_each_gets_its_own_answer(
    desk: Desk, more: str
) -> None:
    """Also where the node fails behind both answers: neither is taken for the other's."""
    run_id = await desk.ask(f"asks{more}")
    first = await desk.waits(run_id)
    assert (first["kind"], first["question"]) == ("input", "What is it called?")
    await desk.decide(first, text="Tabby")

    async def second() -> bool:
        found = await desk.waits(run_id)
        return bool(found["id"] != first["id"])

    await eventually(second, 60.0)
    colour = await desk.waits(run_id)
    assert colour["question"] == "Which colour?"
    await desk.decide(colour, choice=colour["candidates"][1]["id"])
    run = await desk.ended(run_id)
    assert run["output"]["text"] == "Tabby in blue"
    assert len(await desk.mesh.sql("SELECT id FROM agent.interrupts WHERE run_id = %s", run_id)) == 2


async def test_branches_wait_for_each_their_own_and_a_finished_one_does_not_run_again(desk: Desk) -> None:
    run_id = await desk.ask("fan")
    kinds = []
    seen = ""
    while len(kinds) < 2:
        question = await desk.waits(run_id)
        if question["id"] == seen:
            continue
        seen = question["id"]
        kinds.append(question["kind"])
        answer = {"decision": "approve"} if question["kind"] == "approval" else {"text": "because"}
        await desk.decide(question, **answer)
    run = await desk.ended(run_id)
    assert sorted(kinds) == ["approval", "input"]
    assert run["output"]["text"] == "asked because, slow, tool completed"
    assert desk.count("fan_slow") == desk.count("fan_slow done") == 1
    assert desk.count("fan_join") == 1
    assert await desk.texts(run_id) == [("publication", "fan")]


@pytest.mark.parametrize("dies", ["", "sent y"])
async def test_tasks_that_are_sent_act_beside_each_other_under_indexes_of_their_own(
    desk: Desk, dies: str
) -> None:
    if dies:
        desk.dies_at(dies)
    run = await desk.ended(await desk.ask("sends x y z"))
    assert run["output"]["text"] == "x completed, y completed, z completed"
    assert sorted(await desk.texts(run["id"])) == [("draft", "x"), ("draft", "y"), ("draft", "z")]
    assert [index for index, _, _ in await desk.effects(run["id"])] == [0, 1, 2]
    assert await desk.mesh.violations() == []


@pytest.mark.parametrize("dies", ["", "sub_last"])
async def test_a_subgraph_goes_on_from_its_own_checkpoint(desk: Desk, dies: str) -> None:
    if dies:
        desk.dies_at(dies)
    run_id = await desk.ask("sub")
    await approve(desk, run_id)
    run = await desk.ended(run_id)
    assert json.loads(run["output"]["text"])["status"] == "completed"
    assert desk.count("sub_first") == 1
    assert desk.count("sub_last") == (2 if dies else 1)
    assert await desk.texts(run_id) == [("publication", "from below")]


# ── stopping ────────────────────────────────────────────────────────────────────────────────────────


async def test_cancelled_in_a_node_it_ends_and_says_so(desk: Desk) -> None:
    run_id = await desk.ask("hang")
    await eventually(lambda: desk.count("hang"), 60.0)
    await desk.verb(run_id, "cancel")
    run = await desk.ended(run_id)
    assert run["status"] == "cancelled" and desk.count("hang") == 1


async def test_cancelled_while_it_waits_nothing_is_done(desk: Desk) -> None:
    run_id = await desk.ask("calls one")
    await desk.waits(run_id)
    await desk.verb(run_id, "cancel")
    assert (await desk.ended(run_id))["status"] == "cancelled"
    assert await desk.texts(run_id) == []


async def test_paused_at_the_next_superstep_and_gone_on_with(desk: Desk) -> None:
    run_id = await desk.ask("sleepy")
    await eventually(lambda: desk.count("sleepy"), 60.0)
    await desk.verb(run_id, "pause")

    async def paused() -> bool:
        return bool((await desk.client.get_run(run_id))["status"] == "paused")

    await eventually(paused, 60.0)
    assert desk.count("fan_join") == 0
    await desk.verb(run_id, "resume")
    run = await desk.ended(run_id)
    assert run["output"]["text"] == "slept" and desk.count("sleepy") == 1


async def test_i05_frozen_past_its_lease_it_is_taken_over_and_its_writes_are_refused(desk: Desk) -> None:
    """The worker stands still inside a node; another boot goes on; woken, it changes nothing."""
    run_id = await desk.ask("sleepy")
    await eventually(lambda: desk.count("sleepy"), 60.0)
    worker = desk.mesh.running.pid("worker") or 0
    os.kill(worker, signal.SIGSTOP)
    try:
        statement = "SELECT status = 'queued' FROM agent.runs WHERE id = %s"
        await desk.mesh.until(statement, run_id)
    finally:
        os.kill(worker, signal.SIGCONT)
    run = await desk.ended(run_id)
    assert run["status"] == "succeeded" and desk.count("sleepy") == 2
    said = "SELECT count(*) FROM agent.messages WHERE run_id = %s AND author = 'assistant'"
    assert await desk.mesh.sql(said, run_id) == [(1,)]
    assert await desk.mesh.violations() == []


async def test_its_deadline_and_its_budget_of_actions_hold(desk: Desk) -> None:
    late = await desk.ask("hang", deadline_seconds=2)
    few = await desk.ask("sends x y z", budget={"actions": 2})
    run = await desk.ended(few)
    assert run["finalization"]["reason"] == "budget_exhausted", run["finalization"]
    assert len(await desk.texts(few)) <= 2
    assert (await desk.ended(late))["status"] == "expired"


# ── faults of the author's ──────────────────────────────────────────────────────────────────────────


async def test_a_node_that_swallows_the_pause_ends_the_run_with_nothing_done(desk: Desk) -> None:
    run = await desk.ended(await desk.ask("swallow"))
    assert (run["status"], run["finalization"]["code"]) == ("failed", "pause_swallowed")
    assert "GraphInterrupt" in run["finalization"]["evidence"]["detail"]
    assert "swallow" in run["finalization"]["evidence"]["detail"]
    assert await desk.texts(run["id"]) == []


@pytest.mark.parametrize(("text", "named"), [("strange class", "Stranger"), ("strange", "function")])
async def test_state_that_no_checkpoint_can_hold_is_named_with_its_key_and_the_way_out(
    desk: Desk, text: str, named: str
) -> None:
    run = await desk.ended(await desk.ask(text))
    assert (run["status"], run["finalization"]["code"]) == ("failed", "state_not_storable")
    detail = run["finalization"]["evidence"]["detail"]
    assert named in detail and "'anything'" in detail and "STATE_TYPES" in detail


async def test_a_graph_that_says_nothing_has_not_succeeded(desk: Desk) -> None:
    run = await desk.ended(await desk.ask("silent"))
    assert (run["status"], run["finalization"]["code"]) == ("failed", "no_answer")


async def test_a_node_that_raises_is_tried_again_and_then_the_run_fails_with_its_reason(
    desk: Desk, mesh: Mesh
) -> None:
    run_id = await desk.ask("crash")
    await mesh.sql("UPDATE agent.runs SET max_attempts = 2 WHERE id = %s", run_id)
    run = await desk.ended(run_id)
    assert (run["status"], run["finalization"]["reason"]) == ("failed", "attempts_exhausted")
    assert desk.count("crash") == 2

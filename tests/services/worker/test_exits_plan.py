"""Every exit of the nodes that plan: what no model can answer, what is refused, what comes to nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.services.worker.agentic import MAKE, PLAN, READ, composed, records
from tests.services.worker.stage import NOTE, SEND, Stage, call_of, plan_of, step
from tests.services.worker.walks import walks

DONE = ("succeeded", "acceptance_met", None)
BLOCKED = {"verdict": "blocked", "reasons": [{"text": "no source"}]}
GO_ON = {"verdict": "continue", "reasons": [{"text": "not yet"}]}
ALL_DONE = {"verdict": "completed", "reasons": [{"text": "what may be done is done"}]}
USELESS = "I would rather talk."


@walks("supervisor -> finalize", "supervisor ! required_task_failed")
async def test_a_request_without_words_is_refused_before_any_model(stage: Stage) -> None:
    stage.plays()
    assert await stage.ends("  \n ") == ("failed", "required_task_failed", "input_empty")
    assert stage.bench.model.requests == []


@walks("supervisor -> module_agent", "module_agent -> reject_tool", "reject_tool -> finalize",
       "reject_tool ! model_failed")  # fmt: skip
async def test_a_call_that_never_fits_ends_the_run(stage: Stage) -> None:
    stage.plays(module=[(NOTE, {"nothing": "of it"})])
    assert await stage.ends() == ("failed", "model_failed", "arguments_invalid")
    assert stage.roles.asked == {"module": 3}


@walks("reject_tool ! policy_denied")
async def test_a_tool_of_nobodys_is_denied(stage: Stage) -> None:
    stage.plays(module=[("life.format_disk", {})])
    assert await stage.ends() == ("blocked", "policy_denied", "tool_not_allowed")


@pytest.mark.parametrize(
    ("calls", "role"),
    [
        pytest.param(0, "", marks=walks("module_agent -> finalize", "module_agent ! budget_exhausted")),
        pytest.param(1, "planner", marks=walks("planner -> finalize", "planner ! budget_exhausted")),
        pytest.param(2, "composer", marks=walks("join -> finalize", "join ! budget_exhausted")),
        pytest.param(4, "assessor", marks=walks("assessor -> finalize", "assessor ! budget_exhausted")),
    ],
)
async def test_a_budget_that_is_used_up_ends_the_run_where_it_is(stage: Stage, calls: int, role: str) -> None:
    """Partly, once something was made; the role that couldn't be asked isn't."""
    stage.plays()
    run_id = await stage.begins(budget={"model_calls": calls})
    status = "partially_succeeded" if role == "assessor" else "failed"
    assert await stage.ending(run_id) == (status, "budget_exhausted", "model_calls")
    assert len(stage.bench.model.requests) == calls
    assert stage.roles.asked[role] == 0
    said = await stage.said(run_id)
    assert ("The report is made." in said) == (role == "assessor")
    assert "source_locator" not in said


@pytest.mark.parametrize(
    ("role", "code", "more"),
    [
        pytest.param("planner", "planner_invalid", {}, marks=walks("planner ! model_failed")),
        pytest.param(
            "assessor", "assessor_invalid", {"composer": [composed]}, marks=walks("assessor ! model_failed")
        ),
    ],
)
async def test_a_role_that_gives_no_answer_ends_the_run(
    stage: Stage, role: str, code: str, more: dict[str, Any]
) -> None:
    stage.plays(**{**more, role: [USELESS]})
    status, reason, said = await stage.ends()
    assert (reason, said) == ("model_failed", code)
    assert status == ("partially_succeeded" if role == "assessor" else "failed")
    assert stage.roles.asked[role] == 2, "asked once more, with what was wrong"


@walks("join -> assessor", "assessor -> planner")
async def test_a_composer_that_gives_no_answer_fails_its_step_and_another_plan_is_made(stage: Stage) -> None:
    other = plan_of(step("note", NOTE))
    stage.plays(planner=[PLAN, other], composer=[USELESS, USELESS, call_of(title="one")])
    run_id = await stage.begins()
    assert await stage.ending(run_id) == DONE
    assert await stage.moves(run_id) == [
        ("read", "working"), ("read", "failed"), ("note", "working"), ("note", "done"),
    ]  # fmt: skip
    assert stage.bench.gateway.prepared[0]["calls"][0]["tool"] == NOTE


@walks("join -> assessor", "assessor -> artifact_gate", "router -> composer", "planner -> router",
       "module_agent -> planner", "composer -> join", "agentic: artifact_gate -> response_gate")  # fmt: skip
async def test_a_step_that_only_words_an_answer_calls_no_tool(stage: Stage) -> None:
    plan = plan_of(step("read", READ), step("tell", None, "read"))
    stage.plays(planner=[plan], composer=[call_of(what="all"), call_of(text="There are three.")])
    run_id = await stage.begins()
    assert await stage.ending(run_id) == DONE
    assert await stage.said(run_id) == "There are three."
    assert [p["calls"][0]["tool"] for p in stage.bench.gateway.prepared] == [READ]


@walks("arguments_gate ! policy_denied", "agentic: arguments_gate -> finalize")
async def test_who_one_is_is_no_argument_of_a_plans_step(stage: Stage) -> None:
    stage.acting("agentic", composer=[call_of(title="one", tenant_id="another")])
    assert await stage.ends() == ("blocked", "policy_denied", "identity_argument")
    assert stage.bench.gateway.prepared == []


@walks("agentic: arguments_gate -> assessor")
async def test_what_a_plan_has_done_it_does_not_do_again(stage: Stage) -> None:
    plan = plan_of(step("one", NOTE), step("two", NOTE))
    stage.plays(planner=[plan], composer=[call_of(title="same")], assessor=[BLOCKED])
    run_id = await stage.begins()
    assert await stage.ending(run_id) == ("partially_succeeded", "required_task_failed", "blocked")
    assert len(stage.bench.gateway.effects) == 1
    assert await stage.moves(run_id) == [
        ("one", "working"), ("one", "done"), ("two", "working"), ("two", "failed"),
    ]  # fmt: skip


@walks("both: arguments_gate -> finalize", "arguments_gate ! budget_exhausted")
@pytest.mark.parametrize("mode", ["single_action", "agentic"])
async def test_a_run_has_no_more_actions_than_its_budget(stage: Stage, mode: str) -> None:
    stage.acting(mode)
    assert await stage.ends(budget={"actions": 0}) == ("failed", "budget_exhausted", "actions")
    assert stage.bench.gateway.prepared == []


async def test_a_plan_at_its_last_action_keeps_what_it_made(stage: Stage) -> None:
    plan = plan_of(step("one", NOTE), step("two", NOTE))
    stage.plays(planner=[plan], composer=[call_of(title="first"), call_of(title="second")])
    run_id = await stage.begins(budget={"actions": 1})
    assert await stage.ending(run_id) == ("partially_succeeded", "budget_exhausted", "actions")
    assert "Done: life.note_down first" in await stage.said(run_id)


@walks("assessor -> finalize", "assessor ! required_task_failed")
async def test_an_assessor_that_sees_no_way_ends_the_run(stage: Stage) -> None:
    stage.acting("agentic", assessor=[BLOCKED])
    assert await stage.ends() == ("partially_succeeded", "required_task_failed", "blocked")


@walks("assessor ! no_progress")
async def test_a_step_that_fails_under_each_plan_in_the_same_way_is_no_progress(stage: Stage) -> None:
    stage.acting("agentic", assessor=[GO_ON])
    stage.bench.gateway.commit_script.extend(["tool_failed"] * 9)
    run_id = await stage.begins()
    assert await stage.ending(run_id) == ("failed", "no_progress", "no_new_evidence")
    assert stage.roles.asked["planner"] == 3
    assert "This failed: life.note_down one (tool_failed)." in await stage.said(run_id)


@walks("assessor ! required_task_failed")
async def test_a_run_has_three_plans(stage: Stage) -> None:
    plans = [plan_of(step(name, NOTE)) for name in ("one", "two", "three")]
    stage.acting("agentic", planner=plans, assessor=[GO_ON])
    stage.bench.gateway.commit_script.extend(["tool_failed"] * 9)
    run_id = await stage.begins()
    assert await stage.ending(run_id) == ("failed", "required_task_failed", "step_failed")
    assert stage.roles.asked["planner"] == 3
    assert len(stage.bench.gateway.committed) == 0 and stage.bench.gateway.effects == {}


@walks("planner ! required_task_failed")
async def test_a_plan_that_only_knows_a_refused_tool_ends_the_run(stage: Stage) -> None:
    stage.acting("agentic", SEND, assessor=[GO_ON])
    run_id = await stage.begins()
    await stage.answers(run_id, {"decision": "reject"})
    assert await stage.ending(run_id) == ("cancelled", "approval_rejected", None)
    assert stage.bench.gateway.committed == []


@walks("assessor -> router")
async def test_a_no_to_one_step_keeps_no_other_from_being_done(stage: Stage) -> None:
    plan = plan_of(step("send", SEND), step("note", NOTE))
    stage.plays(planner=[plan], composer=[call_of(title="a"), call_of(title="b")], assessor=[GO_ON, ALL_DONE])
    run_id = await stage.begins()
    await stage.answers(run_id, {"decision": "reject"})
    assert await stage.ending(run_id) == DONE
    said = await stage.said(run_id)
    assert "Not done, as you did not approve it: life.send_note a" in said
    assert "Done: life.note_down b" in said


@walks("join -> finalize", "join ! conflict_unresolved")
async def test_parts_that_disagree_end_as_an_unresolved_conflict(stage: Stage) -> None:
    """There is no arbiter: a conclusion of which there is one isn't settled by a majority, nor by order."""

    def compose(body: dict[str, Any]) -> dict[str, Any]:
        said = json.dumps(body)
        part = next((one for one in "abc" if f"{one}-1" in said), "")
        if not part:
            return call_of(what="all")
        return {**call_of(title="t"), "conclusions": {"total": "one" if part == "b" else "two"}}

    stage.plays(composer=[compose])
    stage.bench.gateway.results[READ] = {"records": [r for name in "abc" for r in records(3, name)]}
    assert await stage.ends() == ("failed", "conflict_unresolved", "conflict_unresolved")
    assert [p["calls"][0]["tool"] for p in stage.bench.gateway.prepared] == [READ]
    assert MAKE not in str(stage.bench.gateway.committed)

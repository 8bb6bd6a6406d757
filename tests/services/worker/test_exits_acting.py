"""Every exit of the nodes that act, in both modes: tasks, unknown outcomes, actions asked anew, people's
answers. The model is asked for each thing once, whatever an action runs into."""

from __future__ import annotations

import pytest

from tests.services.worker.agentic import MAKE, READ
from tests.services.worker.stage import (
    NOTE,
    SEND,
    TASK,
    Stage,
    call_of,
    plan_of,
    refused,
    step,
    unknown_outcome,
)
from tests.services.worker.walks import both_modes, walks

YES = {"decision": "approve"}
DONE = ("succeeded", "acceptance_met", None)


def asked_once(stage: Stage, mode: str) -> None:
    """Each role once: what an action ran into asked no model anew."""
    agentic = {"planner": 1, "composer": 1, "assessor": 1} if mode == "agentic" else {}
    assert stage.roles.asked == {"module": 1, **agentic}


@walks("module_agent -> arguments_gate")
async def test_one_tool_is_one_call_and_one_action(stage: Stage) -> None:
    stage.acting("single_action")
    assert await stage.ends() == DONE
    asked_once(stage, "single_action")


@walks("agentic: observe -> assessor")
async def test_a_plan_of_one_step_is_assessed(stage: Stage) -> None:
    stage.acting("agentic")
    assert await stage.ends() == DONE
    asked_once(stage, "agentic")


@walks("both: prepare -> commit", "both: commit -> tool_wait", "both: tool_wait -> observe",
       "both: arguments_gate -> prepare", "both: finalize -> end",
       "both: response_gate -> finalize")  # fmt: skip
@both_modes
async def test_a_task_is_waited_for_and_its_outcome_is_the_actions(stage: Stage, mode: str) -> None:
    stage.acting(mode)
    stage.bench.gateway.commit_script.extend([TASK, TASK, "ok"])
    run_id = await stage.begins()
    await stage.task_ends(run_id)
    assert await stage.ending(run_id) == DONE
    assert [c["index"] for c in stage.bench.gateway.committed] == [0]
    asked_once(stage, mode)


@walks("both: tool_wait -> reconcile_side_effect", "both: reconcile_side_effect -> observe")
@both_modes
async def test_a_task_whose_outcome_is_unknown_is_put_before_a_person(stage: Stage, mode: str) -> None:
    stage.acting(mode)
    stage.bench.gateway.commit_script.extend([TASK, TASK, unknown_outcome(), unknown_outcome()])
    run_id = await stage.begins()
    await stage.task_ends(run_id)
    await stage.answers(run_id, {"outcome": "completed"}, "reconcile")
    assert await stage.ending(run_id) == DONE
    asked_once(stage, mode)


@walks("both: tool_wait -> continue_action", "both: continue_action -> prepare")
@both_modes
async def test_a_task_that_no_longer_stands_as_it_was_is_prepared_anew(stage: Stage, mode: str) -> None:
    stage.acting(mode)
    stage.bench.gateway.commit_script.extend([TASK, TASK, "precondition_changed"])
    run_id = await stage.begins()
    await stage.task_ends(run_id)
    assert await stage.ending(run_id) == DONE
    assert [p["calls"][0]["n"] for p in stage.bench.gateway.prepared] == [1, 2]
    asked_once(stage, mode)


@walks("both: tool_wait -> finalize")
@both_modes
async def test_a_task_whose_approval_expired_ends_the_run(stage: Stage, mode: str) -> None:
    stage.acting(mode)
    stage.bench.gateway.commit_script.extend([TASK, TASK, "approval_expired"])
    run_id = await stage.begins()
    await stage.task_ends(run_id)
    assert await stage.ending(run_id) == ("expired", "approval_expired", None)


@walks("both: commit -> reconcile_side_effect", "both: reconcile_side_effect -> finalize")
@both_modes
async def test_an_outcome_nobody_can_tell_blocks_the_run(stage: Stage, mode: str) -> None:
    """Asked once an attempt; an answer that settles nothing isn't asked for again; nothing is repaired."""
    stage.acting(mode)
    stage.bench.gateway.commit_script.extend([unknown_outcome()] * 4)
    run_id = await stage.begins()
    await stage.answers(run_id, {"outcome": "unknown"}, "reconcile")
    assert await stage.ending(run_id) == ("blocked", "required_task_failed", "effect_unsettled")
    assert "Outcome not known" in await stage.said(run_id)
    assert stage.roles.asked["repairer"] == 0


@walks("both: reconcile_side_effect -> continue_action")
@both_modes
async def test_an_effect_that_never_happened_may_be_prepared_anew(stage: Stage, mode: str) -> None:
    stage.acting(mode)
    stage.bench.gateway.commit_script.extend([*[unknown_outcome()] * 2, "precondition_changed"])
    run_id = await stage.begins()
    await stage.answers(run_id, {"outcome": "absent"}, "reconcile")
    assert await stage.ending(run_id) == DONE
    assert [p["calls"][0]["n"] for p in stage.bench.gateway.prepared] == [1, 2]
    asked_once(stage, mode)


@walks("both: reconcile_side_effect -> tool_wait")
@both_modes
async def test_an_effect_that_begins_again_as_a_task_is_waited_for(stage: Stage, mode: str) -> None:
    stage.acting(mode)
    stage.bench.gateway.commit_script.extend([*[unknown_outcome()] * 2, TASK, TASK, "ok"])
    run_id = await stage.begins()
    await stage.answers(run_id, {"outcome": "absent"}, "reconcile")
    await stage.task_ends(run_id)
    assert await stage.ending(run_id) == DONE
    asked_once(stage, mode)


@walks(
    "both: commit -> continue_action", "both: continue_action -> finalize", "continue_action ! no_progress"
)
@both_modes
async def test_an_action_is_prepared_anew_a_bounded_number_of_times(stage: Stage, mode: str) -> None:
    stage.acting(mode)
    stage.bench.gateway.commit_script.extend(["precondition_changed"] * 9)
    assert await stage.ends() == ("failed", "no_progress", "precondition_changed")
    assert [p["calls"][0]["n"] for p in stage.bench.gateway.prepared] == [1, 2, 3, 4]
    assert stage.bench.gateway.effects == {}


@walks("both: commit -> finalize", "both: approval -> commit", "both: prepare -> approval")
@both_modes
async def test_an_approval_that_expires_before_its_commit_ends_the_run(stage: Stage, mode: str) -> None:
    stage.acting(mode, SEND)
    stage.bench.gateway.commit_script.append("approval_expired")
    run_id = await stage.begins()
    await stage.answers(run_id, YES)
    assert await stage.ending(run_id) == ("expired", "approval_expired", None)
    assert stage.bench.gateway.effects == {}


@walks("both: approval -> prepare", "both: commit -> observe")
@both_modes
async def test_what_a_person_edits_is_done_as_edited(stage: Stage, mode: str) -> None:
    stage.acting(mode, SEND)
    run_id = await stage.begins()
    await stage.answers(run_id, {**YES, "arguments": {"title": "mine"}})
    assert await stage.ending(run_id) == DONE
    last = stage.bench.gateway.prepared[-1]["calls"][0]
    assert (last["n"], last["arguments"]) == (2, {"title": "mine"})
    asked_once(stage, mode)


@walks("both: approval -> finalize")
@both_modes
async def test_an_approval_nobody_gives_ends_the_run(stage: Stage, mode: str) -> None:
    stage.acting(mode, SEND)
    run_id = await stage.begins()
    await stage.lets_it_expire(run_id)
    assert await stage.ending(run_id) == ("expired", "approval_expired", None)
    assert stage.bench.gateway.committed == []


@walks("approval ! no_progress")
@both_modes
async def test_edits_end_too(stage: Stage, mode: str) -> None:
    stage.acting(mode, SEND)
    stage.bench.gateway.commit_script.extend(["precondition_changed"] * 3)
    run_id = await stage.begins()
    for _ in range(3):
        await stage.answers(run_id, YES)
    await stage.answers(run_id, {**YES, "arguments": {"title": "mine"}})
    assert await stage.ending(run_id) == ("failed", "no_progress", "edits")


@walks("both: prepare -> prepare")
@both_modes
async def test_an_edit_that_is_refused_is_asked_again_as_it_was(stage: Stage, mode: str) -> None:
    stage.acting(mode, SEND)
    stage.bench.gateway.prepare_script.extend(["ok", refused(called=SEND), "ok"])
    run_id = await stage.begins()
    await stage.answers(run_id, {**YES, "arguments": {"title": "bad"}})
    asked = await stage.bench.asked(run_id)
    assert "The edited values were not accepted" in asked["question"]
    await stage.bench.resolve(run_id, asked["id"], YES)
    assert await stage.ending(run_id) == DONE
    assert stage.bench.gateway.prepared[-1]["calls"][0]["arguments"] == {"title": "one"}
    asked_once(stage, mode)


@walks("both: prepare -> prepare", "both: prepare -> finalize", "prepare ! no_progress")
@both_modes
async def test_a_preparation_under_others_arguments_is_made_anew_a_few_times(stage: Stage, mode: str) -> None:
    stage.acting(mode)
    stage.bench.gateway.prepare_script.extend(["prepare_differs"] * 9)
    assert await stage.ends() == ("failed", "no_progress", "prepare_differs")


@walks("both: prepare -> finalize", "prepare ! required_task_failed")
@both_modes
async def test_a_preparation_that_is_refused_for_good_ends_the_run(stage: Stage, mode: str) -> None:
    stage.acting(mode)
    stage.bench.gateway.prepare_script.append("something_else")
    assert await stage.ends() == ("failed", "required_task_failed", "something_else")


@walks("both: prepare -> finalize")
@both_modes
async def test_a_preparation_beside_an_unknown_outcome_blocks_the_run(stage: Stage, mode: str) -> None:
    stage.acting(mode)
    stage.bench.gateway.prepare_script.append(unknown_outcome())
    run_id = await stage.begins()
    assert await stage.ending(run_id) == ("blocked", "required_task_failed", "effect_unsettled")
    assert "Outcome not known" in await stage.said(run_id)


@walks("single_action: prepare -> reject_tool", "reject_tool -> module_agent")
async def test_what_the_gateway_refuses_is_told_to_the_modules_agent(stage: Stage) -> None:
    stage.plays(module=[(NOTE, {"title": "bad"}), (NOTE, {"title": "good"})])
    stage.bench.gateway.prepare_script.append(refused())
    assert await stage.ends() == DONE
    assert stage.roles.asked == {"module": 2}


@walks("agentic: prepare -> repairer", "agentic: repairer -> arguments_gate")
async def test_what_the_gateway_refuses_of_a_plan_goes_to_the_repairer(stage: Stage) -> None:
    stage.acting("agentic", repairer=[{"arguments": {"title": "good"}}])
    stage.bench.gateway.prepare_script.append(refused())
    run_id = await stage.begins()
    assert await stage.ending(run_id) == DONE
    assert stage.roles.asked["repairer"] == 1
    assert [p["calls"][0]["index"] for p in stage.bench.gateway.prepared] == [0]
    assert stage.bench.gateway.prepared[0]["calls"][0]["arguments"] == {"title": "good"}


@walks("agentic: prepare -> finalize", "prepare ! policy_denied")
async def test_what_policy_refuses_of_a_plan_blocks_the_run(stage: Stage) -> None:
    stage.acting("agentic")
    stage.bench.gateway.prepare_script.append(refused("tool_not_allowed"))
    assert await stage.ends() == ("blocked", "policy_denied", "tool_not_allowed")


@walks("agentic: approval -> observe")
async def test_a_no_to_the_only_action_of_a_plan_is_an_observation(stage: Stage) -> None:
    stage.acting("agentic", SEND)
    run_id = await stage.begins()
    await stage.answers(run_id, {"decision": "reject"})
    assert await stage.ending(run_id) == ("cancelled", "approval_rejected", None)
    assert stage.bench.gateway.committed == []
    assert ("go", "rejected") in await stage.moves(run_id)


@walks("single_action: approval -> finalize")
async def test_a_no_to_the_only_action_of_a_request_ends_it(stage: Stage) -> None:
    stage.acting("single_action", SEND)
    run_id = await stage.begins()
    await stage.answers(run_id, {"decision": "reject"})
    assert await stage.ending(run_id) == ("cancelled", "approval_rejected", None)


@pytest.mark.parametrize("how", ["rejected", "expired"])
async def test_what_was_done_before_a_no_stays_done_and_is_said(stage: Stage, how: str) -> None:
    """A report is made, then sending it isn't allowed: the report is told of, the readings on the way not."""
    go_on = {"verdict": "continue", "reasons": [{"text": "a no"}]}
    all_there = {"verdict": "completed", "reasons": [{"text": "what may be done is done"}]}
    plan = plan_of(step("read", READ), step("make", MAKE, "read"), step("send", SEND, "make"))
    stage.plays(
        planner=[plan, plan_of(step("tell", None, "make"))],
        composer=[call_of(what="x"), call_of(title="Report"), call_of(title="it"), call_of(text="Not sent.")],
        assessor=[go_on, all_there],
    )
    run_id = await stage.begins()
    if how == "rejected":
        await stage.answers(run_id, {"decision": "reject"})
        assert await stage.ending(run_id) == DONE
        assert "Not sent." in await stage.said(run_id)
    else:
        await stage.lets_it_expire(run_id)
        assert await stage.ending(run_id) == ("expired", "approval_expired", None)
    assert [c["index"] for c in stage.bench.gateway.committed] == [0, 1]
    said = await stage.said(run_id)
    assert "The report is made." in said
    assert "records" not in said and len(said) < 400

"""The gates at their places: before an effect (arguments), after it (artifacts), before delivery (the
answer).

A failure is rewritten as often as its gate allows; the count is in the state, so no crash gives a try back.
Then the run fails closed. A failure that came earlier stays what it was (I25): later gates are asked all the
same, and what they say is only reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from fencepost_domain.gates import run_judge
from fencepost_domain.progress import (
    Limits,
    Progress,
    action_key,
    stall_before,
    with_action,
    with_refusal,
)
from fencepost_domain.vocabulary import Reason

from fencepost_worker.flow import gate_table
from fencepost_worker.flow import gates as told
from fencepost_worker.flow import plan as plans
from fencepost_worker.flow.actions import action_limit
from fencepost_worker.flow.agent import POLICY_CODES, exchange, tool_specs
from fencepost_worker.flow.ending_words import answer_text
from fencepost_worker.flow.finish import LONGEST_ANSWER
from fencepost_worker.flow.gates import Gate
from fencepost_worker.flow.observing import step_failed, step_moved
from fencepost_worker.flow.state import DONE, PROPOSED, REJECTED, Patch, State, fail
from fencepost_worker.flow.step import Step
from fencepost_worker.models.guard import check_calls
from fencepost_worker.models.port import Call

AGENTIC = "agentic"
ONCE: Final = Limits(actions=1)  # what a plan did once it has


async def arguments_gate(state: State, step: Step) -> Patch:
    """The last look before anything leaves the worker: the catalog's rules, then the tool's gate; an index
    each."""
    facts = step.facts
    calls = [Call(c["id"], c["name"], c["arguments"]) for c in state["calls"]]
    refusals = [
        r.to_json() | {"call_id": r.call_id} for r in check_calls(calls, tool_specs(facts, acted=True))
    ]
    if refusals:
        return await _refused(state, step, calls, refusals)
    if state["mode"] == AGENTIC:
        stopped = await _repeated(state, step, calls)
        if stopped is not None:
            return stopped
    patch: Patch = {"violations": []}
    for call in calls:
        gate = gate_table.ARGUMENT_GATES.get(call.name)
        if gate is not None:
            failed = await _judge_arguments(state, step, gate, call)
            patch["reports"] = {**patch.get("reports", {}), **failed.pop("reports")}
            if failed:
                return {**patch, **failed}
    if len(state["actions"]) + len(calls) > action_limit(step):
        return {**patch, **fail(Reason.BUDGET_EXHAUSTED, "actions")}
    return {
        **patch,
        "route": "prepare",
        "mode": state["mode"] or "single_action",
        "calls": [],
        "actions": [*state["actions"], *_proposed(state, calls)],
        "progress": [*state["progress"], *(action_key(c.name, c.arguments) for c in calls)],
    }


def _proposed(state: State, calls: Sequence[Call]) -> list[dict[str, Any]]:
    """The calls as actions, each with the next index, in source order."""
    return [
        {
            "index": index,
            "n": 1,
            "tool": call.name,
            "arguments": dict(call.arguments),
            "call_id": call.id,
            "status": PROPOSED,
            "step": state["current"] if state["mode"] == AGENTIC else "",
        }
        for index, call in enumerate(calls, start=len(state["actions"]))
    ]


async def _refused(
    state: State, step: Step, calls: Sequence[Call], refusals: Sequence[Mapping[str, Any]]
) -> Patch:
    """A call that isn't allowed. Asked of the module's agent again, or mended, by who wrote it."""
    if state["mode"] != AGENTIC:
        return {
            "route": "reject_tool",
            "refused": list(refusals),
            "exchanges": exchange(state, state["reply"].get("text", ""), calls, refusals),
        }
    await step.note_refusals(refusals)
    denied = sorted({str(r["code"]) for r in refusals} & POLICY_CODES)
    if denied:
        return fail(Reason.POLICY_DENIED, denied[0], str(refusals[0]["detail"]))
    return {"route": "repairer", "violations": [violation_of(r) for r in refusals]}


def violation_of(refusal: Mapping[str, Any]) -> dict[str, Any]:
    """A refusal as something to mend."""
    return {
        "code": refusal["code"],
        "position": refusal.get("pointer", ""),
        "detail": refusal.get("detail", ""),
        "fix": "make it fit the tool's schema",
        "gate": "schema",
    }


async def _repeated(state: State, step: Step, calls: Sequence[Call]) -> Patch | None:
    """An action that was done, or that a person said no to, is not proposed again with the same arguments."""
    progress = Progress()
    for action in state["actions"]:
        if action["status"] == DONE:
            progress = with_action(progress, action["tool"], action["arguments"])
        elif action["status"] == REJECTED:
            progress = with_refusal(progress, action["tool"], action["arguments"])
    for call in calls:
        stall = stall_before(progress, call.name, call.arguments, ONCE)
        if stall is not None:
            detail = f"{stall.code}: {call.name} with the same arguments as before"
            patch = {"calls": [], **await step_failed(state, step, detail), "route": "assessor"}
            # What its gate refused would be made once more as it was: no other plan mends that.
            return {**patch, **_refused_artifact(state)}
    return None


def _refused_artifact(state: State) -> Patch:
    """The ending, where the step's own file was refused by its gate and nothing of it was changed."""
    gate = gate_table.ARTIFACTS
    was_made = any(a["status"] == DONE and a.get("step") == state["current"] for a in state["actions"])
    if not was_made or not state["gate_rewrites"].get(gate.name):
        return {}
    return fail(Reason.QUALITY_FAILED, gate.code, "made again with the same arguments")


async def _judge_arguments(state: State, step: Step, gate: Gate, call: Call) -> Patch:
    """The gate's report; with what follows when it failed."""
    used = state["gate_rewrites"].get(gate.name, 0)
    result = run_judge(gate.name, partial(gate.judge, call.arguments, _facts(state, step)))
    patch = await told.note(step, result, call.id, rewrites=used, subject=call.name)
    if result.passed:
        return patch
    violations = [{**one, "gate": gate.name} for one in told.failed_by(result)]
    if used >= gate.rewrites:
        return {**patch, **fail(Reason.QUALITY_FAILED, gate.code, told.codes(violations))}
    return {**patch, "route": "repairer", "violations": violations}


def _facts(state: State, step: Step) -> dict[str, Any]:
    """What a gate may know: the contract, the user's words, and what this run read."""
    results = [a["result"] for a in state["actions"] if a["status"] == DONE]
    readings = gate_table.Readings.of([one for one in results if isinstance(one, Mapping)])
    return {"contract": state["contract"], "request": step.facts.text, "readings": readings}


async def artifact_gate(state: State, step: Step) -> Patch:
    """What was made against what was asked for, from the stored results; then the answer is worded from
    them."""
    reply = {**state["reply"], "text": answer_text(state, step.facts.locale)}
    reports: dict[str, Any] = {}
    gate = gate_table.ARTIFACTS
    for action in made(state):
        if action["tool"] not in gate_table.KIND_OF or action["tool"] == gate_table.DRAFT:
            continue  # a draft is its arguments, which their own gate has judged
        used = state["gate_rewrites"].get(gate.name, 0)
        facts = {**_facts(state, step), "tool": action["tool"], "arguments": action["arguments"]}
        result = run_judge(gate.name, partial(gate.judge, action["result"], facts))
        report = await told.note(step, result, str(action["index"]), rewrites=used, subject=action["tool"])
        proven = gate_table.proofs(result, state["contract"])
        reports |= told.proving(report, delivered_id(action), proven)
        if result.passed:
            continue
        violations = [{**one, "gate": gate.name} for one in told.failed_by(result)]
        if state["mode"] == AGENTIC and not state["failure"] and _may_try_again(state, step, action, used):
            return {"reports": reports, **await _again(state, step, action, violations, used)}
        failed = fail(Reason.QUALITY_FAILED, gate.code, told.codes(violations))
        return {"reports": reports, "reply": reply, **failed}
    return {"route": "response_gate", "reports": reports, "reply": reply}


def delivered_id(action: Mapping[str, Any]) -> str:
    """What an action made, by its artifact's id; else by its place in the run."""
    result = action.get("result")
    named = result.get("artifact_id") if isinstance(result, Mapping) else None
    return str(named or f"action_{action['index']}")


def made(state: State) -> list[dict[str, Any]]:
    """Actions whose results stand for something made: of each step of the plan the last one."""
    done = [a for a in state["actions"] if a["status"] == DONE and a.get("effect_class") != "none"]
    return list({a.get("step") or f"#{a['index']}": a for a in done}.values())


def _may_try_again(state: State, step: Step, action: Mapping[str, Any], used: int) -> bool:
    found = plans.step_of(state["plan"], action.get("step", ""))
    return (
        used < gate_table.ARTIFACTS.rewrites
        and found is not None
        and found["tries"] < plans.MOST_TRIES
        and len(state["actions"]) < action_limit(step)
    )


async def _again(
    state: State, step: Step, action: Mapping[str, Any], violations: list[dict[str, Any]], used: int
) -> Patch:
    patch = await step_moved(state["plan"], step, action["step"], "again", told.codes(violations))
    return {
        **patch,
        "route": "router",
        "violations": violations,
        "gate_rewrites": {gate_table.ARTIFACTS.name: used + 1},
    }


async def response_gate(state: State, step: Step) -> Patch:
    """Exact repeats are removed by code; what else is wrong is revised, then the run fails closed."""
    gate = gate_table.RESPONSE
    used = state["gate_rewrites"].get(gate.name, 0)
    text = gate_table.without_repeats(state["reply"].get("text", ""))[:LONGEST_ANSWER]
    result = run_judge(gate.name, partial(gate.judge, text, _facts(state, step)))
    # An answer that is as good as most is no event: it would cost every run a statement.
    is_told = not result.passed or used > 0 or state["mode"] == AGENTIC
    patch = await told.note(step, result, "response", rewrites=used, subject="response", told=is_told)
    patch["reply"] = {**state["reply"], "text": text}
    # Words made of results say each result; what is alike in them is reported, and nobody's to take out.
    is_models = state["mode"] == "direct" or not text
    if result.passed or state["failure"] or not is_models:
        return {**patch, "route": "finalize"}
    violations = [{**one, "gate": gate.name} for one in told.failed_by(result)]
    if used < gate.rewrites and text:
        return {**patch, "route": "revise_response", "violations": violations}
    return {**patch, **fail(Reason.QUALITY_FAILED, gate.code, told.codes(violations))}

"""observe and assessor: what an action came to, for its step; and whether to go on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from fencepost_domain.progress import Limits, Progress, stalled
from fencepost_domain.vocabulary import Ev, Reason

from fencepost_worker.flow import plan as plans
from fencepost_worker.flow.agent import model_context
from fencepost_worker.flow.planner import advanced
from fencepost_worker.flow.role_context import for_assessor
from fencepost_worker.flow.roles import RoleFailed, ask
from fencepost_worker.flow.state import DONE, FAILED, REJECTED, Patch, State, fail
from fencepost_worker.flow.step import Step
from fencepost_worker.flow.wording import done_text

STAGNANT: Final = Limits(steps=3)  # looks at the same plan, where nothing of it has moved
_MOVES: Final = {DONE: "done", FAILED: "failed", REJECTED: "rejected"}


async def observe(state: State, step: Step) -> Patch:
    """Results become words, evidence and the step's status. Nothing is claimed that isn't in a result."""
    if state["mode"] != "agentic":
        said = done_text(state["actions"], step.facts.locale)
        extra = state["reply"].get("text", "")
        made = any(a["status"] == DONE and is_made(a.get("result")) for a in state["actions"])
        return {
            "route": "artifact_gate" if made else "response_gate",
            "reply": {**state["reply"], "text": said, "model_text": extra},
        }
    mine = [a for a in state["actions"] if a.get("step") == state["current"]]
    last = mine[-1]
    detail = last.get("error", {}).get("detail", "") or last.get("note") or ""
    found = plans.step_of(state["plan"], state["current"])
    evidence = {f"action_{a['index']}": _evidence(a) for a in mine if a["status"] in _MOVES}
    if found is None or found["status"] != plans.WORKING or last["status"] not in _MOVES:
        return {"route": "assessor", "evidence": evidence}
    patch = await step_moved(state["plan"], step, state["current"], _MOVES[last["status"]], str(detail))
    return {**patch, "route": "assessor", "evidence": evidence, "violations": []}


def is_made(result: Any) -> bool:
    """Does a result stand for a file, whose gate has to look at it?"""
    return isinstance(result, Mapping) and ("quality_report" in result or "inspection" in result)


def _evidence(action: Mapping[str, Any]) -> dict[str, Any]:
    """An action's outcome as evidence: which, and of what; the result itself stays with the action."""
    return {
        "kind": "action",
        "tool": action["tool"],
        "index": action["index"],
        "status": action["status"],
        "step": action.get("step", ""),
    }


async def step_moved(plan: plans.Plan, step: Step, step_id: str, event: str, detail: str) -> Patch:
    made = plans.moved(plan, step_id, event, detail)
    found = plans.step_of(made, step_id)
    tries = found["tries"] if found is not None else 0
    await step.note(Ev.PLAN_ADVANCED, f"{step_id}:{event}:{tries}", advanced(made, step_id))
    return {"plan": made}


async def step_failed(state: State, step: Step, detail: str) -> Patch:
    return await step_moved(state["plan"], step, state["current"], "failed", detail)


async def assessor(state: State, step: Step) -> Patch:
    """Go on, plan anew, or come to an end. A model is asked only where code can't tell; it passes no gate."""
    plan = state["plan"]
    waiting = plans.next_step(plan)
    bad = plans.in_status(plan, plans.FAILED, plans.REJECTED)
    if not bad and waiting is not None:
        return {"route": "router"}
    mark = "|".join(f"{one['id']}:{one['status']}:{one['tries']}" for one in plan["steps"])
    looks = [*state["progress"], f"look {mark}"]
    stall = stalled(Progress(steps=Counter(line for line in looks if line.startswith("look "))), STAGNANT)
    if stall is not None:
        return {**fail(Reason.NO_PROGRESS, stall.code, mark), "progress": looks}
    try:
        about = model_context(step.facts, {**state, "answers": []})
        said = await ask(step, for_assessor(state, step.facts, about))
    except RoleFailed as failed:
        return {**failed.failure, "progress": looks}
    return {**_verdict(state, step, said), "progress": looks, "spent": {"assessments": 1}}


def _verdict(state: State, step: Step, said: Mapping[str, Any]) -> Patch:
    """The assessor's word within what code knows: it can't call done what isn't, nor go on without a plan."""
    plan = state["plan"]
    bad = plans.in_status(plan, plans.FAILED)
    waiting = plans.next_step(plan)
    reasons = "; ".join(str(one["text"]) for one in said["reasons"])[:300]
    if said["verdict"] == "blocked":
        why = f"{bad[0]['title']}: {bad[0]['detail']}" if bad else reasons
        return fail(Reason.REQUIRED_TASK_FAILED, "blocked", why)
    if said["verdict"] == "completed" and not bad and waiting is None:
        return {"route": "artifact_gate"}
    if waiting is not None and not bad:
        return {"route": "router"}
    if plan["revision"] < (step.facts.definition.limits.plans or 1):
        return {"route": "planner"}
    if bad:
        return fail(Reason.REQUIRED_TASK_FAILED, "step_failed", f"{bad[0]['title']}: {bad[0]['detail']}")
    return {"route": "artifact_gate"}

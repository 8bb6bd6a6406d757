"""planner and router: what is to be done in which order, and what is next. Only the first asks a model."""

from __future__ import annotations

from typing import Any, Final

from fencepost_domain.vocabulary import Ev, Reason

from fencepost_worker.flow import plan as plans
from fencepost_worker.flow.agent import model_context
from fencepost_worker.flow.batches import batches_for
from fencepost_worker.flow.contracts import BRANCHES
from fencepost_worker.flow.plan import DONE, FAILED, PENDING, REJECTED, Plan
from fencepost_worker.flow.role_context import for_planner
from fencepost_worker.flow.roles import RoleFailed, ask
from fencepost_worker.flow.state import REJECTED as SAID_NO
from fencepost_worker.flow.state import Patch, State, fail
from fencepost_worker.flow.step import Step

TRIES: Final = 2  # plans whose faults were told


async def planner(state: State, step: Step) -> Patch:
    """A plan that code has checked, or the run ends for want of one."""
    facts, before = step.facts, state["plan"]
    revision = before.get("revision", 0) + 1
    if revision > (facts.definition.limits.plans or 1):
        return fail(Reason.NO_PROGRESS, "plans")
    closed = [a["tool"] for a in state["actions"] if a["status"] == SAID_NO]
    about = model_context(facts, state)
    wrong: list[str] = []
    for _ in range(TRIES):
        try:
            said = await ask(step, for_planner(state, facts, about, closed, wrong))
        except RoleFailed as failed:
            return failed.failure
        made = plans.new_plan(said, revision, state["contract"].get("hard_requirements", ()), before)
        wrong = plans.faults(made, state["contract"], facts.catalog, closed)
        if not wrong:
            await step.note(Ev.PLAN_CREATED, str(revision), plans.shown(made))
            return {"route": "router", "plan": made, "calls": [], "spent": {"plans": 1}, "violations": []}
    return fail(Reason.REQUIRED_TASK_FAILED, "plan_invalid", "; ".join(wrong[:3]))


async def router(state: State, step: Step) -> Patch:
    """The next step and its batches; with none left, the end's gates. Nothing is decided by a model here."""
    plan: Plan = state["plan"]
    chosen = plans.next_step(plan)
    if chosen is None:
        return await _nothing_next(state, step)
    limits = step.facts.definition.limits
    if chosen["tries"] >= plans.MOST_TRIES:
        return fail(Reason.NO_PROGRESS, "step_tries", chosen["title"])
    batches = batches_for(chosen, plan, state["actions"], limits.batch_records or 60, step.facts.graph)
    again = bool(state["violations"])
    made = plans.moved(plan, chosen["id"], "chosen")
    await step.note(Ev.PLAN_ADVANCED, f"{chosen['id']}:{chosen['tries']}", _advanced(made, chosen["id"]))
    return {
        "route": "composer",
        "plan": made,
        "current": chosen["id"],
        "batches": [{name: b[name] for name in ("index", "of", "source", "key")} for b in batches],
        BRANCHES: [{**b, "again": again} for b in batches],
    }


async def _nothing_next(state: State, step: Step) -> Patch:
    """What can't be done any more is said so; the rest goes to the gates."""
    plan: Plan = state["plan"]
    stuck = plans.in_status(plan, PENDING)
    for one in stuck:
        plan = plans.moved(plan, one["id"], "blocked", "a step it needs came to nothing")
        await step.note(Ev.PLAN_ADVANCED, f"{one['id']}:blocked", _advanced(plan, one["id"]))
    missing = plans.in_status(plan, FAILED)
    if missing:
        why = missing[0]
        return {
            "plan": plan,
            **fail(Reason.REQUIRED_TASK_FAILED, "step_failed", f"{why['title']}: {why['detail']}"),
        }
    if plans.in_status(plan, REJECTED) and not plans.in_status(plan, DONE):
        return {"plan": plan, "route": "finalize"}
    return {"plan": plan, "route": "artifact_gate"}


def _advanced(plan: Plan, step_id: str) -> dict[str, Any]:
    found = plans.step_of(plan, step_id)
    assert found is not None  # it was just moved
    return {
        "step": step_id,
        "status": found["status"],
        "detail": found["detail"],
        "revision": plan["revision"],
    }


advanced: Final = _advanced

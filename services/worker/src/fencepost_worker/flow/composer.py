"""composer and join: a step's arguments from its sources, one branch a batch, joined in source order (I26).

Each branch is a task of its own in one superstep: what it found is stored when it ends, and after a crash
only the others run again. A branch that can't be saved is a finding too; what the step then is, the join
says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fencepost_domain.vocabulary import Ev, Reason

from fencepost_worker.flow import plan as plans
from fencepost_worker.flow.agent import model_context
from fencepost_worker.flow.joining import arguments_of, conflicts_of
from fencepost_worker.flow.planner import advanced
from fencepost_worker.flow.role_context import for_composer
from fencepost_worker.flow.roles import RoleFailed, ask
from fencepost_worker.flow.siblings import Stopped
from fencepost_worker.flow.state import Patch, State, fail
from fencepost_worker.flow.step import Step

OK: Final = "ok"
FAILED: Final = "failed"
STOPPED: Final = "stopped"


async def composer(state: State, step: Step) -> Patch:
    """One branch's finding: {index, source, status, arguments, conclusions, code, detail}."""
    batch, chosen = state["batch"], plans.step_of(state["plan"], state["current"])
    assert chosen is not None  # the router chose it
    siblings = step.siblings
    enough, cancel_rest = needed(chosen, batch["of"]), chosen["on_failure"] == "cancel_rest"
    siblings.agree(enough, batch["of"], cancel_rest=cancel_rest)
    found: dict[str, Any] = {"index": batch["index"], "source": batch["source"]}
    try:
        said = await siblings.run(_composed(state, step, chosen))
        found |= {"status": OK, "arguments": said["arguments"], "conclusions": said.get("conclusions", {})}
    except Stopped:
        return _finding(batch, {**found, "status": STOPPED})
    except RoleFailed as failed:
        failure = failed.failure["failure"]
        found |= {"status": FAILED, **{name: failure[name] for name in ("reason", "code", "detail")}}
    siblings.settled(ok=found["status"] == OK)
    return _finding(batch, found)


def _finding(batch: Mapping[str, Any], found: Mapping[str, Any]) -> Patch:
    return {"route": "join", "findings": {batch["key"]: dict(found)}, "spent": {"branches": 1}}


async def _composed(state: State, step: Step, chosen: Mapping[str, Any]) -> dict[str, Any]:
    facts = step.facts
    tool = facts.catalog.tool(chosen["tool"]) if facts.catalog is not None and chosen["tool"] else None
    about = model_context(facts, {**state, "answers": [], "actions": []})
    return await ask(step, for_composer(state, facts, about, chosen, tool))


def needed(chosen: Mapping[str, Any], branches: int) -> int:
    """Successes that are enough for the step."""
    match chosen["join"]:
        case "first":
            return 1
        case "quorum":
            return min(int(chosen["quorum"]), branches)
        case _:
            return branches


async def join(state: State, step: Step) -> Patch:
    """The branches' findings as one call, in source order; or what became of the step."""
    plan, current = state["plan"], state["current"]
    chosen = plans.step_of(plan, current)
    assert chosen is not None
    found = [state["findings"][b["key"]] for b in state["batches"] if b["key"] in state["findings"]]
    used = _used(chosen, found, len(state["batches"]))
    conflicts = conflicts_of(used) if used is not None else []
    await step.note(Ev.BRANCHES_JOINED, f"{current}:{chosen['tries']}", _told(chosen, found, conflicts))
    clean: Patch = {"findings": None, "batches": [], "violations": []}
    if used is None:
        return {**clean, **await _failed(state, step, chosen, found)}
    if conflicts:
        names = ", ".join(one["name"] for one in conflicts)
        return {**clean, **fail(Reason.CONFLICT_UNRESOLVED, "conflict_unresolved", names)}
    if chosen["tool"] is None:
        made = plans.moved(plan, current, "done")
        await step.note(Ev.PLAN_ADVANCED, f"{current}:done:{chosen['tries']}", advanced(made, current))
        said = [str(one["arguments"].get("text", "")) for one in used]
        reply = {**state["reply"], "said": [*state["reply"].get("said", ()), *said]}
        return {**clean, "plan": made, "reply": reply, "route": "assessor"}
    # The id is the step's place: an answer refused later is told to it by this id.
    call = {
        "id": f"step_{current}_{chosen['tries']}",
        "name": chosen["tool"],
        "arguments": arguments_of(used),
    }
    return {**clean, "calls": [call], "route": "arguments_gate"}


def _used(
    chosen: Mapping[str, Any], found: Sequence[Mapping[str, Any]], branches: int
) -> list[Mapping[str, Any]] | None:
    """The findings that count, by index; None when they are too few."""
    good = sorted((one for one in found if one["status"] == OK), key=lambda one: int(one["index"]))
    enough = needed(chosen, branches)
    if len(good) < enough:
        return None
    return good[:1] if chosen["join"] == "first" else good


async def _failed(
    state: State, step: Step, chosen: Mapping[str, Any], found: Sequence[Mapping[str, Any]]
) -> Patch:
    """The first failure in source order is the step's. A budget that is used up ends the run at once."""
    bad = next((one for one in found if one["status"] == FAILED), None)
    reason = Reason(bad["reason"]) if bad is not None else Reason.MODEL_FAILED
    code, detail = (bad["code"], bad["detail"]) if bad is not None else ("branch_missing", "")
    if reason is Reason.BUDGET_EXHAUSTED:
        return fail(reason, code, detail)
    made = plans.moved(state["plan"], chosen["id"], "failed", f"{code}: {detail}")
    await step.note(
        Ev.PLAN_ADVANCED, f"{chosen['id']}:failed:{chosen['tries']}", advanced(made, chosen["id"])
    )
    return {"plan": made, "route": "assessor"}


def _told(
    chosen: Mapping[str, Any], found: Sequence[Mapping[str, Any]], conflicts: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    ordered = sorted(found, key=lambda one: int(one["index"]))
    return {
        "step": chosen["id"],
        "join": chosen["join"],
        "branches": [{name: one[name] for name in ("index", "source", "status")} for one in ordered],
        "conflicts": [one["name"] for one in conflicts],
    }

"""The plan: 1 to 8 observable steps. It may refine what the user asked for, never relax it, and has no
budget.

{objective, task_intent, success_criteria, revision, steps: [{id, title, tool, needs, join, quorum,
on_failure, status, detail, tries}]}; `tool` is None for a step that only words an answer. A step's status
moves by `STEP_MOVES` alone.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, Final

from fencepost_contracts.tools import Catalog
from fencepost_domain.errors import IllegalTransition

Plan = dict[str, Any]
PlanStep = dict[str, Any]

PENDING: Final = "pending"
WORKING: Final = "working"
DONE: Final = "done"
FAILED: Final = "failed"
REJECTED: Final = "rejected"

# (status, event) -> status; what is absent is illegal. `again` gives a step back with what has to be mended.
STEP_MOVES: Final[Mapping[tuple[str, str], str]] = {
    (PENDING, "chosen"): WORKING,
    (PENDING, "blocked"): FAILED,  # one it needs came to nothing
    (WORKING, "done"): DONE,
    (WORKING, "failed"): FAILED,
    (WORKING, "rejected"): REJECTED,
    (WORKING, "again"): PENDING,
    (DONE, "again"): PENDING,  # its artifact didn't pass its gate
}
MOST_STEPS: Final = 8
MOST_TRIES: Final = 3  # of one step: then it failed
FILE_TOOLS: Final[Mapping[str, str]] = {
    "pptx": "work.create_presentation",
    "docx": "work.create_document",
    "xlsx": "work.create_workbook",
    "email": "work.draft_email",
}


def moved(plan: Plan, step_id: str, event: str, detail: str = "") -> Plan:
    """The plan after an event at one of its steps. Raises IllegalTransition."""
    steps = []
    for step in plan["steps"]:
        if step["id"] == step_id:
            status = STEP_MOVES.get((step["status"], event))
            if status is None:
                raise IllegalTransition(f"step {step_id}", step["status"], event)
            tries = step["tries"] + (event == "chosen")
            step = {**step, "status": status, "detail": detail[:500], "tries": tries}
        steps.append(step)
    return {**plan, "steps": steps}


def step_of(plan: Mapping[str, Any], step_id: str) -> PlanStep | None:
    return next((step for step in plan.get("steps", ()) if step["id"] == step_id), None)


def next_step(plan: Plan) -> PlanStep | None:
    """The first pending step whose needs are done, in the plan's order."""
    done = {step["id"] for step in plan["steps"] if step["status"] == DONE}
    return next((s for s in plan["steps"] if s["status"] == PENDING and done >= set(s["needs"])), None)


def in_status(plan: Mapping[str, Any], *statuses: str) -> list[PlanStep]:
    return [step for step in plan.get("steps", ()) if step["status"] in statuses]


def new_plan(
    said: Mapping[str, Any], revision: int, criteria: Iterable[str], before: Mapping[str, Any]
) -> Plan:
    """A plan of what the planner said. criteria: the contract's own, which come first and stay. What is done
    of the plan before stays done, under its ids."""
    kept = [dict(step) for step in before.get("steps", ()) if step["status"] == DONE]
    known = {step["id"] for step in kept}
    steps = [*kept, *(_step(one) for one in said["steps"] if one["id"] not in known)]
    wanted = list(dict.fromkeys([*criteria, *said.get("success_criteria", ())]))
    return {
        "objective": said["objective"],
        "task_intent": said.get("task_intent") or "",
        "success_criteria": wanted[:16],
        "revision": revision,
        "steps": steps[: MOST_STEPS + len(kept)],
    }


def _step(said: Mapping[str, Any]) -> PlanStep:
    join = said.get("join", "all")
    return {
        "id": said["id"],
        "title": said["title"],
        "tool": said.get("tool"),
        "needs": list(said.get("needs", ())),
        "join": join,
        "quorum": said.get("quorum", 1),
        "on_failure": said.get("on_failure", "cancel_rest"),
        "status": PENDING,
        "detail": "",
        "tries": 0,
    }


def faults(
    plan: Plan, contract: Mapping[str, Any], catalog: Catalog | None, closed: Sequence[str]
) -> list[str]:
    """What is wrong with a plan, for its planner. closed: tools a person said no to, which aren't asked
    again."""
    found: list[str] = []
    ids: set[str] = set()
    for step in plan["steps"]:
        if step["id"] in ids:
            found.append(f"step {step['id']}: the id stands twice")
        unknown = sorted(set(step["needs"]) - ids)
        if unknown:
            found.append(f"step {step['id']}: needs {', '.join(unknown)}, which doesn't come before it")
        ids.add(step["id"])
        found += _tool_faults(step, contract, catalog, closed)
    tools = {step["tool"] for step in plan["steps"]}
    for kind in contract.get("file_kinds", ()):
        maker = FILE_TOOLS.get(kind)
        if maker is not None and maker not in tools and _offered(maker, catalog):
            found.append(f"the user asked for {kind}, and no step calls {maker}")
    if not any(step["status"] == PENDING for step in plan["steps"]):
        found.append("no step is left to do")
    return found


def _tool_faults(
    step: PlanStep, contract: Mapping[str, Any], catalog: Catalog | None, closed: Sequence[str]
) -> list[str]:
    tool = step["tool"]
    if step["status"] == DONE:
        return []
    if tool is not None and not _offered(tool, catalog):
        return [f"step {step['id']}: no tool is called {tool}"]
    if tool is not None and tool in closed:
        return [f"step {step['id']}: the user said no to {tool}"]
    if contract.get("full_coverage") and step["join"] != "all":
        return [f"step {step['id']}: everything was asked for, so all branches have to join"]
    return []


def _offered(tool: str, catalog: Catalog | None) -> bool:
    return catalog is not None and catalog.tool(tool) is not None


def told(plan: Mapping[str, Any], actions: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The actions a user is told of: of each step the last one, and no reading on the way to another step."""
    needed = {need for step in plan.get("steps", ()) for need in step["needs"]}
    newest = {a.get("step") or f"#{a['index']}": a for a in actions}
    return [a for a in newest.values() if not _is_on_the_way(a, needed)]


def _is_on_the_way(action: Mapping[str, Any], needed: Container[str]) -> bool:
    is_reading = action["status"] == DONE and action.get("effect_class") == "none"
    return is_reading and action.get("step") in needed


def shown(plan: Plan) -> dict[str, Any]:
    """What events and views say of a plan."""
    names = ("id", "title", "tool", "needs", "status", "detail")
    return {
        **{name: plan[name] for name in ("objective", "task_intent", "success_criteria", "revision")},
        "steps": [{name: step[name] for name in names} for step in plan["steps"]],
    }

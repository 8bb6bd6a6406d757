"""Every exit of `core` 2.0.0, every reason a node may end a run for, every outcome of each gate: named by a
test that walks it on the compiled graph, and is held to that (`walks`, conftest).

What must be walked is read from the definition itself. What can't be reached says here why, and is called by
hand below where its node has code for it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

import pytest
from fencepost_contracts.graph_core2 import CORE_2
from fencepost_domain.vocabulary import Reason
from fencepost_worker.flow import acting, agent, gate_table, planner, repair
from fencepost_worker.flow.state import FRESH, State
from fencepost_worker.flow.step import Step

from tests.services.worker.walks import BOTH, SHARED, exit_of

# Modes in which a shared node stands; `direct` has only the two at the end.
MODES: Final = {"response_gate": ("direct", *BOTH), "finalize": ("direct", *BOTH)}
# An exit that only one mode takes, by the node's own code.
ONE_MODE: Final = {
    "arguments_gate -> reject_tool": "single_action",  # a plan's refused call goes to the repairer
    "arguments_gate -> assessor": "agentic",
    "prepare -> reject_tool": "single_action",
    "prepare -> repairer": "agentic",
    "approval -> observe": "agentic",  # a no is an observation there
    "observe -> response_gate": "single_action",
    "observe -> artifact_gate": "single_action",
    "observe -> assessor": "agentic",
    "artifact_gate -> router": "agentic",  # what was ordered is not made again
    "response_gate -> revise_response": "direct",  # words made of results are nobody's to rewrite
}
LAST_FENCE: Final = "only a state that no node leaves behind leads here; called by hand below"
ALLOWED: Final = "the definition allows it, this release's code has no need of it"
NOT_WALKED: Final = {
    "hand_over -> finalize": LAST_FENCE,
    "hand_over ! required_task_failed": LAST_FENCE,
    "router -> artifact_gate": LAST_FENCE,
    "router -> finalize": LAST_FENCE,
    "router ! required_task_failed": LAST_FENCE,
    "router ! no_progress": LAST_FENCE,
    "planner ! no_progress": LAST_FENCE,
    "single_action: repairer -> reconcile_side_effect": LAST_FENCE,
    "agentic: repairer -> reconcile_side_effect": LAST_FENCE,
    "single_action: continue_action -> observe": LAST_FENCE,
    "agentic: continue_action -> observe": LAST_FENCE,
    "router ! budget_exhausted": ALLOWED,
    "join ! model_failed": ALLOWED,
    "arguments_gate ! no_progress": ALLOWED,
    "prepare ! budget_exhausted": ALLOWED,
    "assessor ! quality_failed": ALLOWED,
    "revise_response ! quality_failed": ALLOWED,
}
OUTCOMES: Final = ("passes", "asks for a rewrite", "is mended", "is exhausted")
AFTER_A_FAILURE: Final = (gate_table.ARTIFACTS.name, gate_table.RESPONSE.name)  # what comes behind an action


def to_walk() -> set[str]:
    """What the definition and the gates' table have."""
    found: set[str] = set()
    for name, node in CORE_2.nodes.items():
        found |= {f"{name} ! {reason}" for reason in node.errors or ()}
        for edge in node.edges:
            only = ONE_MODE.get(f"{name} -> {edge}")
            modes = (only,) if only else MODES.get(name, BOTH) if name in SHARED else ("",)
            found |= {exit_of(mode, name, edge) for mode in modes}
    gates = [*gate_table.ARGUMENT_GATES.values(), gate_table.ARTIFACTS, gate_table.RESPONSE]
    found |= {f"{gate.name} {outcome}" for gate in gates for outcome in OUTCOMES}
    return found | {f"{name} is asked after a failure" for name in AFTER_A_FAILURE}


def said() -> Iterator[tuple[str, str]]:
    """(what, where) of each `walks(...)` in the tests of this folder."""
    for file in sorted(Path(__file__).parent.glob("test_*.py")):
        for call in ast.walk(ast.parse(file.read_text())):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "walks":
                for argument in call.args:
                    assert isinstance(argument, ast.Constant), f"{file.name}:{call.lineno}: not a plain text"
                    yield str(argument.value), f"{file.name}:{call.lineno}"


def walked() -> dict[str, str]:
    found: dict[str, str] = {}
    for what, where in said():
        modes = BOTH if what.startswith("both: ") else ("",)
        found |= {what.replace("both: ", f"{mode}: ", 1): where for mode in modes}
    return found


def test_every_exit_failure_and_gate_is_walked_by_a_test() -> None:
    wanted = to_walk()
    assert sorted(wanted - walked().keys() - NOT_WALKED.keys()) == []


def test_what_is_said_to_be_walked_or_not_is_in_the_graph() -> None:
    wanted, found = to_walk(), walked()
    unknown = {what: where for what, where in found.items() if what not in wanted}
    assert {what for what in unknown if "is asked after a failure" not in what} == set()
    assert NOT_WALKED.keys() <= wanted
    assert NOT_WALKED.keys().isdisjoint(found), "it is walked after all"


class Facts:
    """As far as the nodes below ask."""

    definition = CORE_2
    graph = CORE_2
    rerouted, module, modules = True, "life", ("life", "work")
    text, locale, zone, currency, reference, catalog = "x", "en", None, "CNY", None, None


class Alone:
    """A step whose log takes anything, and nothing else is there."""

    facts = Facts()

    async def note(self, *_: Any) -> None:
        return None


def one(status: str, tries: int = 0, needs: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"id": status, "title": status, "tool": None, "needs": list(needs), "status": status,
            "detail": "", "tries": tries, "join": "all", "quorum": 1, "on_failure": "keep"}  # fmt: skip


def plan(*steps: dict[str, Any], revision: int = 1) -> dict[str, Any]:
    return {"objective": "o", "task_intent": "", "success_criteria": [], "revision": revision,
            "steps": list(steps)}  # fmt: skip


@pytest.mark.parametrize(
    ("node", "state", "route", "reason"),
    [
        (agent.hand_over, {"hand_over_to": "work"}, "finalize", Reason.REQUIRED_TASK_FAILED),
        (planner.planner, {"plan": plan(revision=3)}, "finalize", Reason.NO_PROGRESS),
        (planner.router, {"plan": plan(one("pending", tries=3))}, "finalize", Reason.NO_PROGRESS),
        (planner.router, {"plan": plan(one("done"))}, "artifact_gate", None),
        (planner.router, {"plan": plan(one("rejected"))}, "finalize", None),
        (planner.router, {"plan": plan(one("rejected"), one("pending", needs=("rejected",)))}, "finalize",
         Reason.REQUIRED_TASK_FAILED),
        (repair.repairer, {"actions": [{"status": "unsettled"}]}, "reconcile_side_effect", None),
        (acting.continue_action, {"actions": [{"status": "done", "n": 1}]}, "observe", None),
    ],
)  # fmt: skip
async def test_last_fences_hold(node: Any, state: dict[str, Any], route: str, reason: Reason | None) -> None:
    patch = await node(cast(State, {**FRESH, **state}), cast(Step, Alone()))
    assert patch["route"] == route
    assert (patch.get("failure") or {}).get("reason") == reason

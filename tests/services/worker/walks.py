"""What a test walked of the graph, seen where the engine calls a node: exits, failures, gates' outcomes.

A test says what it walks by `@walks(...)`; it fails where it didn't (conftest). What all say together is held
against the definition by `test_walks`. `both: ` stands for the test's parameter `mode`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pytest
from fencepost_contracts.graphs import Node
from fencepost_worker.engine.langgraph import registry
from fencepost_worker.flow.contracts import run_node
from fencepost_worker.flow.state import Patch, State
from fencepost_worker.flow.step import NodeFunction, Step

BOTH: Final = ("single_action", "agentic")
# Nodes that stand in more than one mode; an exit of one is told with its mode.
SHARED: Final = frozenset({
    "arguments_gate", "repairer", "prepare", "approval", "commit", "tool_wait", "continue_action",
    "reconcile_side_effect", "observe", "artifact_gate", "response_gate", "finalize",
})  # fmt: skip
walks: Final = pytest.mark.walks
both_modes: Final = pytest.mark.parametrize("mode", BOTH)


def exit_of(mode: str, node: str, following: str) -> str:
    return f"{mode}: {node} -> {following}" if node in SHARED else f"{node} -> {following}"


def steps_of(name: str, state: Mapping[str, Any], patch: Mapping[str, Any]) -> set[str]:
    """`node -> next` (of a shared node with its mode), `node ! reason`, `gate outcome` of a node's patch."""
    mode = patch.get("mode") or state.get("mode") or "undecided"
    found = {exit_of(mode, name, patch["route"])}
    failure = patch.get("failure")
    if failure and not state.get("failure"):
        found.add(f"{name} ! {failure['reason']}")
    for report in patch.get("reports", {}).values():
        found.add(f"{report['gate']} {_outcome(report, bool(failure), state)}")
    return found


def _outcome(report: Mapping[str, Any], failed: bool, state: Mapping[str, Any]) -> str:
    if state.get("failure") or any(a["status"] == "failed" for a in state.get("actions", ())):
        return "is asked after a failure"
    if report["passed"]:
        return "is mended" if report["rewrites"] else "passes"
    return "is exhausted" if failed else "asks for a rewrite"


def watch(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """What is walked from now on, until the test ends."""
    walked: set[str] = set()

    async def watched(name: str, node: Node, function: NodeFunction, state: State, step: Step) -> Patch:
        patch = await run_node(name, node, function, state, step)
        walked.update(steps_of(name, state, patch))
        return patch

    monkeypatch.setattr(registry, "run_node", watched)
    return walked


def said_by(mark: pytest.Mark, params: Mapping[str, Any]) -> set[str]:
    """What a mark says of one case of its test."""
    mode = params.get("mode", "")
    return {one.replace("both: ", f"{mode}: ", 1) for one in mark.args}

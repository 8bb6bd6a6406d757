"""Which function is which node of the core graph, of each version that is served."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fencepost_contracts.graph_core2 import CORE_2
from fencepost_contracts.graphs import CORE

from fencepost_worker.flow import (
    acting,
    actions,
    agent,
    composer,
    finish,
    gating,
    observing,
    planner,
    reading,
    repair,
    standing,
)
from fencepost_worker.flow.step import NodeFunction

CORE_NODES: Final[Mapping[str, NodeFunction]] = {
    "supervisor": agent.supervisor,
    "module_agent": agent.module_agent,
    "reject_tool": agent.reject_tool,
    "ask": agent.ask,
    "hand_over": agent.hand_over,
    "arguments_gate": actions.arguments_gate,
    "prepare": actions.prepare,
    "approval": actions.approval,
    "commit": actions.commit,
    "observe": finish.observe,
    "response_gate": finish.response_gate,
    "finalize": finish.finalize,
}
CORE_2_NODES: Final[Mapping[str, NodeFunction]] = {
    "supervisor": reading.supervisor,
    "module_agent": reading.module_agent,
    "reject_tool": agent.reject_tool,
    "ask": agent.ask,
    "hand_over": agent.hand_over,
    "planner": planner.planner,
    "router": planner.router,
    "composer": composer.composer,
    "join": composer.join,
    "arguments_gate": gating.arguments_gate,
    "repairer": repair.repairer,
    "prepare": acting.prepare,
    "approval": acting.approval,
    "commit": acting.commit,
    "tool_wait": acting.tool_wait,
    "continue_action": acting.continue_action,
    "reconcile_side_effect": acting.reconcile_side_effect,
    "observe": observing.observe,
    "assessor": observing.assessor,
    "artifact_gate": gating.artifact_gate,
    "response_gate": gating.response_gate,
    "revise_response": repair.revise_response,
    "finalize": standing.finalize,
}
# What this release serves; a run that is bound for the first time gets the first of them.
DEFINITIONS: Final = (CORE_2, CORE)
NODES: Final[Mapping[str, Mapping[str, NodeFunction]]] = {
    f"{CORE_2.name}-{CORE_2.version}": CORE_2_NODES,
    CORE.name: CORE_NODES,
}

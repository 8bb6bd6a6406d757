"""Which function is which node of the core graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fencepost_worker.flow import actions, agent, finish
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

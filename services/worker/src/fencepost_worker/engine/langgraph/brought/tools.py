"""The tool node's steps, each a checkpoint: prepare, approval, commit, as in our own graph.

They are a subgraph of the node that calls them, in the node's own namespace of the run's thread. So a node
that runs again from its first line goes on behind the last step that is stored, and nothing is done twice.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from fencepost.graphs import HOST
from fencepost_contracts.tools import CommitAnswer, PrepareAnswer, PrepareCall
from langgraph.errors import GraphBubbleUp, GraphInterrupt
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

from fencepost_worker.engine.langgraph.brought.host import RunHost
from fencepost_worker.engine.langgraph.brought.questions import pause_for, pause_for_task
from fencepost_worker.engine.langgraph.registry import Root
from fencepost_worker.flow import actions
from fencepost_worker.flow.state import FRESH
from fencepost_worker.flow.step import Facts, NodeFunction, Question, TaskRunning

STEPS: Final[Mapping[str, NodeFunction]] = {
    "prepare": actions.prepare,
    "approval": actions.approval,
    "commit": actions.commit,
}


class Unanswered(Exception):
    """A step asked something whose answer isn't at hand."""

    def __init__(self, question: Question) -> None:
        self.question = question
        super().__init__(question.text)


@dataclass(slots=True)
class ToolStep:
    """Implements what these steps use of flow.step.Step. answers: of questions, by their key.

    LangGraph would give answers by their order in the task, and a node's own `interrupt()` would be among
    them; ours are looked up by what they answer.
    """

    host: RunHost
    answers: dict[tuple[str, int, int], Mapping[str, Any]] = field(default_factory=dict)

    @property
    def facts(self) -> Facts:
        return self.host.facts

    def new_id(self) -> UUID:
        return self.host.ports.new_id()

    async def prepare(self, calls: Sequence[PrepareCall]) -> PrepareAnswer:
        return await self.host.ports.prepare(calls)

    async def commit(self, index: int, n: int, token_id: UUID) -> CommitAnswer:
        return await self.host.ports.commit(index, n, token_id)

    async def note_refusals(self, refusals: Sequence[Mapping[str, Any]]) -> None:
        """The gateway noted its own."""

    def pause(self, question: Question) -> Mapping[str, Any]:
        known = self.answers.get(_key(question))
        if known is None:
            raise Unanswered(question)
        return known

    async def run(self, function: NodeFunction, state: Any) -> Any:
        """The step's patch; begun anew, as steps may be, for each answer that is found.

        Raises GraphInterrupt where a person has to be asked, or a task to be waited for.
        """
        while True:
            try:
                return await function(state, self)  # type: ignore[arg-type]  # no model, no history here
            except Unanswered as asked:
                answer = await self.host.ports.answer_to(asked.question)
                if answer is None:
                    raise GraphInterrupt((pause_for(asked.question),)) from None
                self.answers[_key(asked.question)] = answer
            except TaskRunning:
                # A pause and no failure: branches beside this one go on to their end.
                raise GraphInterrupt((pause_for_task(state["actions"][0]["index"]),)) from None


def _key(question: Question) -> tuple[str, int, int]:
    return str(question.kind), question.index, question.n


def _node(name: str, function: NodeFunction) -> Callable[[Root], Awaitable[Command[str]]]:
    async def node(root: Root) -> Command[str]:
        host = HOST.get()
        assert isinstance(host, RunHost)
        try:
            patch = await ToolStep(host).run(function, root["state"])
        except GraphBubbleUp:
            raise
        except Exception as error:
            host.leave(error)
        route = patch.get("route")
        return Command(update={"state": patch}, goto=route if route in STEPS else END)

    node.__name__ = name
    return node


def _steps() -> Any:
    graph = StateGraph(Root)
    for name, function in STEPS.items():
        node: Any = _node(name, function)
        graph.add_node(name, node, destinations=(*STEPS, END))
    graph.add_edge(START, "prepare")
    return graph.compile(name="fencepost_tools")


_STEPS: Final = _steps()


async def act(proposed: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Carry proposed actions through; the state that the steps left. Raises GraphInterrupt, registry.Left."""
    values = await _STEPS.ainvoke({"state": {**FRESH, "actions": [dict(one) for one in proposed]}})
    state: Mapping[str, Any] = values["state"]
    return state

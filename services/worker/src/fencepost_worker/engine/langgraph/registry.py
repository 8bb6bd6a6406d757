"""Compiled graphs, one per definition, for all runs of this process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, TypedDict

from fencepost_contracts.graphs import END as END_NAME
from fencepost_contracts.graphs import GraphDefinition
from langgraph.errors import GraphBubbleUp
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command, Send

from fencepost_worker.engine.langgraph.saver import FencedSaver
from fencepost_worker.engine.langgraph.step import Context, LangGraphStep
from fencepost_worker.engine.port import check_definition
from fencepost_worker.flow.contracts import branches_of, kept, run_node
from fencepost_worker.flow.reducers import merged
from fencepost_worker.flow.state import Patch, State
from fencepost_worker.flow.step import NodeFunction


class Root(TypedDict):
    """The whole state as one channel: LangGraph walks over all channels several times a step, which made
    twenty of them a third of a run's cost."""

    state: Annotated[State, merged]


Graph = CompiledStateGraph[Root, Context, Any, Any]


class Left(GraphBubbleUp):
    """A node left for a reason of ours. Bubbling up stores no error in graph state: control state has it."""

    def __init__(self, cause: Exception) -> None:
        self.cause = cause
        super().__init__(str(cause))


def build(definition: GraphDefinition, nodes: Mapping[str, NodeFunction], saver: FencedSaver) -> Graph:
    """Compile a definition. Raises ValueError when code and declaration don't fit."""
    check_definition(definition, nodes)
    graph = StateGraph(Root, context_schema=Context)
    for name, node in definition.nodes.items():
        node_function: Any = _wrapped(
            name, nodes[name], definition
        )  # LangGraph's overloads don't take our alias
        graph.add_node(
            name, node_function, destinations=tuple(END if e == END_NAME else e for e in node.edges)
        )
    graph.add_edge(START, definition.entry)
    return graph.compile(checkpointer=saver, name=definition.name)


def _wrapped(
    name: str, function: NodeFunction, definition: GraphDefinition
) -> Callable[[Root, Runtime[Context]], Awaitable[Command[str]]]:
    """The node as LangGraph runs it: the boundary before it, its exceptions out of graph state.

    It names the next node itself: a conditional edge would read the state again, in a thread, to find it.
    """

    declared = definition.nodes[name]

    async def node(root: Root, runtime: Runtime[Context]) -> Command[str]:
        context = runtime.context
        info = runtime.execution_info
        if info is None:
            raise RuntimeError("the engine gave no execution info")
        try:
            await context.ports.boundary(name)
            state = root["state"]
            branch = str(state.get("batch", {}).get("index", 0)) if declared.fan_out is not None else "0"
            step = LangGraphStep(context, info.checkpoint_id, name, branch)
            patch = await run_node(name, declared, function, state, step)
            return Command(update={"state": kept(patch)}, goto=_goto(definition, name, patch, state))
        except GraphBubbleUp:
            raise  # a pause is an exception too; catching it would swallow the question
        except Exception as error:
            raise Left(error) from error

    node.__name__ = name
    return node


def _goto(definition: GraphDefinition, name: str, patch: Patch, state: State) -> Any:
    """The next node, or one task a branch: LangGraph runs them in one superstep, stores what each wrote as it
    ends, and after a crash runs only those that hadn't."""
    sent = branches_of(definition, name, patch, state)
    if sent is not None:
        return [Send(sent[0], {"state": given}) for given in sent[1]]
    return () if patch["route"] == END_NAME else str(patch["route"])

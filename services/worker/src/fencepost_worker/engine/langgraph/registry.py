"""Compiled graphs, one per definition, for all runs of this process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, TypedDict, cast

from fencepost_contracts.graphs import END as END_NAME
from fencepost_contracts.graphs import GraphDefinition
from langgraph.errors import GraphBubbleUp
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command

from fencepost_worker.engine.langgraph.saver import FencedSaver
from fencepost_worker.engine.langgraph.step import Context, LangGraphStep
from fencepost_worker.engine.port import check_definition
from fencepost_worker.flow.state import Patch, State
from fencepost_worker.flow.step import NodeFunction


def merged(state: State, patch: Patch) -> State:
    """The state after a node's patch. One writer a key: nothing is combined."""
    return cast(State, {**state, **patch})


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


class IllegalRoute(Exception):
    """A node named a next node that its declaration doesn't have: a fault of ours."""


def build(definition: GraphDefinition, nodes: Mapping[str, NodeFunction], saver: FencedSaver) -> Graph:
    """Compile a definition. Raises ValueError when code and declaration don't fit."""
    check_definition(definition, nodes)
    graph = StateGraph(Root, context_schema=Context)
    for name, node in definition.nodes.items():
        edges = frozenset(node.edges)
        node_function: Any = _wrapped(name, nodes[name], edges)  # LangGraph's overloads don't take our alias
        graph.add_node(
            name, node_function, destinations=tuple(END if e == END_NAME else e for e in node.edges)
        )
    graph.add_edge(START, definition.entry)
    return graph.compile(checkpointer=saver, name=definition.name)


def _wrapped(
    name: str, function: NodeFunction, edges: frozenset[str]
) -> Callable[[Root, Runtime[Context]], Awaitable[Command[str]]]:
    """The node as LangGraph runs it: the boundary before it, its exceptions out of graph state.

    It names the next node itself: a conditional edge would read the state again, in a thread, to find it.
    """

    async def node(root: Root, runtime: Runtime[Context]) -> Command[str]:
        context = runtime.context
        info = runtime.execution_info
        if info is None:
            raise RuntimeError("the engine gave no execution info")
        try:
            await context.ports.boundary(name)
            patch = await function(root["state"], LangGraphStep(context, info.checkpoint_id, name))
            route = patch.get("route")
            if route not in edges:
                raise IllegalRoute(f"{name} -> {route}")
            return Command(update={"state": patch}, goto=() if route == END_NAME else str(route))
        except GraphBubbleUp:
            raise  # a pause is an exception too; catching it would swallow the question
        except Exception as error:
            raise Left(error) from error

    node.__name__ = name
    return node

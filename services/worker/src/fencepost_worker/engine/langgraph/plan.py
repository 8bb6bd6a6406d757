"""What the direct path must know of a compiled graph; graphs without a plan are left to `ainvoke`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from langgraph._internal._constants import TASKS
from langgraph._internal._runnable import RunnableCallable
from langgraph.channels.base import BaseChannel
from langgraph.channels.binop import BinaryOperatorAggregate
from langgraph.channels.ephemeral_value import EphemeralValue
from langgraph.channels.last_value import LastValue
from langgraph.channels.topic import Topic
from langgraph.constants import START
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel._read import DEFAULT_BOUND, PregelNode
from langgraph.pregel._write import (
    PASSTHROUGH,
    ChannelWrite,
    ChannelWriteEntry,
    ChannelWriteTupleEntry,
)

KEPT: Final = (LastValue, BinaryOperatorAggregate)

Write = tuple[str, Any]
Writer = Callable[[Any], Sequence[Write] | None]


@dataclass(frozen=True, slots=True)
class NodePlan:
    """One node: what it reads, runs and writes. function: None for the start, whose input is its answer."""

    name: str
    triggers: tuple[str, ...]
    reads: str | tuple[str, ...]
    mapper: Callable[[Any], Any] | None
    function: Callable[..., Awaitable[Any]] | None
    takes_runtime: bool
    writers: tuple[Writer, ...]

    def writes(self, answer: Any) -> list[Write]:
        """What LangGraph's own writers make of the node's answer, in their order."""
        found: list[Write] = []
        for writer in self.writers:
            more = writer(answer)
            if more:
                found += more
        return found


@dataclass(frozen=True, slots=True)
class Plan:
    """A graph whose supersteps are known. passing: channels that live for one superstep."""

    specs: Mapping[str, BaseChannel[Any, Any, Any]]
    passing: tuple[str, ...]
    nodes: Mapping[str, NodePlan]
    by_trigger: Mapping[str, Sequence[str]]
    output: str | Sequence[str]


def plan_of(graph: CompiledStateGraph[Any, Any, Any, Any]) -> Plan | None:
    """The plan of a graph, or None where something in it asks for more than the direct path knows."""
    if not _is_plain(graph):
        return None
    nodes: dict[str, NodePlan] = {}
    for name, node in graph.nodes.items():
        planned = _node_plan(name, node)
        if planned is None:
            return None
        nodes[name] = planned
    passing = tuple(name for name, spec in graph.channels.items() if type(spec) is EphemeralValue)
    specs: Any = graph.channels
    return Plan(specs, passing, nodes, graph.trigger_to_nodes, graph.output_channels)


def _is_plain(graph: CompiledStateGraph[Any, Any, Any, Any]) -> bool:
    """No breakpoints, retries, caches or time-outs of the engine's; only channels known here."""
    asks_more = (
        graph.interrupt_before_nodes,
        graph.interrupt_after_nodes,
        graph.retry_policy,
        graph.cache_policy,
        graph.cache,
        graph.store,
        graph.step_timeout,
        graph.node_error_handler_map,
        graph.config,
    )
    known = all(
        type(spec) in KEPT or type(spec) is EphemeralValue or (name == TASKS and type(spec) is Topic)
        for name, spec in graph.channels.items()
    )
    return known and not any(asks_more) and graph.input_channels == START


def _node_plan(name: str, node: PregelNode) -> NodePlan | None:
    asks_more = (
        node.retry_policy,
        node.cache_policy,
        node.timeout,
        node.subgraphs,
        node.error_handler_node,
        node.is_error_handler,
    )
    writers = _writers(node.writers)
    if any(asks_more) or writers is None:
        return None
    triggers = tuple(sorted(node.triggers))
    reads = node.channels if isinstance(node.channels, str) else tuple(node.channels)
    if node.bound is DEFAULT_BOUND and name == START:
        return NodePlan(name, triggers, reads, node.mapper, None, False, writers)
    bound = node.bound
    if not isinstance(bound, RunnableCallable) or bound.afunc is None or bound.func is not None:
        return None
    if bound.kwargs or bound.explode_args or not set(bound.func_accepts) <= {"runtime"}:
        return None
    return NodePlan(name, triggers, reads, node.mapper, bound.afunc, "runtime" in bound.func_accepts, writers)


def _writers(runnables: Sequence[Any]) -> tuple[Writer, ...] | None:
    """The writers as functions of the answer; None where one is a conditional edge or else runs something."""
    found: list[Writer] = []
    for runnable in runnables:
        if type(runnable) is not ChannelWrite:
            return None
        for entry in runnable.writes:
            writer = _writer(entry)
            if writer is None:
                return None
            found.append(writer)
    return tuple(found)


def _writer(entry: Any) -> Writer | None:
    if isinstance(entry, ChannelWriteTupleEntry) and entry.value is PASSTHROUGH:
        return entry.mapper
    if isinstance(entry, ChannelWriteEntry) and not entry.skip_none and entry.mapper is None:
        if entry.value is PASSTHROUGH or entry.channel == TASKS:
            return None
        always = ((entry.channel, entry.value),)
        return lambda _: always
    return None

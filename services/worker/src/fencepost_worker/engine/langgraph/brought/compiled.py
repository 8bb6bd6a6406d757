"""A brought graph made ready: checked, described as what runs are bound to, and compiled with our saver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from fencepost_contracts.graphs import BroughtGraph, Limits
from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel import Pregel
from pydantic import ValidationError

from fencepost_worker.engine.langgraph.brought.find import Brought, GraphRefused
from fencepost_worker.engine.langgraph.brought.saver import BroughtSaver


@dataclass(frozen=True, slots=True)
class Ready:
    """One version of one graph, on our saver."""

    definition: BroughtGraph
    brought: Brought
    graph: Pregel[Any, Any, Any, Any]
    saver: BroughtSaver

    @property
    def has_messages(self) -> bool:
        return "messages" in self.graph.channels


def make_ready(brought: Brought, saver: BroughtSaver) -> list[Ready]:
    """The present version first, then the older ones. Raises GraphRefused."""
    saver = saver.allowing(brought.state_types)
    versions = {brought.version: brought.graph, **brought.older}
    return [_ready(brought, version, graph, saver) for version, graph in versions.items()]


def _ready(brought: Brought, version: str, given: Any, saver: BroughtSaver) -> Ready:
    try:
        made = given() if callable(given) and not isinstance(given, Pregel | StateGraph) else given
        if isinstance(made, StateGraph):
            graph: Any = made.compile(checkpointer=saver, name=brought.module)
        elif isinstance(made, CompiledStateGraph):
            _refuse_what_is_not_ours_to_run(brought.module, made)
            # Compiling anew tells the saver which types the state's annotations name; a copy forgets them.
            saver = cast(BroughtSaver, made.builder.compile(checkpointer=saver).checkpointer)
            graph = made.copy(update={"checkpointer": saver})
        else:
            detail = f"`graph` is a {type(made).__name__}, and neither a StateGraph nor a compiled graph"
            raise GraphRefused(brought.module, detail)
        ready = Ready(_definition(brought, version, graph), brought, graph, saver)
    except GraphRefused:
        raise
    except Exception as error:
        raise GraphRefused(
            brought.module, f"version {version} can't be compiled: {type(error).__name__}: {error}"
        ) from error
    if brought.to_state is None and not ready.has_messages:
        raise GraphRefused(
            brought.module,
            "its state has no `messages`: export to_state(run), which makes the first state from the request",
        )
    return ready


def _refuse_what_is_not_ours_to_run(module: str, graph: Any) -> None:
    """What would write or read past the run: all tenants' runs share it, and nothing fences it."""
    if graph.store is not None:
        raise GraphRefused(
            module,
            "it is compiled with a store, whose writes no fence guards and all tenants share: write by a tool"
            " of the contract, or keep it in the state",
        )
    if graph.cache is not None:
        raise GraphRefused(
            module, "it is compiled with a cache, which all tenants' runs would share: leave it out"
        )
    if graph.interrupt_before_nodes or graph.interrupt_after_nodes:
        raise GraphRefused(
            module,
            "it is compiled with breakpoints (interrupt_before, interrupt_after): use interrupt() in a node",
        )


def _definition(brought: Brought, version: str, graph: Any) -> BroughtGraph:
    """Its structure: what must not change under one version. Code isn't in it."""
    drawn = graph.get_graph(xray=True)
    try:
        limits = Limits(**brought.limits)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise GraphRefused(brought.module, f"LIMITS.{where}: {first['msg']}") from error
    return BroughtGraph(
        name=brought.module,
        version=version,
        limits=limits,
        nodes=tuple(sorted(drawn.nodes)),
        edges=tuple(sorted((e.source, e.target, bool(e.conditional)) for e in drawn.edges)),
        channels=tuple(
            sorted(
                (name, type(channel).__name__) for name, channel in graph.channels.items() if _is_kept(name)
            )
        ),
        inputs=_names(graph.input_channels),
        outputs=_names(graph.output_channels),
    )


def _is_kept(channel: str) -> bool:
    """Channels of the author's state; LangGraph's own differ between its releases."""
    return not channel.startswith(("branch:", "join:", "__"))


def _names(channels: str | Sequence[str]) -> tuple[str, ...]:
    return (channels,) if isinstance(channels, str) else tuple(sorted(channels))

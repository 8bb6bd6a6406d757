"""The engine on LangGraph: durability `sync`, async nodes, no callbacks, one compiled graph for all runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, cast

from fencepost_contracts.graphs import GraphDefinition
from fencepost_domain.errors import FenceLost, FencepostError
from fencepost_domain.ports import Clock
from fencepost_domain.vocabulary import Reason
from fencepost_runtime.logging import get_logger
from fencepost_runtime.system import SystemClock
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphRecursionError
from langgraph.types import Command, Interrupt

from fencepost_worker.engine.langgraph.pinned import direct_path
from fencepost_worker.engine.langgraph.registry import Graph, Left, build
from fencepost_worker.engine.langgraph.saver import FencedSaver
from fencepost_worker.engine.langgraph.step import Context
from fencepost_worker.engine.port import (
    Broken,
    Deferred,
    Diverged,
    Finished,
    Lost,
    Outcome,
    Parked,
    PauseAsked,
    Paused,
    Ports,
    Rerouted,
    Task,
    Waits,
    nodes_of,
)
from fencepost_worker.flow.state import State, reset
from fencepost_worker.flow.step import EffectInProgress, NodeFunction, Question, TaskRunning
from fencepost_worker.models.port import ModelFailed

if TYPE_CHECKING:
    from fencepost_worker.engine.langgraph.supersteps import Supersteps

log = get_logger(__name__)
_FRESH: Final = cast(State, reset())


@dataclass(frozen=True, slots=True)
class _Compiled:
    """direct: drives it without LangGraph's runner; None where every step goes by `ainvoke`."""

    definition: GraphDefinition
    graph: Graph
    direct: Supersteps | None


class LangGraphEngine:
    """One per process. `nodes`: the code of the definitions this worker serves, see `port.nodes_of`."""

    def __init__(
        self,
        saver: FencedSaver,
        nodes: Mapping[str, Mapping[str, NodeFunction]],
        *,
        direct: bool = True,
        clock: Clock | None = None,
    ) -> None:
        """direct: drive single-task supersteps without LangGraph's runner, where its version is known."""
        self._saver = saver
        self._nodes = nodes
        self._direct = direct_path(wanted=direct)
        self._clock = clock or SystemClock()
        self._graphs: dict[int, _Compiled] = {}  # the definition keeps its id its own

    def graph(self, definition: GraphDefinition) -> Graph:
        """The compiled graph of a definition."""
        return self._compiled(definition).graph

    def _compiled(self, definition: GraphDefinition) -> _Compiled:
        """Compiled once. Hashing the definition anew for each run would cost 2 %."""
        known = self._graphs.get(id(definition))
        if known is None or known.definition is not definition:
            graph = build(definition, nodes_of(self._nodes, definition), self._saver)
            direct = self._direct.of(graph, self._saver, self._clock) if self._direct is not None else None
            known = self._graphs[id(definition)] = _Compiled(definition, graph, direct)
        return known

    async def execute(self, task: Task, ports: Ports) -> Outcome:
        """See engine.port. Opens the run in the saver for as long as it is executed."""
        self._saver.open_run(task.fence, fresh=task.fresh, closes=True)
        try:
            outcome = await self._run(task, ports)
            if isinstance(outcome, Finished):
                return replace(outcome, carried=self._saver.carried(task.fence.run_id))
            await self._saver.flush(task.fence.run_id)
            return outcome
        except Left as left:
            return outcome_of(left.cause)
        except GraphRecursionError:
            return Broken(Reason.NO_PROGRESS, "recursion_limit", "the graph made too many steps")
        except FencepostError as error:
            return outcome_of(error)
        finally:
            self._saver.close_run(task.fence.run_id)

    async def _run(self, task: Task, ports: Ports) -> Outcome:
        compiled = self._compiled(task.facts.graph)
        config = _config(task)
        entry: Any = {"state": _FRESH}
        if not task.fresh:
            snapshot = await compiled.graph.aget_state(config)
            values = cast(State, snapshot.values.get("state", {}))
            if values.get("module") == task.facts.module:
                if snapshot.interrupts:
                    question = _question(snapshot.interrupts)
                    answer = await ports.answer_to(question)
                    if answer is None:
                        return Parked(question)
                    entry = Command(resume=dict(answer))
                elif snapshot.tasks:
                    # Also when all of them are done and only their checkpoint is missing: `next` is empty,
                    # and a fresh start would ask the model again.
                    entry = None
                elif values.get("ending"):
                    return _ended(values)
            elif snapshot.tasks and not values.get("module"):
                entry = None  # claimed again before its first node was done
        return await self._invoke(compiled, entry, config, task, ports)

    async def _invoke(
        self, compiled: _Compiled, entry: Any, config: RunnableConfig, task: Task, ports: Ports
    ) -> Outcome:
        context = Context(task.facts, ports)
        if compiled.direct is not None and not isinstance(entry, Command):
            limit = task.facts.definition.limits.recursion
            went = await compiled.direct.run(task.fence.run_id, entry, context, limit)
            if went is not None and went.is_over:
                if went.interrupts:
                    return Parked(_question(went.interrupts))
                return _ended(cast(State, went.values.get("state", {})))
            if went is not None:
                entry, config = None, {**config, "recursion_limit": went.limit}
        values = await compiled.graph.ainvoke(entry, config, context=context, durability="sync")
        pending = values.get("__interrupt__")
        if pending:
            return Parked(_question(pending))
        return _ended(cast(State, values.get("state", {})))


def _config(task: Task) -> RunnableConfig:
    limit = task.facts.definition.limits.recursion
    return {"configurable": {"thread_id": str(task.fence.run_id)}, "recursion_limit": limit, "callbacks": []}


def _question(pending: Any) -> Question:
    interrupts: list[Interrupt] = list(pending)
    return Question.from_json(interrupts[0].value)


def _ended(values: State) -> Outcome:
    ending = values.get("ending") or {}
    if ending.get("reroute"):
        return Rerouted(ending["reroute"])
    if not ending:
        return Broken(Reason.NO_PROGRESS, "no_ending", "the graph ended without a proposal")
    return Finished(ending, values)


def outcome_of(error: Exception) -> Outcome:
    """What an exception means for the run. Unknown ones are a failed step, logged with their traceback."""
    match error:
        case PauseAsked():
            return Paused()
        case FenceLost():
            return Lost(str(error))
        case Diverged():
            return error.ending()
        case ModelFailed():
            if error.retryable:
                return Deferred(error.code, error.detail, error.retry_after)
            return Broken(Reason.MODEL_FAILED, error.code, error.detail)
        case TaskRunning():
            return Waits()
        case EffectInProgress():
            return Deferred(error.code, str(error), error.wait_seconds, counts=False)
        case FencepostError(retryable=True):
            return Deferred(error.code, str(error))
        case _:
            log.error("step.failed", exc_info=error)
            return Deferred("step_failed", type(error).__name__)

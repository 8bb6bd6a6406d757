"""The direct path: supersteps of one task each, without LangGraph's loop and runner.

A graph with a Plan is driven node by node; each superstep leaves the checkpoint that `ainvoke` would leave.
Whatever else comes up (several tasks, sent tasks, an answer to a question, writes without their checkpoint)
is handed over: `ainvoke` goes on from the last checkpoint, as after a crash. Private names are all in this
module, `plan` and `thread`, and `pinned` keeps them from any LangGraph they weren't compared with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from fencepost_domain.ports import Clock
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langgraph._internal._constants import (
    CONF,
    CONFIG_KEY_CHECKPOINT_NS,
    CONFIG_KEY_RUNTIME,
    CONFIG_KEY_SCRATCHPAD,
    CONFIG_KEY_SEND,
    ERROR,
    INTERRUPT,
    PULL,
)
from langgraph._internal._scratchpad import PregelScratchpad
from langgraph.errors import GraphBubbleUp, GraphInterrupt, GraphRecursionError
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel._algo import LazyAtomicCounter, _xxhash_str, task_path_str
from langgraph.runtime import ExecutionInfo, Runtime
from langgraph.types import Interrupt

from fencepost_worker.engine.langgraph.plan import NodePlan, Plan, Write, plan_of
from fencepost_worker.engine.langgraph.saver import FencedSaver
from fencepost_worker.engine.langgraph.thread import Thread


@dataclass(frozen=True, slots=True)
class Went:
    """How far it went. is_over: False hands the rest to `ainvoke(None)`, with `limit` as its recursion limit.

    interrupts: the graph waits on these.
    """

    values: Any
    is_over: bool = True
    interrupts: tuple[Interrupt, ...] = ()
    limit: int = 0


class Supersteps:
    """Drives one compiled graph for all runs of this process."""

    def __init__(self, plan: Plan, saver: FencedSaver, clock: Clock) -> None:
        self._plan = plan
        self._saver = saver
        self._clock = clock

    @classmethod
    def of(
        cls, graph: CompiledStateGraph[Any, Any, Any, Any], saver: FencedSaver, clock: Clock
    ) -> Supersteps | None:
        """The driver of a graph; None for one that goes by `ainvoke` alone."""
        plan = plan_of(graph)
        return cls(plan, saver, clock) if plan is not None else None

    async def run(self, run_id: UUID, given: Any, context: Any, recursion_limit: int) -> Went | None:
        """Drive an open run to its end, to a question, or to what must be handed over.

        given: a new thread's input, or None to go on. None: nothing was done, `ainvoke` takes the same entry.
        Raises what a node raised, GraphRecursionError, FenceLost.
        """
        stored = await self._saver.aget_tuple(_config(run_id))
        if (stored is None) == (given is None):
            return None  # an input for a thread that has begun, or nothing to go on with
        if stored is None:
            thread = Thread.begun(self._plan, run_id, given)
            await self._put(thread, "input", waits=True)
            thread.step += 1
            stop = recursion_limit
        else:
            found = Thread.found(self._plan, run_id, stored)
            if found is None:
                return None
            thread, stop = found, found.step + recursion_limit + 1
        token = var_child_runnable_config.set(None)
        try:
            return await self._drive(thread, context, stop)
        finally:
            var_child_runnable_config.reset(token)

    async def _drive(self, thread: Thread, context: Any, stop: int) -> Went:
        nodes = thread.triggered()
        while nodes:
            if thread.step > stop:
                raise GraphRecursionError(f"no end within {stop} supersteps")
            if len(nodes) > 1:
                break
            try:
                writes = await self._answer(thread, nodes[0], context, stop)
            except GraphInterrupt as interrupt:
                return Went(thread.read(self._plan.output), interrupts=tuple(interrupt.args[0]))
            thread.apply(nodes[0].name, nodes[0].triggers, writes)
            nodes = thread.triggered()
            # Before the first node nothing was done, after the last nothing is: those may wait.
            await self._put(thread, "loop", waits=thread.step == 0 or nodes == [])
            thread.step += 1
        limit = max(stop - thread.step - 1, 1)
        return Went(thread.read(self._plan.output), is_over=nodes == [], limit=limit)

    async def _put(self, thread: Thread, source: str, *, waits: bool) -> None:
        checkpoint = thread.checkpoint(self._clock.now())
        metadata = f'{{"source":"{source}","step":{thread.step},"parents":{{}}}}'
        await self._saver.put_superstep(thread.run_id, checkpoint, thread.parent, metadata, waits=waits)

    async def _answer(self, thread: Thread, node: NodePlan, context: Any, stop: int) -> list[Write]:
        """Run the node and tell what it writes. What it raises is left in graph state as LangGraph does."""
        given = thread.read(node.reads)
        if node.mapper is not None:
            given = node.mapper(given)
        if node.function is None:
            return node.writes(given)
        task_id = _task_id(thread, node)
        config = _task_config(thread, node, task_id, context, stop)
        var_child_runnable_config.set(config)
        try:
            if node.takes_runtime:
                answer = await node.function(given, runtime=config[CONF][CONFIG_KEY_RUNTIME])
            else:
                answer = await node.function(given)
            if isinstance(answer, Runnable):
                answer = await answer.ainvoke(given, config)
            return node.writes(answer)
        except GraphInterrupt as interrupt:
            if interrupt.args[0]:
                await self._note(thread, node, task_id, (INTERRUPT, interrupt.args[0]))
            raise
        except GraphBubbleUp:
            raise
        except Exception as error:
            await self._note(thread, node, task_id, (ERROR, error))
            raise

    async def _note(self, thread: Thread, node: NodePlan, task_id: str, write: Write) -> None:
        path = task_path_str((PULL, node.name))
        await self._saver.aput_writes(_config(thread.run_id, thread.id), [write], task_id, path)


def _config(run_id: UUID, checkpoint_id: str | None = None) -> RunnableConfig:
    return {"configurable": {"thread_id": str(run_id), "checkpoint_ns": "", "checkpoint_id": checkpoint_id}}


def _task_id(thread: Thread, node: NodePlan) -> str:
    """As LangGraph names the task: of the checkpoint it runs from, its place and its triggers."""
    name = node.name
    return _xxhash_str(UUID(thread.id).bytes, name, str(thread.step), name, PULL, *node.triggers)


def _no_resume(consume: bool = False) -> None:
    """There is no answer to a question here: a thread that has one is handed over."""


def _task_config(thread: Thread, node: NodePlan, task_id: str, context: Any, stop: int) -> RunnableConfig:
    """What `interrupt` and a node's Runtime read."""
    space = f"{node.name}:{task_id}"
    info = ExecutionInfo(
        checkpoint_id=thread.id, checkpoint_ns=space, task_id=task_id, thread_id=str(thread.run_id)
    )
    counter = LazyAtomicCounter
    scratchpad = PregelScratchpad(
        step=thread.step,
        stop=stop,
        call_counter=counter(),
        interrupt_counter=counter(),
        get_null_resume=_no_resume,
        resume=[],
        subgraph_counter=counter(),
    )
    return {
        "configurable": {
            "thread_id": str(thread.run_id),
            CONFIG_KEY_CHECKPOINT_NS: space,
            CONFIG_KEY_SCRATCHPAD: scratchpad,
            CONFIG_KEY_SEND: _refused_send,
            CONFIG_KEY_RUNTIME: Runtime(context=context, execution_info=info),
        }
    }


def _refused_send(writes: Any) -> None:
    raise RuntimeError("a node wrote past its answer")

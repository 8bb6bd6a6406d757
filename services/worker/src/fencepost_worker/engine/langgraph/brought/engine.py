"""The engine for brought graphs: LangGraph runs them, we hold the fence, the pauses and the end.

Boundaries are between supersteps: the stream tells of a superstep's tasks before any of them begins.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final, cast

from fencepost.graphs import HOST
from fencepost_domain.budget import BudgetExhausted
from fencepost_domain.errors import FencepostError
from fencepost_domain.termination import Standing, decide_termination
from fencepost_domain.vocabulary import Reason
from fencepost_runtime.logging import get_logger
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphRecursionError
from langgraph.types import Command, Interrupt, StateSnapshot

from fencepost_worker.engine.langgraph.adapter import outcome_of
from fencepost_worker.engine.langgraph.brought.compiled import Ready
from fencepost_worker.engine.langgraph.brought.host import ApprovalExpired, RunHost
from fencepost_worker.engine.langgraph.brought.messages import last_text, to_langchain
from fencepost_worker.engine.langgraph.brought.questions import (
    answer_for,
    is_task,
    ours,
    question_from,
)
from fencepost_worker.engine.langgraph.brought.saver import StateNotStorable
from fencepost_worker.engine.langgraph.brought.tools import act
from fencepost_worker.engine.langgraph.registry import Left
from fencepost_worker.engine.port import (
    Broken,
    Deferred,
    Finished,
    Lost,
    Outcome,
    Parked,
    Ports,
    Task,
    Waits,
    id_of,
)
from fencepost_worker.flow.finish import LONGEST_ANSWER
from fencepost_worker.flow.state import State
from fencepost_worker.flow.wording import explain

log = get_logger(__name__)


class PauseSwallowed(FencepostError):
    """A node caught the exception with which the tool node pauses, and went on without an answer."""

    code = "pause_swallowed"


class BroughtEngine:
    """One per process. `ready`: the graphs this worker serves."""

    def __init__(self, ready: Sequence[Ready]) -> None:
        self._ready: Final = {one.definition.fingerprint(): one for one in ready}

    async def execute(self, task: Task, ports: Ports) -> Outcome:
        """See engine.port."""
        ready = self._ready[task.facts.definition.fingerprint()]
        run_id = task.fence.run_id
        ready.saver.open_run(task.fence, fresh=task.fresh)
        message_id = str(id_of(f"{run_id}:answer"))
        loop = asyncio.get_running_loop()
        history = await ports.history()
        host = RunHost(task.facts, ports, message_id, history, loop, act)
        token = HOST.set(host)
        try:
            outcome = await _Run(ready, task, ports, host).go()
            if not isinstance(outcome, Lost):
                await ready.saver.settle(run_id)
            return outcome
        except Exception as error:
            outcome = _outcome_of(host.failed or error, task, host.failing)
            if not isinstance(outcome, Lost):
                await ready.saver.settle(run_id)
            return outcome
        finally:
            HOST.reset(token)
            ready.saver.close_run(run_id)


class _Run:
    """One execution of one run."""

    def __init__(self, ready: Ready, task: Task, ports: Ports, host: RunHost) -> None:
        self._ready, self._task, self._ports, self._host = ready, task, ports, host
        self._graph = ready.graph
        self._config: RunnableConfig = {
            "configurable": {"thread_id": str(task.fence.run_id)},
            "recursion_limit": task.facts.definition.limits.recursion,
            "callbacks": [],
        }

    async def go(self) -> Outcome:
        """From the input, or from where the thread stands, until the graph leaves."""
        entry: Any = None
        stood = None if self._task.fresh else await self._standing()
        if stood is None:
            entry = await self._input()
        elif stood.interrupts:
            asked = await self._asked(stood.interrupts)
            if not isinstance(asked, Mapping):
                return asked
            entry = Command(resume=dict(asked)) if asked else None
        elif not stood.tasks:
            return await self._finished(stood.values)
        while True:
            await self._drive(entry)
            left = await self._standing()
            if left is None or not left.interrupts:
                return await self._finished(left.values if left is not None else {})
            asked = await self._asked(left.interrupts)  # a simulation knows the answers already
            if not isinstance(asked, Mapping):
                return asked
            if not asked and any(is_task(one) for one in left.interrupts):
                return Waits()
            entry = Command(resume=dict(asked)) if asked else None

    async def _standing(self) -> StateSnapshot | None:
        """Where the thread stands; None where it has no checkpoint yet."""
        stood = await self._graph.aget_state(self._config)
        return stood if stood.metadata is not None else None

    async def _input(self) -> Any:
        made = self._ready.brought.to_state
        if made is not None:
            state = made(self._host.run_input())
            return await state if inspect.isawaitable(state) else state
        said = [*to_langchain(self._host.history), HumanMessage(self._task.facts.text)]
        return {"messages": said}

    # ── driving ─────────────────────────────────────────────────────────────────────────────────────

    async def _drive(self, entry: Any) -> None:
        """Superstep by superstep. Raises what a node raised, PauseAsked, FenceLost, StateNotStorable."""
        running: set[str] = set()  # tasks of the graph itself that are at work
        stream = self._graph.astream(
            entry,
            self._config,
            context=self._ready.brought.context,
            stream_mode="tasks",
            subgraphs=True,
            durability="sync",
        )
        async with aclosing(cast(Any, stream)) as told:
            async for space, event in told:
                if "triggers" in event:
                    await self._boundary(space, event, running)
                else:
                    self._look_at(event)
                    if not space:
                        running.discard(event["id"])
        if self._host.failed is not None:
            raise self._host.failed

    async def _boundary(self, space: Sequence[str], event: Mapping[str, Any], running: set[str]) -> None:
        """Before a task of the graph, and of a subgraph where nothing else would be cut off."""
        if not space:
            await self._ports.boundary(event["name"])
            running.add(event["id"])
        elif len(running) <= 1:
            await self._ports.boundary(event["name"])

    def _look_at(self, event: Mapping[str, Any]) -> None:
        """A task that ended well though it was told to stop, or to wait, has caught what it must not."""
        if event.get("error"):
            self._host.failing = event["name"]
        if event.get("error") or event.get("interrupts"):
            return
        if self._host.failed is not None:
            raise self._host.failed
        if event["id"] in self._host.asked:
            tool = self._host.asked[event["id"]]
            raise PauseSwallowed(
                f"node {event['name']!r} caught the pause with which {tool} asks a person: let GraphInterrupt"
                " (langgraph.errors) through, `except Exception` catches it too"
            )

    # ── pauses ──────────────────────────────────────────────────────────────────────────────────────

    async def _asked(self, pending: Sequence[Interrupt]) -> Outcome | dict[str, Any]:
        """The next question, or an answer for each of the author's pauses, by its id."""
        answers: dict[str, Any] = {}
        for one in pending:
            if is_task(one):
                continue  # its step commits again, and hears what became of it
            question = ours(one)
            is_ours = question is not None
            if question is None:
                [number] = await self._ports.number("question", one.id, 1)
                question = question_from(one, number)
            answer = await self._ports.answer_to(question)
            if answer is None:
                return Parked(question)
            if is_ours:
                continue  # its step looks it up by itself
            if answer["status"] != "resolved":
                return self._ended(Standing(approval_expired=True), "")
            answers[one.id] = answer_for(question, answer["resolution"])
        return answers

    # ── the end ─────────────────────────────────────────────────────────────────────────────────────

    async def _finished(self, values: Any) -> Finished:
        text, left_undone = await self._said(values)
        if not text.strip():
            failed = Standing(failure=Reason.QUALITY_FAILED, failure_code="no_answer")
            return self._ended(failed, "")
        return self._ended(Standing(answered=True, left_undone=left_undone), text, left_undone)

    async def _said(self, values: Any) -> tuple[str, tuple[str, ...]]:
        made = self._ready.brought.from_state
        if made is None:
            messages = values.get("messages") if isinstance(values, Mapping) else None
            return last_text(messages or ()), ()
        said = made(values)
        said = await said if inspect.isawaitable(said) else said
        if isinstance(said, Mapping):
            return str(said.get("text") or ""), tuple(str(one) for one in said.get("left_undone") or ())
        return str(said or ""), ()

    def _ended(self, standing: Standing, text: str, left_undone: Sequence[str] = ()) -> Finished:
        return ended(standing, text, left_undone, self._task.facts.locale, self._host.message_id)


def ended(
    standing: Standing, text: str, left_undone: Sequence[str], locale: str, message_id: str
) -> Finished:
    """A proposal; what is stored of the run's effects still overrules it."""
    ending = decide_termination(standing)
    explanation = explain(ending, locale)
    proposal = {
        "status": str(ending.status),
        "reason": str(ending.reason),
        "code": ending.code,
        "text": (text or explanation)[:LONGEST_ANSWER],
        "explanation": explanation,
        "left_undone": list(left_undone),
    }
    return Finished(proposal, cast(State, {"message_id": message_id}))


def _outcome_of(error: Exception, task: Task, node: str) -> Outcome:
    """What an exception means for the run; those of an author's code are a failed step, tried again.

    node: the one that failed last, '' where none did.
    """
    error = error.cause if isinstance(error, Left) else error
    match error:
        case ApprovalExpired():
            message_id = str(id_of(f"{task.fence.run_id}:answer"))
            return ended(Standing(approval_expired=True), "", (), task.facts.locale, message_id)
        case BudgetExhausted():
            return Broken(Reason.BUDGET_EXHAUSTED, error.limit, str(error))
        case PauseSwallowed() | StateNotStorable():
            log.error("graph.faulty", module=task.facts.module, code=error.code, detail=str(error))
            return Broken(Reason.REQUIRED_TASK_FAILED, error.code, str(error))
        case GraphRecursionError():
            return Broken(Reason.NO_PROGRESS, "recursion_limit", "the graph made too many steps")
        case FencepostError():
            return outcome_of(error)
        case _:
            log.error("step.failed", node=node, exc_info=error)
            return Deferred(
                "step_failed", f"{type(error).__name__} in node {node}" if node else type(error).__name__
            )

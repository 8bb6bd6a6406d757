"""A graph engine without LangGraph: runs a definition's nodes one after another and keeps their patches in
memory. It passes the same suite, which shows what the port promises and what is only LangGraph's habit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import UUID

from fencepost_contracts.graphs import GraphDefinition
from fencepost_domain.errors import FencepostError
from fencepost_worker.engine.langgraph.adapter import outcome_of
from fencepost_worker.engine.port import (
    Broken,
    Finished,
    Outcome,
    Parked,
    Ports,
    Rerouted,
    Task,
    check_definition,
    model_key,
)
from fencepost_worker.flow.state import FRESH, State
from fencepost_worker.flow.step import Facts, NodeFunction, Question


class Pausing(Exception):
    def __init__(self, question: Question) -> None:
        self.question = question


@dataclass(slots=True)
class ScriptedStep:
    facts: Facts
    ports: Ports
    checkpoint_id: str
    node: str
    answer: Mapping[str, Any] | None = None
    calls: int = 0

    def new_id(self) -> UUID:
        return self.ports.new_id()

    async def ask_model(self, context: Any, messages: Any, tools: Any, message_id: str) -> Any:
        key = model_key(self.facts.run_id, self.checkpoint_id, self.node, n=self.calls)
        self.calls += 1
        return await self.ports.ask_model(key, context, messages, tools, message_id)

    async def conversation_state(self, *, acted: bool) -> Any:
        return await self.ports.conversation_state(acted=acted)

    async def history(self) -> Any:
        return await self.ports.history()

    async def prepare(self, calls: Any) -> Any:
        return await self.ports.prepare(calls)

    async def commit(self, index: int, n: int, token_id: UUID) -> Any:
        return await self.ports.commit(index, n, token_id)

    async def note_refusals(self, refusals: Sequence[Mapping[str, Any]]) -> None:
        key = model_key(self.facts.run_id, self.checkpoint_id, self.node)
        await self.ports.note_refusals(key, refusals)

    def pause(self, question: Question) -> Mapping[str, Any]:
        if self.answer is None:
            raise Pausing(question)
        return self.answer


@dataclass(slots=True)
class Thread:
    """A run's graph state: what LangGraph keeps in checkpoints."""

    state: State
    node: str
    steps: int = 0
    pending: Question | None = None


@dataclass(slots=True)
class ScriptedEngine:
    nodes: Mapping[str, Mapping[str, NodeFunction]]
    threads: dict[UUID, Thread] = field(default_factory=dict)

    async def execute(self, task: Task, ports: Ports) -> Outcome:
        try:
            return await self._run(task, ports)
        except (FencepostError, RuntimeError) as error:
            return outcome_of(error)

    async def _run(self, task: Task, ports: Ports) -> Outcome:
        definition: GraphDefinition = task.facts.definition
        nodes = self.nodes[definition.name]
        check_definition(definition, nodes)
        thread = self.threads.get(task.facts.run_id)
        if thread is None or thread.state.get("module") not in ("", task.facts.module):
            thread = self.threads[task.facts.run_id] = Thread(cast(State, dict(FRESH)), definition.entry)
        answer: Mapping[str, Any] | None = None
        if thread.pending is not None:
            answer = await ports.answer_to(thread.pending)
            if answer is None:
                return Parked(thread.pending)
        while thread.node != "end":
            if thread.steps >= definition.limits.recursion:
                return Broken("no_progress", "recursion_limit", "")
            await ports.boundary(thread.node)
            step = ScriptedStep(task.facts, ports, f"step-{thread.steps}", thread.node, answer)
            try:
                patch = await nodes[thread.node](thread.state, step)
            except Pausing as pausing:
                thread.pending = pausing.question
                return Parked(pausing.question)
            if patch.get("route") not in definition.nodes[thread.node].edges:
                raise RuntimeError(f"illegal route {patch.get('route')}")
            answer, thread.pending = None, None
            thread.state = cast(State, {**thread.state, **patch})
            thread.node = patch["route"]
            thread.steps += 1
        ending = thread.state["ending"]
        return Rerouted(ending["reroute"]) if "reroute" in ending else Finished(ending, thread.state)

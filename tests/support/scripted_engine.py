"""A graph engine without LangGraph: runs a definition's nodes one after another and keeps their patches in
memory. It passes the same suite, which shows what the port promises and what is only LangGraph's habit."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import UUID

from fencepost_contracts.graphs import GraphDefinition
from fencepost_domain.errors import FencepostError
from fencepost_domain.vocabulary import Ev
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
    nodes_of,
)
from fencepost_worker.flow.contracts import ContractBroken, branches_of, kept, run_node
from fencepost_worker.flow.reducers import merged
from fencepost_worker.flow.siblings import Siblings
from fencepost_worker.flow.state import FRESH, Patch, State
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
    branch: str = "0"
    calls: int = 0
    siblings: Siblings = field(default_factory=Siblings)

    def new_id(self) -> UUID:
        return self.ports.new_id()

    async def ask_model(self, context: Any, messages: Any, tools: Any, message_id: str) -> Any:
        return await self.ask_role("module", context, messages, tools, message_id)

    async def ask_role(self, role: str, context: Any, messages: Any, tools: Any, message_id: str = "") -> Any:
        key = model_key(self.facts.run_id, self.checkpoint_id, self.node, self.branch, self.calls)
        self.calls += 1
        return await self.ports.ask_model(key, context, messages, tools, message_id, role)

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

    async def note(self, kind: Ev, place: str, payload: Mapping[str, Any]) -> None:
        key = model_key(self.facts.run_id, self.checkpoint_id, self.node, self.branch)
        await self.ports.note(f"{key}:{kind}:{place}", kind, payload)

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
    branches: tuple[str, list[State]] | None = None
    written: dict[int, Patch] = field(default_factory=dict)


@dataclass(slots=True)
class ScriptedEngine:
    nodes: Mapping[str, Mapping[str, NodeFunction]]
    threads: dict[UUID, Thread] = field(default_factory=dict)

    async def execute(self, task: Task, ports: Ports) -> Outcome:
        try:
            return await self._run(task, ports)
        except (FencepostError, RuntimeError, ContractBroken) as error:
            return outcome_of(error)

    async def _run(self, task: Task, ports: Ports) -> Outcome:
        definition: GraphDefinition = task.facts.definition
        nodes = nodes_of(self.nodes, definition)
        check_definition(definition, nodes)
        thread = self.threads.get(task.facts.run_id)
        if thread is None or thread.state.get("module") not in ("", task.facts.module):
            thread = self.threads[task.facts.run_id] = Thread(cast(State, dict(FRESH)), definition.entry)
        answer: Mapping[str, Any] | None = None
        if thread.pending is not None:
            answer = await ports.answer_to(thread.pending)
            if answer is None:
                return Parked(thread.pending)
        if thread.branches is not None:
            await self._branches(thread, task, ports)
        while thread.node != "end":
            if thread.steps >= definition.limits.recursion:
                return Broken("no_progress", "recursion_limit", "")
            await ports.boundary(thread.node)
            step = ScriptedStep(task.facts, ports, f"step-{thread.steps}", thread.node, answer)
            try:
                node = definition.nodes[thread.node]
                patch = await run_node(thread.node, node, nodes[thread.node], thread.state, step)
            except Pausing as pausing:
                thread.pending = pausing.question
                return Parked(pausing.question)
            answer, thread.pending = None, None
            thread.branches = branches_of(definition, thread.node, patch, thread.state)
            self._go_on(thread, [patch])
            if thread.branches is not None:
                await self._branches(thread, task, ports)
        ending = thread.state["ending"]
        return Rerouted(ending["reroute"]) if "reroute" in ending else Finished(ending, thread.state)

    def _go_on(self, thread: Thread, patches: Sequence[Patch]) -> None:
        for patch in patches:
            thread.state = merged(thread.state, kept(patch))
            thread.node = patch["route"]
        thread.steps += 1

    async def _branches(self, thread: Thread, task: Task, ports: Ports) -> None:
        """One superstep of several tasks: what each wrote is kept when it ends, the others run again."""
        assert thread.branches is not None
        name, states = thread.branches
        definition, siblings = task.facts.definition, Siblings()
        function = nodes_of(self.nodes, definition)[name]

        async def one(place: int, state: State) -> None:
            await ports.boundary(name)
            branch = str(state["batch"].get("index", 0))
            step = ScriptedStep(
                task.facts, ports, f"step-{thread.steps}", name, branch=branch, siblings=siblings
            )
            thread.written[place] = await run_node(name, definition.nodes[name], function, state, step)

        left = [(place, state) for place, state in enumerate(states) if place not in thread.written]
        ended = await asyncio.gather(*(one(*each) for each in left), return_exceptions=True)
        for error in ended:
            if isinstance(error, BaseException):
                raise error
        written = [thread.written[place] for place in sorted(thread.written)]
        thread.branches, thread.written = None, {}
        self._go_on(thread, written)

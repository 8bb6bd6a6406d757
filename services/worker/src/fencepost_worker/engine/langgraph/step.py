"""A node's Step on LangGraph: ports of the run, keyed by the checkpoint the node runs from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import UUID

from fencepost_contracts.tools import CommitAnswer, PrepareAnswer, PrepareCall
from fencepost_domain.vocabulary import Ev
from langgraph.types import interrupt

from fencepost_worker.engine.port import Ports, model_key
from fencepost_worker.flow.siblings import Siblings
from fencepost_worker.flow.step import Facts, Question
from fencepost_worker.models.port import Answer, Message, ModelContext, ToolSpec


@dataclass(frozen=True, slots=True)
class Context:
    """LangGraph's runtime context of one execution: one compiled graph serves all runs by it.

    fans: branches in work, by the checkpoint they were sent from.
    """

    facts: Facts
    ports: Ports
    fans: dict[str, Siblings] = field(default_factory=dict)


@dataclass(slots=True)
class LangGraphStep:
    """Implements flow.step.Step. `calls` counts the model calls of this execution of the node."""

    context: Context
    checkpoint_id: str
    node: str
    branch: str = "0"
    calls: int = 0

    @property
    def facts(self) -> Facts:
        return self.context.facts

    def new_id(self) -> UUID:
        return self.context.ports.new_id()

    async def ask_model(
        self, context: ModelContext, messages: Sequence[Message], tools: Sequence[ToolSpec], message_id: str
    ) -> Answer:
        return await self.ask_role("module", context, messages, tools, message_id)

    async def ask_role(
        self,
        role: str,
        context: ModelContext,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        message_id: str = "",
    ) -> Answer:
        key = model_key(self.facts.run_id, self.checkpoint_id, self.node, self.branch, self.calls)
        self.calls += 1
        return await self.context.ports.ask_model(key, context, messages, tools, message_id, role)

    @property
    def siblings(self) -> Siblings:
        return self.context.fans.setdefault(f"{self.checkpoint_id}:{self.node}", Siblings())

    async def history(self) -> tuple[Message, ...]:
        return await self.context.ports.history()

    async def conversation_state(self, *, acted: bool) -> Mapping[str, Any]:
        return await self.context.ports.conversation_state(acted=acted)

    async def prepare(self, calls: Sequence[PrepareCall]) -> PrepareAnswer:
        return await self.context.ports.prepare(calls)

    async def commit(self, index: int, n: int, token_id: UUID) -> CommitAnswer:
        return await self.context.ports.commit(index, n, token_id)

    async def note_refusals(self, refusals: Sequence[Mapping[str, Any]]) -> None:
        key = model_key(self.facts.run_id, self.checkpoint_id, self.node, self.branch)
        await self.context.ports.note_refusals(key, refusals)

    async def note(self, kind: Ev, place: str, payload: Mapping[str, Any]) -> None:
        key = model_key(self.facts.run_id, self.checkpoint_id, self.node, self.branch)
        await self.context.ports.note(f"{key}:{kind}:{place}", kind, payload)

    def pause(self, question: Question) -> Mapping[str, Any]:
        """LangGraph's interrupt is an exception that must leave the node; its id is not ours to use."""
        return cast(Mapping[str, Any], interrupt(question.to_json()))

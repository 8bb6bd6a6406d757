"""What a node may use: facts of the run, and the ports its declaration names. No engine is visible here.

A node is an async function of (state, step) that returns a patch. It may start again from its first line
after a crash or a pause, so whatever it does goes through a port that knows its key.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from fencepost_contracts.graphs import Definition, GraphDefinition, Manifest
from fencepost_contracts.tools import Catalog, CommitAnswer, PrepareAnswer, PrepareCall, Refusal
from fencepost_domain.errors import FencepostError
from fencepost_domain.fence import Fence
from fencepost_domain.vocabulary import Ev, InterruptKind

from fencepost_worker.flow.siblings import Siblings
from fencepost_worker.flow.state import Patch, State
from fencepost_worker.models.port import Answer, Message, ModelContext, ToolSpec


@dataclass(frozen=True, slots=True)
class Facts:
    """What doesn't change while a run is executed. reference: its creation, from which "tomorrow" counts.

    ordered: the one call that this run was made to do, `{tool, arguments}`; no model is asked what to do.
    """

    run_id: UUID
    module: str
    text: str
    locale: str
    zone: str | None
    currency: str
    reference: datetime
    definition: Definition
    manifest: Manifest
    catalog: Catalog | None
    modules: tuple[str, ...] = ()
    rerouted: bool = False
    budget: Mapping[str, Any] | None = None
    attachments: tuple[str, ...] = ()
    ordered: Mapping[str, Any] | None = None

    @property
    def graph(self) -> GraphDefinition:
        """The definition, where it is one of ours. Raises TypeError for an author's."""
        if not isinstance(self.definition, GraphDefinition):
            raise TypeError(f"{self.definition.name} {self.definition.version} is no graph of ours")
        return self.definition


@dataclass(frozen=True, slots=True)
class Question:
    """What a person is asked. (kind, index, n) is its key: asked again after a crash, it is the same one.

    actions: (index, n) of each action to be decided. expires_at: None for the default of a week.
    """

    kind: InterruptKind
    index: int
    n: int
    text: str
    actions: tuple[tuple[int, int], ...] = ()
    candidates: tuple[Mapping[str, Any], ...] = ()
    input_schema: Mapping[str, Any] | None = None
    preview: Any = None
    change: Any = None
    risk: str | None = None
    expires_at: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": str(self.kind),
            "index": self.index,
            "n": self.n,
            "text": self.text,
            "actions": [list(a) for a in self.actions],
            "candidates": [dict(c) for c in self.candidates],
            "input_schema": dict(self.input_schema) if self.input_schema is not None else None,
            "preview": self.preview,
            "change": self.change,
            "risk": self.risk,
            "expires_at": self.expires_at,
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Question:
        return cls(
            InterruptKind(body["kind"]),
            body["index"],
            body["n"],
            body["text"],
            tuple((a[0], a[1]) for a in body["actions"]),
            tuple(body["candidates"]),
            body["input_schema"],
            body["preview"],
            body["change"],
            body["risk"],
            body["expires_at"],
        )


class GatewayRefused(FencepostError):
    """422: one call of the answer is refused, so none was prepared."""

    code = "calls_refused"

    def __init__(self, refusals: Sequence[Refusal]) -> None:
        self.refusals = tuple(refusals)
        super().__init__("; ".join(f"{r.tool}{r.pointer}: {r.detail}" for r in refusals))


class GatewayConflict(FencepostError):
    """409: the action is in a state that excludes this. `code` is one of the contract's.

    effect: of `reconcile`, whose outcome has to be settled first: {effect_key, run_id, state, attempts}.
    """

    code = "conflict"

    def __init__(self, code: str, detail: str, effect: Mapping[str, Any] | None = None) -> None:
        self.code = code  # type: ignore[misc]  # finer than the class: the instance's word wins
        self.effect = dict(effect or {})
        super().__init__(detail)


class EffectInProgress(FencepostError):
    """202 for longer than a claim waits: the run lets go and asks again later, at no cost of an attempt."""

    code = "effect_in_progress"
    retryable = True

    def __init__(self, wait_seconds: float) -> None:
        self.wait_seconds = wait_seconds
        super().__init__("an effect of this run is being settled")


class TaskRunning(FencepostError):
    """The tool accepted a task: the run waits, unexecuted, and commits again when it is over."""

    code = "task_running"

    def __init__(self) -> None:
        super().__init__("a tool works on a task of this run")


class Gateway(Protocol):
    """The tool-gateway as a run sees it, under its fence. Lost answers are repeated under the same key."""

    async def prepare(self, fence: Fence, calls: Sequence[PrepareCall]) -> PrepareAnswer:
        """Raises GatewayRefused, GatewayConflict, FenceLost, Unavailable."""
        ...

    async def commit(self, fence: Fence, index: int, n: int, token_id: UUID) -> CommitAnswer:
        """Raises GatewayConflict, FenceLost, Unavailable."""
        ...


class Step(Protocol):
    """The ports of one execution of one node."""

    @property
    def facts(self) -> Facts: ...

    def new_id(self) -> UUID:
        """A new id; what is kept of it goes into the patch."""
        ...

    async def ask_model(
        self, context: ModelContext, messages: Sequence[Message], tools: Sequence[ToolSpec], message_id: str
    ) -> Answer:
        """The module's model, through the ledger. Raises ModelFailed, BudgetExhausted."""
        ...

    async def ask_role(
        self,
        role: str,
        context: ModelContext,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        message_id: str = "",
    ) -> Answer:
        """A role's model, through the ledger and within the role's own limits. message_id: of the answer that
        is streamed to the user, where it is one. Raises ModelFailed, BudgetExhausted."""
        ...

    async def history(self) -> tuple[Message, ...]:
        """What was said before in the conversation, paired."""
        ...

    async def conversation_state(self, *, acted: bool) -> Mapping[str, Any]:
        """The conversation's present state. acted: this run may have written to it itself."""
        ...

    async def prepare(self, calls: Sequence[PrepareCall]) -> PrepareAnswer: ...

    async def commit(self, index: int, n: int, token_id: UUID) -> CommitAnswer: ...

    async def note_refusals(self, refusals: Sequence[Mapping[str, Any]]) -> None:
        """Append tool.refused events, once however often the node runs."""
        ...

    async def note(self, kind: Ev, place: str, payload: Mapping[str, Any]) -> None:
        """Append an event, once however often the node runs. place: tells it from this node's others."""
        ...

    @property
    def siblings(self) -> Siblings:
        """The branches beside this one; of a node that is none, a set of its own."""
        ...

    def pause(self, question: Question) -> Mapping[str, Any]:
        """The person's answer: `{status: resolved | expired, interrupt_id, resolution}`.

        Leaves the node when there is none yet; it starts again from its first line with the answer.
        """
        ...


NodeFunction = Callable[[State, Step], Awaitable[Patch]]

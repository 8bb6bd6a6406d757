"""The model port: one request, a stream of deltas, and no meaning yet.

A provider's adapter turns its wire into deltas and nothing more; what is complete and allowed is decided by
the assembler and the guard, so that every provider, the offline one too, passes through the same gate.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

from fencepost_domain.errors import FencepostError

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call as the model wrote it: complete, its arguments an object."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn. calls: of an assistant's turn. call_id: which call a tool's turn answers."""

    role: Role
    text: str = ""
    calls: tuple[Call, ...] = ()
    call_id: str | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """A question that was asked in this run and what the person said: a candidate's value, or their text."""

    slot: str
    question: str
    value: str | None = None
    text: str | None = None
    intent_index: int = 0


@dataclass(frozen=True, slots=True)
class ModelContext:
    """What the words mean: `reference` is the run's creation, the instant "tomorrow" counts from.

    text: the user's words of this run, which its answers complete. task: what a role other than the module's
    is given, the same facts as its messages say. built: what the messages were made of, by ids and hashes
    (`contexts.built`), for the log.
    """

    text: str
    reference: datetime
    zone: str | None
    locale: str
    currency: str
    module: str
    modules: tuple[str, ...] = ()
    may_hand_over: bool = False
    answers: tuple[Answered, ...] = ()
    task: Mapping[str, Any] | None = None
    built: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ToolSpec:
    name: str
    description: str
    schema: Mapping[str, Any]
    control: bool = False


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """key: of the ledger. messages: paired, always (I18). timeout_seconds: of the whole answer."""

    key: str
    role: str
    model: str
    context: ModelContext
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    max_output_tokens: int = 2048
    timeout_seconds: float = 120.0


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class CallDelta:
    """A piece of a tool call. arguments: a fragment of JSON text, or the whole object at once."""

    index: int | None = None
    id: str | None = None
    name: str | None = None
    arguments: str | Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class UsageDelta:
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class FinishDelta:
    reason: str


ModelDelta = TextDelta | CallDelta | UsageDelta | FinishDelta


class Model(Protocol):
    """A provider. `provider` and `name` are what its answers are labelled with."""

    provider: str
    name: str

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        """Deltas until the provider ends. Raises ProviderError; nothing is retried here."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete answer: text, calls, or both. `usage` zero when the provider told none."""

    text: str
    calls: tuple[Call, ...]
    finish: str
    input_tokens: int = 0
    output_tokens: int = 0

    def to_json(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "calls": [{"id": c.id, "name": c.name, "arguments": dict(c.arguments)} for c in self.calls],
            "finish": self.finish,
            "usage": {"input_tokens": self.input_tokens, "output_tokens": self.output_tokens},
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Answer:
        usage: Mapping[str, int] = body.get("usage", {})
        calls: Sequence[Mapping[str, Any]] = body["calls"]
        return cls(
            body["text"],
            tuple(Call(c["id"], c["name"], c["arguments"]) for c in calls),
            body["finish"],
            usage.get("input_tokens", 0),
            usage.get("output_tokens", 0),
        )


class ModelFailed(FencepostError):
    """An answer that can't be used. `partial`: text that came before, kept, never acted on.

    code: `protocol_error`, `incomplete`, `provider_error`, `timeout`, `unreachable`.
    retry_after: seconds the provider asked for.
    """

    def __init__(
        self,
        code: str,
        detail: str,
        retryable: bool = True,
        *,
        partial: str = "",
        provider_code: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        # Finer than the class: the instance's word wins.
        self.code = code  # type: ignore[misc]
        self.retryable = retryable  # type: ignore[misc]
        self.detail = detail
        self.partial = partial
        self.provider_code = provider_code
        self.retry_after = retry_after
        super().__init__(f"{code}: {detail}")

    def to_json(self) -> dict[str, Any]:
        body = {"code": self.code, "detail": self.detail[:500], "retryable": self.retryable}
        if self.partial:
            body["partial"] = self.partial
        if self.provider_code:
            body["provider_code"] = self.provider_code
        return body

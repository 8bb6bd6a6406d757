"""What events say of what was asked, sent and answered, inherited and erased: the log as evidence."""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

from fencepost_domain.vocabulary import RunMode

from fencepost_contracts.event_effects import Payload


class RunRequested(Payload):
    """Version 2 says what was asked, and from which run (`origin_*`) it was made, under which substitutes."""

    module: str
    mode: RunMode
    text: str | None = None
    locale: str | None = None
    zone: str | None = None
    currency: str | None = None
    origin_kind: Literal["retry", "fork", "simulation", "compensation"] | None = None
    origin_run_id: UUID | None = None
    origin_seq: int | None = None
    substitutes: dict[str, Any] | None = None


class ModelCalled(Payload):
    """A settled call of a model; late ones are billed and never used.

    Of a failed one: our code, the provider's, and whether trying again can help. Version 2 says what was
    sent and what came back: `input` names the messages by hash, `bodies` holds those no earlier event held.
    """

    call_id: UUID
    key: str
    attempt: int
    role: str
    provider: str
    model: str
    state: str
    late: bool
    input_tokens: int | None = None
    output_tokens: int | None = None
    code: str | None = None
    provider_code: str | None = None
    retryable: bool | None = None
    request_hash: str | None = None
    input: tuple[str, ...] | None = None
    bodies: dict[str, dict[str, Any]] | None = None
    reply: dict[str, Any] | None = None


class MessageCompleted(Payload):
    """Version 2 says the text."""

    message_id: UUID
    text: str | None = None


class FactInherited(Payload):
    """A result of another run's log that this run goes on from, or is simulated on; nothing was called.

    kind: `model` (reply), `action` (result or error), `answer` (a person's resolution). from_seq: its event
    there. `place` is the node's key, so that a step that runs again inherits the same.
    """

    kind: Literal["model", "action", "answer"]
    from_run_id: UUID
    from_seq: int | None = None
    place: str
    request_hash: str | None = None
    reply: dict[str, Any] | None = None
    index: int | None = None
    n: int | None = None
    tool: str | None = None
    arguments: dict[str, Any] | None = None
    arguments_hash: str | None = None
    effect_key: str | None = None
    result: Any = None
    error: Any = None
    question: str | None = None
    resolution: dict[str, Any] | None = None


class SimulationEnded(Payload):
    """How a simulation ended: with this answer, or `diverged` on what no log and no substitute knows."""

    outcome: Literal["completed", "diverged", "stopped"]
    text: str | None = None
    wanted: dict[str, Any] | None = None


class Erased(Payload):
    """Payloads and salts of `seqs` were removed; without any, of every event before this one."""

    by: str
    seqs: tuple[int, ...] = ()
    reason: str | None = None

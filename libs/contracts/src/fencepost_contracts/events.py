"""What each event of the log says: one payload model a type, of the version that is written today.

Older versions are read through `evidence.upcast`; what they didn't say is None.

Payloads are facts for readers of the log, of streams and of exports. A reader ignores members it doesn't
know (`parse`); writers are held to these models by `tests/contract` (`check`), so that a member is
added here first. Integers beyond 2^53 and amounts are strings.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

from fencepost_domain.vocabulary import (
    ActionStatus,
    EffectClass,
    Ev,
    InterruptKind,
    Reason,
    Risk,
    RunMode,
    RunStatus,
    WaitingOn,
)
from pydantic import ConfigDict, Field

from fencepost_contracts.event_effects import (
    ActionEnded,
    ActionUnknown,
    EffectDuplicated,
    EffectMoved,
    Payload,
)
from fencepost_contracts.event_state import ArtifactLost, StateChanged, StateRefused


class RunRequested(Payload):
    """Version 2 says what was asked, and from which run (`origin_*`) it was made, under which substitutes."""

    module: str
    mode: RunMode
    text: str | None = None
    locale: str | None = None
    zone: str | None = None
    currency: str | None = None
    origin_kind: Literal["retry", "fork", "simulation"] | None = None
    origin_run_id: UUID | None = None
    origin_seq: int | None = None
    substitutes: dict[str, Any] | None = None


class RunClaimed(Payload):
    """`owner`: slot and boot. `attempt` counts claims without progress since the last counted one."""

    owner: str
    attempt: int


class RunBound(Payload):
    graph: str
    manifest: str
    catalog: str | None


class RunDeferred(Payload):
    reason: str
    detail: str
    until: datetime


class RunWoken(Payload):
    by: str


class RunLeaseExpired(Payload):
    owner: str
    counts: bool


class RunRerouted(Payload):
    """From one module to another."""

    model_config = ConfigDict(frozen=True, extra="forbid", serialize_by_alias=True)

    left: str = Field(alias="from")  # a keyword of the language
    to: str


class RunPauseAsked(Payload):
    """`to` running: a mark for the owner; paused: at once."""

    to: Literal["running", "paused"]


class RunPaused(Payload):
    pass


class RunResumed(Payload):
    to: Literal["running", "waiting", "queued"]
    on: WaitingOn | None = None


class RunStopAsked(Payload):
    note: str | None = None


class RunHandoffAsked(Payload):
    """`assignee`: the user id of who is to go on, where one was named."""

    note: str
    assignee: str | None = None


class RunUnserved(Payload):
    """Nobody alive serves this graph version; it waits on `version`, with a question."""

    graph: str
    since: datetime


class RunRepaired(Payload):
    """An operator's repair: what was done and why; the run's status before (`was`) and after (`to`)."""

    verb: Literal["release_lease", "requeue", "expire_approval"]
    reason: str
    was: RunStatus
    to: RunStatus
    owner: str | None = None
    interrupt_id: UUID | None = None


class RunParked(Payload):
    """`woken_meanwhile`: it went to queued, because the answer came before it parked."""

    on: WaitingOn
    woken_meanwhile: bool


class RunFinalized(Payload):
    status: RunStatus
    reason: Reason
    code: str | None
    decided_by: str


class InterruptMoved(Payload):
    """Version 2 of opened and resolved says what was asked, under which key, and what was answered."""

    interrupt_id: UUID
    kind: InterruptKind
    index: int | None = None
    n: int | None = None
    question: str | None = None
    resolution: dict[str, Any] | None = None


class ActionPrepared(Payload):
    """With the arguments, by which a replay finds the frozen result of (tool, arguments hash)."""

    index: int
    n: int
    tool: str
    arguments: dict[str, Any]
    arguments_hash: str
    risk: Risk
    effect_class: EffectClass
    approval: bool
    status: ActionStatus
    token_id: UUID | None = None


class ActionMoved(Payload):
    """Withdrawn, rejected or started."""

    index: int
    n: int
    tool: str
    token_id: UUID | None = None
    attempt: int | None = None
    effect_key: str | None = None
    note: str | None = None


class ToolRefused(Payload):
    """A call that was not allowed; `pointer` into its arguments."""

    code: str
    tool: str
    pointer: str | None = None
    detail: str | None = None
    allowed: tuple[str, ...] = ()
    index: int | None = None


class TransitionRefused(Payload):
    event: str
    status: RunStatus


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


class NodeFailed(Payload):
    node: str
    error: str
    retryable: bool | None = None
    detail: str | None = None


class RecoveryChecked(Payload):
    """One check of the recovery gate."""

    check: str
    answer: Literal["ok", "repair", "wait", "human", "stop"]
    detail: str | None = None


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


PAYLOADS: Final[Mapping[Ev, type[Payload]]] = {
    Ev.RUN_REQUESTED: RunRequested,
    Ev.RUN_CLAIMED: RunClaimed,
    Ev.RUN_BOUND: RunBound,
    Ev.RUN_DEFERRED: RunDeferred,
    Ev.RUN_WOKEN: RunWoken,
    Ev.RUN_LEASE_EXPIRED: RunLeaseExpired,
    Ev.RUN_REROUTED: RunRerouted,
    Ev.RUN_PAUSE_ASKED: RunPauseAsked,
    Ev.RUN_PAUSED: RunPaused,
    Ev.RUN_RESUMED: RunResumed,
    Ev.RUN_CANCEL_ASKED: RunStopAsked,
    Ev.RUN_DEADLINE_PASSED: RunStopAsked,
    Ev.RUN_HANDOFF_ASKED: RunHandoffAsked,
    Ev.RUN_UNSERVED: RunUnserved,
    Ev.RUN_REPAIRED: RunRepaired,
    Ev.RUN_PARKED: RunParked,
    Ev.RUN_FINALIZED: RunFinalized,
    Ev.INTERRUPT_OPENED: InterruptMoved,
    Ev.INTERRUPT_RESOLVED: InterruptMoved,
    Ev.INTERRUPT_EXPIRED: InterruptMoved,
    Ev.INTERRUPT_WITHDRAWN: InterruptMoved,
    Ev.ACTION_PREPARED: ActionPrepared,
    Ev.ACTION_WITHDRAWN: ActionMoved,
    Ev.ACTION_REJECTED: ActionMoved,
    Ev.ACTION_STARTED: ActionMoved,
    Ev.ACTION_COMMITTED: ActionEnded,
    Ev.ACTION_FAILED: ActionEnded,
    Ev.ACTION_UNKNOWN: ActionUnknown,
    Ev.TOOL_REFUSED: ToolRefused,
    Ev.TRANSITION_REFUSED: TransitionRefused,
    Ev.MODEL_CALLED: ModelCalled,
    Ev.NODE_FAILED: NodeFailed,
    Ev.RECOVERY_CHECKED: RecoveryChecked,
    Ev.MESSAGE_COMPLETED: MessageCompleted,
    Ev.OBSERVED_LATE: ModelCalled,
    **dict.fromkeys(
        (
            Ev.EFFECT_ABSENT,
            Ev.EFFECT_NEEDS_HUMAN,
            Ev.EFFECT_OBSERVED,
            Ev.EFFECT_RESOLVED,
            Ev.EFFECT_COMPENSATING,
            Ev.EFFECT_COMPENSATED,
        ),
        EffectMoved,
    ),
    Ev.EFFECT_DUPLICATED: EffectDuplicated,
    Ev.FACT_INHERITED: FactInherited,
    Ev.SIMULATION_ENDED: SimulationEnded,
    Ev.ERASED: Erased,
    Ev.STATE_CHANGED: StateChanged,
    Ev.STATE_REFUSED: StateRefused,
    Ev.ARTIFACT_LOST: ArtifactLost,
}


def check(kind: str, payload: Mapping[str, Any]) -> Payload:
    """The payload as its type's model. Raises ValidationError, also on a member nobody declared."""
    return PAYLOADS[Ev(kind)].model_validate(dict(payload))


def parse(kind: str, payload: Mapping[str, Any]) -> Payload:
    """The same for readers: members that a newer writer added are left out."""
    model = PAYLOADS[Ev(kind)]
    known = {field.alias or name for name, field in model.model_fields.items()}
    return model.model_validate({name: value for name, value in payload.items() if name in known})

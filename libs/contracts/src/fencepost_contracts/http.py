"""The public HTTP API's shapes (design 05): requests strictly, answers as they are documented.

A request with a field nobody knows is refused: a misspelt `deadline_second` must not mean "no deadline".
Sizes are counted in characters; the whole body has a limit of its own (settings of the api).
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Generic, Literal, TypeVar
from uuid import UUID

from fencepost_domain.vocabulary import (
    ActionStatus,
    EffectClass,
    EffectState,
    InterruptKind,
    InterruptStatus,
    Reason,
    Risk,
    RunMode,
    RunStatus,
    WaitingOn,
)
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StrictInt, StringConstraints

MAX_TEXT: Final = 32_768  # characters of one request to an agent; a document is an attachment
MAX_NOTE: Final = 2_000
MAX_METADATA: Final = 16
LONGEST_DEADLINE_SECONDS: Final = 30 * 24 * 3600
LONGEST_WAIT_SECONDS: Final = 60  # of `Prefer: wait=N`
MAX_PAGE: Final = 200
IDEMPOTENCY_KEY_PATTERN: Final = r"[\x21-\x7e]{1,255}"
CANONICAL_UUID: Final = r"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"


def _only_text(value: object) -> object:
    """An id is written as one canonical string; braces, URNs, bytes and numbers are other spellings."""
    if isinstance(value, UUID):
        return value
    if not isinstance(value, str) or len(value) != 36:
        raise ValueError("expected a UUID in its canonical form")
    return value


Id = Annotated[UUID, BeforeValidator(_only_text)]
ModuleName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
Locale = Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$", max_length=35)]
Zone = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_+/-]{1,64}$")]
Currency = Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")]
Money = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,15}(\.[0-9]{1,6})?$")]
MetadataKey = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
MetadataValue = Annotated[str, StringConstraints(max_length=512)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=MAX_TEXT, pattern=r"\S")]
Note = Annotated[str, StringConstraints(max_length=MAX_NOTE)]
Count = Annotated[StrictInt, Field(ge=0, le=2**53 - 1)]
Choice = Literal["approve", "reject"]


class Wire(BaseModel):
    """A message: nothing is added on the way and nothing misspelt is ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid")


# ── requests ────────────────────────────────────────────────────────────────────────────────────────


class Budget(Wire):
    """Limits of one lineage of runs; a request may only lower what the tenant allows."""

    model_calls: Count | None = None
    actions: Count | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cost: Money | None = None


class RunInput(Wire):
    text: Text
    attachments: Annotated[tuple[Id, ...], Field(max_length=16)] = ()
    locale: Locale | None = None
    zone: Zone | None = None
    currency: Currency | None = None


class RunRequest(Wire):
    """POST /v1/runs. `module` absent: routed by the rules layer, unsure to `companion`."""

    module: ModuleName | None = None
    conversation_id: Id | None = None
    on_busy: Literal["enqueue", "reject", "cancel"] = "enqueue"
    input: RunInput
    metadata: Annotated[dict[MetadataKey, MetadataValue], Field(max_length=MAX_METADATA)] = Field(
        default_factory=dict
    )
    deadline_seconds: Annotated[StrictInt, Field(ge=1, le=LONGEST_DEADLINE_SECONDS)] | None = None
    budget: Budget | None = None
    definition: str | None = None
    continues: Id | None = None


class StopRequest(Wire):
    """POST /v1/runs/{id}/cancel, /pause, /resume; an empty body is fine too."""

    note: Note | None = None


class ActionDecision(Wire):
    """One action's decision. `arguments`: edited, which makes the editor their author."""

    index: Annotated[StrictInt, Field(ge=0, le=1_000_000)]
    decision: Choice
    arguments: dict[str, Any] | None = None
    note: Note | None = None


class ResolutionRequest(Wire):
    """POST /v1/interrupts/{id}/resolution: what fits the interrupt's kind, and nothing else.

    approval: `decision` (with `arguments`, `note`, `remember`) or `decisions`, one an action.
    input: exactly one of `choice` (a candidate's id), `value` (by its `input_schema`), `text`.
    """

    decision: Choice | None = None
    decisions: Annotated[tuple[ActionDecision, ...], Field(min_length=1, max_length=16)] | None = None
    arguments: dict[str, Any] | None = None
    note: Note | None = None
    remember: StrictBool | None = None
    choice: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = None
    value: Any | None = None
    text: Text | None = None


class ApprovalSettings(Wire):
    four_eyes: Annotated[tuple[Risk, ...], Field(max_length=3)] | None = None
    expires_in_seconds: Annotated[StrictInt, Field(ge=60, le=LONGEST_DEADLINE_SECONDS)] | None = None


class SettingsPatch(Wire):
    """PATCH /v1/settings as a merge patch: null takes a value back to the one above (tenant, default)."""

    zone: Zone | None = None
    locale: Locale | None = None
    currency: Currency | None = None
    approval: ApprovalSettings | None = None
    budgets: Budget | None = None


class TicketRequest(Wire):
    path: Annotated[str, StringConstraints(pattern=r"^/v1/[A-Za-z0-9/_.-]{1,200}$")]


class IntentRequest(Wire):
    """The same as a line of `fencepost intent --batch`."""

    text: Text
    reference: datetime | None = None
    zone: Zone | None = None
    locale: Locale | None = None
    currency: Currency | None = None
    id: Annotated[str, StringConstraints(max_length=200)] | None = None


# ── answers ─────────────────────────────────────────────────────────────────────────────────────────


class ProblemError(Wire):
    """One thing that is wrong. `pointer`: a JSON pointer into the body; `parameter`: of the query."""

    code: str
    detail: str
    pointer: str | None = None
    parameter: str | None = None


class Problem(BaseModel):
    """RFC 9457. `code` is stable and for machines; members beside these belong to the code."""

    model_config = ConfigDict(frozen=True, extra="allow")

    type: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str
    errors: tuple[ProblemError, ...] = ()


Item = TypeVar("Item")


class Page(Wire, Generic[Item]):
    """A part of a list, newest first unless said otherwise. `next_cursor` is opaque; null: that was all."""

    items: tuple[Item, ...]
    next_cursor: str | None


class Candidate(Wire):
    id: str
    label: str
    value: Any = None


class InterruptView(Wire):
    """What a person is asked. Without the conversation, so that an approver may see it."""

    id: UUID
    run_id: UUID
    kind: InterruptKind
    status: InterruptStatus
    question: str
    candidates: tuple[Candidate, ...]
    input_schema: dict[str, Any] | None
    indexes: tuple[int, ...]
    preview: Any
    change: Any
    risk: Risk | None
    requested_by: str
    opened_at: datetime
    expires_at: datetime
    resolution: dict[str, Any] | None
    resolved_by: str | None
    resolved_at: datetime | None


class ActionView(Wire):
    """`effect` is the state of its effect, null before one was opened."""

    index: int
    n: int
    tool: str
    risk: Risk
    status: ActionStatus
    arguments: dict[str, Any]
    effect_class: EffectClass
    effect: EffectState | None
    effect_key: str | None
    result: Any
    decision: Choice | None
    decided_by: str | None


class Cost(Wire):
    value: str
    currency: str


class Usage(Wire):
    model_calls: int
    input_tokens: int
    output_tokens: int
    cost: Cost


class Bound(Wire):
    graph: str | None
    manifest: str | None
    catalog: str | None


class Output(Wire):
    message_id: UUID
    text: str
    artifacts: tuple[Any, ...]


class FinalizationView(Wire):
    status: RunStatus
    reason: Reason
    code: str | None
    node: str | None
    explanation: str
    decided_by: str
    at: datetime
    evidence: dict[str, Any]
    left_undone: tuple[Any, ...]
    unconfirmed_effects: tuple[Any, ...]
    usage: dict[str, Any]


class RunView(Wire):
    """A run as it is now."""

    id: UUID
    status: RunStatus
    waiting_on: WaitingOn | None
    module: str
    mode: RunMode
    user_id: str
    conversation_id: UUID
    metadata: dict[str, str]
    attempt: int
    pause_asked: bool
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    deadline_at: datetime | None
    event_seq: int
    input: dict[str, Any]
    output: Output | None
    interrupt: InterruptView | None
    plan: Any
    task_contract: Any
    quality_reports: tuple[Any, ...]
    actions: tuple[ActionView, ...]
    artifacts: tuple[Any, ...]
    usage: Usage
    bound: Bound
    recovery_checks: tuple[Any, ...]
    fork_points: tuple[int, ...]
    finalization: FinalizationView | None


class EventView(Wire):
    """One event of the log. `erased`: payload and salt were removed, the chain still verifies."""

    seq: int
    id: UUID
    type: str
    schema_version: int
    actor: str
    at: datetime
    causation_id: UUID | None
    correlation_id: UUID | None
    payload: dict[str, Any] | None
    erased: bool
    salt: str | None
    payload_hash: str
    prev_hash: str
    hash: str


class ConversationView(Wire):
    id: UUID
    user_id: str
    title: str
    holder_run_id: UUID | None
    created_at: datetime
    updated_at: datetime


class MessageView(Wire):
    id: UUID
    conversation_id: UUID
    seq: int
    run_id: UUID | None
    author: Literal["user", "assistant", "reminder"]
    text: str
    artifacts: tuple[Any, ...]
    created_at: datetime


class ModuleView(Wire):
    """A module by its newest published catalog. `served`: a worker for it is alive."""

    name: str
    version: str
    fingerprint: str
    tools: int
    served: bool


class SettingsView(Wire):
    zone: str | None
    locale: str | None
    currency: str | None
    approval: dict[str, Any]
    budgets: dict[str, Any]


class TicketView(Wire):
    ticket: str
    expires_at: datetime

"""What the public HTTP API answers (design 05): runs, questions, lists, problems.

A client reads past members it doesn't know; the api is held to these shapes by `tests/contract`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Generic, Literal, TypeVar
from uuid import UUID

from fencepost_domain.vocabulary import (
    ActionStatus,
    EffectClass,
    EffectState,
    Reason,
    Risk,
    RunMode,
    RunStatus,
    WaitingOn,
)
from pydantic import BaseModel, ConfigDict

from fencepost_contracts.http import Choice, Wire
from fencepost_contracts.http_admin import HandoffView
from fencepost_contracts.http_approvals import InterruptView


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
    grant_id: UUID | None = None


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


class OriginView(Wire):
    """The run this one was made from: `retry`, `fork` at a seq, or `simulation`."""

    kind: str
    run_id: UUID
    at_seq: int | None


class Partial(Wire):
    """What the model had written when the run was stopped or the call failed: shown, never acted on."""

    text: str
    at: datetime | None


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
    partial: Partial | None = None
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
    origin: OriginView | None = None
    continues: UUID | None
    handoff: HandoffView | None
    degraded: tuple[Any, ...] = ()  # `{artifact_id, reason}`: files of the run that are lost
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


class ReplayView(Wire):
    """Diagnostic replay: a fold of the log up to `at_seq`. `degraded`: something it reads was erased."""

    run_id: UUID
    view: str
    at_seq: int
    head_seq: int
    degraded: bool
    result: Any


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


class ToolsView(Wire):
    """A module's tools as published (fencepost_contracts.tools.Tool)."""

    module: str
    version: str
    fingerprint: str
    items: tuple[dict[str, Any], ...]
    next_cursor: str | None


class IntentView(BaseModel):
    """The intent result (design 05, "Intent result"); slots and times have a shape by kind."""

    model_config = ConfigDict(frozen=True, extra="allow")

    intent: str
    confidence: float
    fallback_required: bool
    required_slots: tuple[str, ...]
    risk_level: str
    layer: str
    version: str
    slots: dict[str, Any]
    intents: tuple[dict[str, Any], ...]
    times: tuple[dict[str, Any], ...]
    amounts: tuple[dict[str, Any], ...]

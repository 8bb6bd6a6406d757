"""What the public HTTP API takes (design 05), strictly; what it answers is in `http_views`.

A request with a field nobody knows is refused: a misspelt `deadline_second` must not mean "no deadline".
Sizes are counted in characters; the whole body has a limit of its own (settings of the api).
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from fencepost_domain.vocabulary import Risk
from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictInt,
    StringConstraints,
)

MAX_TEXT: Final = 32_768  # characters of one request to an agent; a document is an attachment
MAX_NOTE: Final = 2_000
MAX_METADATA: Final = 16
LONGEST_DEADLINE_SECONDS: Final = 30 * 24 * 3600
LONGEST_WAIT_SECONDS: Final = 60  # of `Prefer: wait=N`
MAX_PAGE: Final = 200
IDEMPOTENCY_KEY_PATTERN: Final = r"[\x21-\x7e]{1,255}"
METADATA_KEY_PATTERN: Final = r"[A-Za-z0-9_.-]{1,64}"
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
MetadataKey = Annotated[str, StringConstraints(pattern=f"^{METADATA_KEY_PATTERN}$")]
MetadataValue = Annotated[str, StringConstraints(max_length=512)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=MAX_TEXT, pattern=r"\S")]
Note = Annotated[str, StringConstraints(max_length=MAX_NOTE)]
Count = Annotated[StrictInt, Field(ge=0, le=2**53 - 1)]
Choice = Literal["approve", "reject"]
ApproverRole = Annotated[
    str, StringConstraints(pattern=r"^(approver|operator|admin|approver\.[a-z0-9_-]{1,40})$")
]
SomeRoles = Annotated[tuple[ApproverRole, ...], Field(min_length=1, max_length=16)]


class Wire(BaseModel):
    """A message: nothing is added on the way and nothing misspelt is ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid")


# ── requests ────────────────────────────────────────────────────────────────────────────────────────


class Budget(Wire):
    """Limits of one lineage of runs; a request may only lower what the tenant allows.

    cost: in the currency of the price table. seconds: the longest deadline of a run.
    """

    model_calls: Count | None = None
    actions: Count | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cost: Money | None = None
    recoveries: Count | None = None
    seconds: Annotated[StrictInt, Field(ge=1, le=LONGEST_DEADLINE_SECONDS)] | None = None


class RunInput(Wire):
    text: Text
    attachments: Annotated[tuple[Id, ...], Field(max_length=16)] = ()
    locale: Locale | None = None
    zone: Zone | None = None
    currency: Currency | None = None


class RunRequest(Wire):
    """POST /v1/runs. `module` absent: routed by the rules layer, unsure to `companion`.

    `continues`: a handed-over run to go on from; `input` absent then means its goal.
    """

    module: ModuleName | None = None
    conversation_id: Id | None = None
    on_busy: Literal["enqueue", "reject", "cancel"] = "enqueue"
    input: RunInput | None = None
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


class Remember(Wire):
    """An approval that counts for later actions of the same tool too, where its contract allows it.

    condition: CEL over `args`. expires_at: 30 days from now at most.
    """

    condition: Annotated[str, StringConstraints(min_length=1, max_length=2048)] | None = None
    max_uses: Annotated[StrictInt, Field(ge=1, le=10_000)] | None = None
    expires_at: AwareDatetime


class ResolutionRequest(Wire):
    """POST /v1/interrupts/{id}/resolution: what fits the interrupt's kind, and nothing else.

    approval: `decision` (with `arguments`, `note`, `remember`) or `decisions`, one an action.
    input: exactly one of `choice` (a candidate's id), `value` (by its `input_schema`), `text`.
    """

    decision: Choice | None = None
    decisions: Annotated[tuple[ActionDecision, ...], Field(min_length=1, max_length=16)] | None = None
    arguments: dict[str, Any] | None = None
    note: Note | None = None
    remember: Remember | None = None
    choice: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = None
    value: Any | None = None
    text: Text | None = None


class ApprovalSettings(Wire):
    """four_eyes: for these risks another person decides. roles: risk -> roles of which an approver needs one.

    quorum: risk -> how many different persons have to approve.
    """

    four_eyes: Annotated[tuple[Risk, ...], Field(max_length=3)] | None = None
    roles: dict[Risk, SomeRoles | None] | None = None
    quorum: dict[Risk, Annotated[StrictInt, Field(ge=1, le=9)] | None] | None = None
    expires_in_seconds: Annotated[StrictInt, Field(ge=60, le=LONGEST_DEADLINE_SECONDS)] | None = None


class SettingsPatch(Wire):
    """PATCH /v1/settings as a merge patch: null takes a value back to the one above (tenant, default)."""

    zone: Zone | None = None
    locale: Locale | None = None
    currency: Currency | None = None
    approval: ApprovalSettings | None = None
    budgets: Budget | None = None


class LinkRequest(Wire):
    """POST /v1/interrupts/{id}/links. approver: the caller if absent; another needs the role notifier."""

    approver: Annotated[str, StringConstraints(min_length=1, max_length=255)] | None = None
    expires_in_seconds: Annotated[StrictInt, Field(ge=60, le=7 * 24 * 3600)] = 24 * 3600


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

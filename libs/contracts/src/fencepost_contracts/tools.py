"""What worker and tool-gateway say to each other, and the published catalog of a module's tools.

Errors are RFC 9457 `application/problem+json`: `Problem` below, with `refusals` on 422 `calls_refused`.
Identity is nowhere in these shapes: tenant, user, roles and module come from the persisted run that the
`Fencepost-Fence` header names.
"""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from fencepost_domain.vocabulary import EffectClass, Risk
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StringConstraints

from fencepost_contracts.compensation import Compensate, Earlier, Undoes
from fencepost_contracts.http_tools import HttpCall
from fencepost_contracts.sources import ToolSource
from fencepost_contracts.state import DynamicPrompt, OnlyWhen, StateRule, StateWords, StateWrite

FENCE_HEADER: Final = "Fencepost-Fence"  # <run_id>/<lease_owner>/<revision>
MAX_CALLS: Final = 16  # calls of one model answer; a run's action budget is smaller

ToolName = Annotated[str, StringConstraints(min_length=1, max_length=128)]
Index = Annotated[StrictInt, Field(ge=0, le=1_000_000)]
N = Annotated[StrictInt, Field(ge=1, le=1_000_000)]
RefusalCode = Literal[
    "tool_not_allowed",
    "arguments_invalid",
    "state_binding",
    "identity_argument",
    "effect_class_not_available",
    "tool_changed",
    "source_unavailable",
]


class Wire(BaseModel):
    """A message: nothing is added on the way and nothing misspelt is ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Approvers(Wire):
    """Who has to approve a tool's actions, beside what the tenant demands: the stricter of both counts."""

    four_eyes: StrictBool = False
    roles: tuple[str, ...] = ()  # an approver needs one of them
    quorum: Annotated[StrictInt, Field(ge=1, le=9)] = 1


class Tool(Wire):
    """One tool as published. `approval` says whether a person decides, from risk, class and contract."""

    name: ToolName
    version: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any]
    risk: Risk
    effect_class: EffectClass
    approval: bool
    requires_plan: bool = False
    repeatable: bool = False
    intermediate: bool = False
    lookup: bool = False
    roles: tuple[str, ...] = ()  # one of them is needed; empty: anybody's run may call it
    timeout_seconds: float
    settle_within_seconds: float = 60.0
    key_memory_seconds: float | None = None
    budgets: dict[str, int] = Field(default_factory=dict)
    state_bindings: dict[str, str] = Field(default_factory=dict)
    source: ToolSource | None = None  # None: our own code in the module's tools/
    http: HttpCall | None = None  # what is sent, where the tool is somebody else's server
    only_when: OnlyWhen | None = None
    state_writes: tuple[StateWrite, ...] = ()
    grantable: bool = False  # an approval may be remembered
    approvers: Approvers | None = None
    attachments: tuple[str, ...] = ()  # arguments that hold artifact ids: their content is approved too
    compensate: Compensate | None = None  # what undoes it


class Catalog(Wire):
    """A module's published tools and words about state, immutable under `fingerprint` (of the whole text)."""

    fingerprint: str
    module: str
    version: str
    tools: tuple[Tool, ...]
    state_rules: tuple[StateRule, ...] = ()
    dynamic_prompts: tuple[DynamicPrompt, ...] = ()
    state_summary: tuple[str, ...] = ()  # keys that the prompt's summary begins with

    def state_words(self) -> StateWords:
        """Compiled: keep it, a condition costs some 0.1 ms. Raises CelRefused for a text altered by hand."""
        return StateWords(
            self.state_rules,
            self.dynamic_prompts,
            {tool.name: tool.only_when for tool in self.tools if tool.only_when is not None},
            {tool.name: tool.state_writes for tool in self.tools},
            {tool.name: tool.state_bindings for tool in self.tools},
        )

    def tool(self, name: str) -> Tool | None:
        """By exact name; a look-alike is not found."""
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> dict[str, Tool]:
        return {tool.name: tool for tool in self.tools}


class PrepareCall(Wire):
    """One call. `edited_by`: the resolved approval whose edited arguments these are."""

    index: Index
    n: N
    tool: ToolName
    arguments: dict[str, Any]
    edited_by: UUID | None = None


class PrepareRequest(Wire):
    """`dry`: validate and preview, write nothing and issue no token."""

    calls: Annotated[tuple[PrepareCall, ...], Field(min_length=1, max_length=MAX_CALLS)]
    dry: StrictBool = False


class PreviewLine(Wire):
    label: str
    value: str


class Preview(Wire):
    """What a person reads before deciding, in the run's language; `text` is the whole in one paragraph."""

    title: str
    lines: tuple[PreviewLine, ...] = ()
    text: str
    earlier: tuple[Earlier, ...] = ()
    undoes: Undoes | None = None


class Attached(Wire):
    """An artifact that goes out with an action, as it was when it was shown: its bytes' SHA-256, hex."""

    id: UUID
    name: str
    sha256: str
    size_bytes: int


class Change(Wire):
    """What would be different: `before` and `after` of all it touches; None where nothing was or will be."""

    before: dict[str, Any] | list[Any] | None = None
    after: dict[str, Any] | list[Any] | None = None
    summary: str
    attachments: tuple[Attached, ...] = ()  # the gateway's own finding, never a tool's word


class PreparedAction(Wire):
    """A prepared call. `token_id` names the token; the token itself never leaves the gateway.

    approval: a person decides before commit. expires_at: until when that person may decide; without approval,
    until when it may be committed. On a `dry` prepare token_id and expires_at are None.
    status: `prepared`, or `approved` when the editor's decision covers exactly these arguments.
    """

    index: int
    n: int
    tool: str
    tool_version: str
    arguments: dict[str, Any]
    arguments_hash: str
    risk: Risk
    effect_class: EffectClass
    approval: bool
    status: str
    preview: Preview
    change: Change
    token_id: UUID | None
    expires_at: datetime | None


class PrepareAnswer(Wire):
    """`replayed`: every action was prepared before under the same keys and this is what was stored."""

    actions: tuple[PreparedAction, ...]
    replayed: bool = False


class Refusal(Wire):
    """Why one call of the answer was refused; one refused call refuses all.

    pointer: JSON pointer into that call's arguments. allowed: the names the model may use instead.
    """

    index: int
    code: RefusalCode
    tool: str
    pointer: str = ""
    detail: str
    allowed: tuple[str, ...] = ()


class CommitRequest(Wire):
    index: Index
    n: N
    token_id: UUID


class ToolError(Wire):
    """Why an action failed. code: `tool_failed`, `result_invalid`, `timeout`, or the tool's own."""

    code: str
    detail: str


class CommitAnswer(Wire):
    """The outcome as stored. `replayed`: it was committed before, nothing was done now."""

    state: Literal["completed", "failed"]
    result: Any = None
    error: ToolError | None = None
    replayed: bool = False
    result_invalid: bool = False


class InProgress(Wire):
    """202: an attempt is open and hasn't ended; ask again after `retry_after_seconds`.

    is_task: the other side accepted it as a task, whose end wakes the run; there is nothing to ask for.
    """

    state: Literal["in_progress"] = "in_progress"
    retry_after_seconds: float
    is_task: bool = False


class TaskAnswer(Wire):
    """GET /internal/tasks/{id}. state: starting, running, completed, failed, cancelled or unknown."""

    id: UUID
    state: str
    is_over: bool


class ActionRequest(Wire):
    """Body of `/lookup` and `/cancel`. advance: ask the world what is due to be asked (the reconciler's)."""

    index: Index
    advance: StrictBool = False


class LookupAnswer(Wire):
    """What the ledger says of an action's effect; `absent` when no attempt was ever opened."""

    index: int
    n: int | None
    state: str
    result: Any = None
    error: ToolError | None = None


class CancelAnswer(Wire):
    """`withdrawn`: it can't happen any more; `too_late`: an attempt was opened, see its state."""

    outcome: Literal["withdrawn", "too_late", "nothing"]
    state: str | None = None


class Problem(Wire):
    """RFC 9457. `errors` point into the body; `refusals` come with code `calls_refused`."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str
    errors: tuple[dict[str, str], ...] = ()
    refusals: tuple[Refusal, ...] = ()
    retry_after_seconds: float | None = None
    effect: dict[str, Any] | None = None  # of `reconcile`: {effect_key, run_id, state, attempts}

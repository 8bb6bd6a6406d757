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
    Ev,
    InterruptKind,
    Reason,
    RunStatus,
    WaitingOn,
)
from pydantic import ConfigDict, Field

from fencepost_contracts.event_agent import (
    BranchesJoined,
    ContractCompiled,
    GateJudged,
    PlanAdvanced,
    PlanCreated,
)
from fencepost_contracts.event_approvals import ActionNumbered, ActionPrepared, ApprovalVoted, GrantMade
from fencepost_contracts.event_context import (
    CompactionCandidate,
    CompactionCommitted,
    CompactionStarted,
    ContextBuilt,
)
from fencepost_contracts.event_effects import (
    ActionEnded,
    ActionUnknown,
    EffectDuplicated,
    EffectMoved,
    Payload,
)
from fencepost_contracts.event_evidence import (
    Erased,
    FactInherited,
    MessageCompleted,
    ModelCalled,
    RunRequested,
    SimulationEnded,
)
from fencepost_contracts.event_state import ArtifactCreated, ArtifactLost, StateChanged, StateRefused


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

    verb: Literal["release_lease", "requeue", "expire_approval", "recover"]
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
    Ev.APPROVAL_VOTED: ApprovalVoted,
    Ev.GRANT_MADE: GrantMade,
    Ev.ACTION_NUMBERED: ActionNumbered,
    Ev.ACTION_PREPARED: ActionPrepared,
    Ev.ACTION_WITHDRAWN: ActionMoved,
    Ev.ACTION_REJECTED: ActionMoved,
    Ev.ACTION_STARTED: ActionMoved,
    Ev.ACTION_COMMITTED: ActionEnded,
    Ev.ACTION_FAILED: ActionEnded,
    Ev.ACTION_UNKNOWN: ActionUnknown,
    Ev.TOOL_REFUSED: ToolRefused,
    Ev.TRANSITION_REFUSED: TransitionRefused,
    Ev.CONTEXT_BUILT: ContextBuilt,
    Ev.MODEL_CALLED: ModelCalled,
    Ev.COMPACTION_STARTED: CompactionStarted,
    Ev.COMPACTION_CANDIDATE: CompactionCandidate,
    Ev.COMPACTION_COMMITTED: CompactionCommitted,
    Ev.NODE_FAILED: NodeFailed,
    Ev.RECOVERY_CHECKED: RecoveryChecked,
    Ev.CONTRACT_COMPILED: ContractCompiled,
    Ev.PLAN_CREATED: PlanCreated,
    Ev.PLAN_ADVANCED: PlanAdvanced,
    Ev.BRANCHES_JOINED: BranchesJoined,
    Ev.GATE_JUDGED: GateJudged,
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
    Ev.ARTIFACT_CREATED: ArtifactCreated,
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

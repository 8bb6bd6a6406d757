"""The words of Fencepost: statuses, causes, classes and event names.

Everything that is written to a column with a CHECK, or said in an event, is named here and nowhere else;
`tests/contract` compares the CHECK constraints with these enums.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class RunStatus(StrEnum):
    """Where a run is. The last six are the completion modes and are for ever."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    PAUSED = "paused"
    CANCELLING = "cancelling"
    SUCCEEDED = "succeeded"
    PARTIALLY_SUCCEEDED = "partially_succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    BLOCKED = "blocked"
    EXPIRED = "expired"


class RunMode(StrEnum):
    """Set at creation, never changed: a simulation may not touch the world."""

    LIVE = "live"
    SIMULATION = "simulation"


class WaitingOn(StrEnum):
    """What a waiting run waits for. A person is asked in approval, input, reconcile and version."""

    APPROVAL = "approval"
    INPUT = "input"
    TOOL = "tool"
    RECONCILE = "reconcile"
    VERSION = "version"
    CHILD = "child"


class Stop(StrEnum):
    """Why a run is cancelling; decides between cancelled, expired and blocked (handed over)."""

    CANCEL = "cancel"
    DEADLINE = "deadline"
    HANDOFF = "handoff"


class RunEvent(StrEnum):
    """The causes of the transition table (design 02 §1)."""

    REQUESTED = "requested"
    CLAIMED = "claimed"
    RENEWED = "renewed"
    DEFERRED = "deferred"
    INTERRUPTED = "interrupted"
    WOKEN = "woken"
    LEASE_EXPIRED = "lease_expired"
    ATTEMPTS_EXHAUSTED = "attempts_exhausted"
    REROUTED = "rerouted"
    PAUSE_ASKED = "pause_asked"
    PAUSED = "paused"
    RESUMED = "resumed"
    CANCEL_ASKED = "cancel_asked"
    DEADLINE_PASSED = "deadline_passed"
    HANDOFF_ASKED = "handoff_asked"
    UNSERVED = "unserved"
    REPAIRED = "repaired"
    DRAINED = "drained"
    FINALIZED = "finalized"


class Role(StrEnum):
    """The service roles; each is a Postgres role `fencepost_<value>`."""

    API = "api"
    WORKER = "worker"
    GATEWAY = "gateway"
    RECONCILER = "reconciler"


class InterruptKind(StrEnum):
    APPROVAL = "approval"
    INPUT = "input"
    RECONCILE = "reconcile"
    VERSION = "version"


class InterruptStatus(StrEnum):
    OPEN = "open"
    RESOLVED = "resolved"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"


class ActionStatus(StrEnum):
    """A prepared tool call. `committed` means its effect completed; the effect says more."""

    PREPARED = "prepared"
    WITHDRAWN = "withdrawn"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    COMMITTED = "committed"
    FAILED = "failed"


class Risk(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class EffectClass(StrEnum):
    NONE = "none"
    LOCAL = "local"
    EXTERNAL_IDEMPOTENT = "external_idempotent"
    EXTERNAL_QUERYABLE = "external_queryable"
    EXTERNAL_OPAQUE = "external_opaque"
    ASYNC = "async"


class EffectState(StrEnum):
    PREPARED = "prepared"
    STARTED = "started"
    ACCEPTED = "accepted"
    COMPLETED = "completed"
    FAILED = "failed"
    UNKNOWN = "unknown"
    ABSENT = "absent"
    NEEDS_HUMAN = "needs_human"
    ABANDONED = "abandoned"
    WITHDRAWN = "withdrawn"
    COMPENSATING = "compensating"
    COMPENSATED = "compensated"


class AttemptState(StrEnum):
    STARTED = "started"
    COMPLETED = "completed"
    FAILED = "failed"
    UNKNOWN = "unknown"
    ABSENT = "absent"


class CallState(StrEnum):
    """A model call in the ledger: written before it is sent."""

    STARTED = "started"
    SETTLED = "settled"
    FAILED = "failed"
    UNKNOWN = "unknown"


class Reason(StrEnum):
    """Why a run ended; part of its finalization (design 05)."""

    ACCEPTANCE_MET = "acceptance_met"
    USER_CANCELLED = "user_cancelled"
    APPROVAL_REJECTED = "approval_rejected"
    APPROVAL_EXPIRED = "approval_expired"
    POLICY_DENIED = "policy_denied"
    DEADLINE_EXCEEDED = "deadline_exceeded"
    BUDGET_EXHAUSTED = "budget_exhausted"
    REQUIRED_TASK_FAILED = "required_task_failed"
    CONFLICT_UNRESOLVED = "conflict_unresolved"
    NO_PROGRESS = "no_progress"
    QUALITY_FAILED = "quality_failed"
    VERSION_REVOKED = "version_revoked"
    ATTEMPTS_EXHAUSTED = "attempts_exhausted"
    MODEL_FAILED = "model_failed"
    HANDED_OVER = "handed_over"


class Ev(StrEnum):
    """Types in the event log. Past tense; a payload model per type is in fencepost_contracts.events."""

    RUN_REQUESTED = "run.requested"
    RUN_CLAIMED = "run.claimed"
    RUN_BOUND = "run.bound"
    RUN_DEFERRED = "run.deferred"
    RUN_WOKEN = "run.woken"
    RUN_LEASE_EXPIRED = "run.lease_expired"
    RUN_REROUTED = "run.rerouted"
    RUN_PAUSE_ASKED = "run.pause_asked"
    RUN_PAUSED = "run.paused"
    RUN_RESUMED = "run.resumed"
    RUN_CANCEL_ASKED = "run.cancel_asked"
    RUN_DEADLINE_PASSED = "run.deadline_passed"
    RUN_HANDOFF_ASKED = "run.handoff_asked"
    RUN_UNSERVED = "run.unserved"
    RUN_REPAIRED = "run.repaired"
    RUN_PARKED = "run.parked"
    RUN_FINALIZED = "run.finalized"
    INTERRUPT_OPENED = "interrupt.opened"
    INTERRUPT_RESOLVED = "interrupt.resolved"
    INTERRUPT_EXPIRED = "interrupt.expired"
    INTERRUPT_WITHDRAWN = "interrupt.withdrawn"
    APPROVAL_VOTED = "approval.voted"
    GRANT_MADE = "grant.made"
    ACTION_NUMBERED = "action.numbered"
    ACTION_PREPARED = "action.prepared"
    ACTION_WITHDRAWN = "action.withdrawn"
    ACTION_REJECTED = "action.rejected"
    ACTION_STARTED = "action.started"
    ACTION_COMMITTED = "action.committed"
    ACTION_FAILED = "action.failed"
    ACTION_UNKNOWN = "action.unknown"
    TOOL_REFUSED = "tool.refused"
    TRANSITION_REFUSED = "transition.refused"
    CONTEXT_BUILT = "context.built"
    MODEL_CALLED = "model.called"
    COMPACTION_STARTED = "compaction.started"
    COMPACTION_CANDIDATE = "compaction.candidate"
    COMPACTION_COMMITTED = "compaction.committed"
    NODE_FAILED = "node.failed"
    RECOVERY_CHECKED = "recovery.checked"
    CONTRACT_COMPILED = "contract.compiled"
    PLAN_CREATED = "plan.created"
    PLAN_ADVANCED = "plan.advanced"
    BRANCHES_JOINED = "branches.joined"
    GATE_JUDGED = "gate.judged"
    MESSAGE_COMPLETED = "message.completed"
    OBSERVED_LATE = "observation.late"
    EFFECT_ABSENT = "effect.absent"
    EFFECT_NEEDS_HUMAN = "effect.needs_human"
    EFFECT_OBSERVED = "effect.observed"
    EFFECT_RESOLVED = "effect.resolved"
    EFFECT_COMPENSATING = "effect.compensating"
    EFFECT_COMPENSATED = "effect.compensated"
    EFFECT_DUPLICATED = "effect.duplicated"
    STATE_CHANGED = "state.changed"
    STATE_REFUSED = "state.refused"
    ARTIFACT_CREATED = "artifact.created"
    ARTIFACT_LOST = "artifact.lost"
    FACT_INHERITED = "fact.inherited"
    SIMULATION_ENDED = "simulation.ended"
    ERASED = "erased"


# What writers write today; readers upcast what was written before (fencepost_contracts.evidence.upcast).
EVENT_VERSIONS: Mapping[Ev, int] = {
    Ev.RUN_REQUESTED: 2,
    Ev.MODEL_CALLED: 2,
    Ev.OBSERVED_LATE: 2,
    Ev.MESSAGE_COMPLETED: 2,
    Ev.INTERRUPT_OPENED: 2,
    Ev.INTERRUPT_RESOLVED: 2,
}  # every other type: 1


TERMINAL = frozenset(
    {
        RunStatus.SUCCEEDED,
        RunStatus.PARTIALLY_SUCCEEDED,
        RunStatus.FAILED,
        RunStatus.CANCELLED,
        RunStatus.BLOCKED,
        RunStatus.EXPIRED,
    }
)
WAITS_ON_A_PERSON = frozenset({WaitingOn.APPROVAL, WaitingOn.INPUT, WaitingOn.RECONCILE, WaitingOn.VERSION})
UNSETTLED = frozenset({EffectState.STARTED, EffectState.UNKNOWN, EffectState.NEEDS_HUMAN})

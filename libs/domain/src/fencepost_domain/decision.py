"""What a decision says: the next state, its fence, the events and the outbox rows.

Domain decides, store records, services run. A decision is a value; `fencepost_store.record.record` is the
one door through which it becomes true.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from fencepost_domain.fence import Fence, FenceKind
from fencepost_domain.vocabulary import EVENT_VERSIONS, Ev, Reason, RunEvent, RunStatus


@dataclass(frozen=True, slots=True)
class NewEvent:
    """One event to append. `id` is the caller's, so that a lost answer can be asked for.

    payload: JSON values; integers beyond 2^53 and amounts as strings; ids, never names or text in envelopes.
    """

    id: UUID
    type: Ev
    payload: Mapping[str, Any] = field(default_factory=dict)
    actor: str = ""
    causation_id: UUID | None = None

    @property
    def schema_version(self) -> int:
        """Of the payload's shape as it is written today."""
        return EVENT_VERSIONS.get(self.type, 1)


@dataclass(frozen=True, slots=True)
class NewOutbox:
    """A hint that there is work. `publish_at` None: as soon as the relay sees it."""

    event_type: str
    module: str
    publish_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class NewFeed:
    """A line for the caller's feed: kind, and ids only in `data`."""

    kind: str
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finalization:
    """Why and how a run ended: one immutable record per terminal run (shape in design 05)."""

    status: RunStatus
    reason: Reason
    explanation: str
    decided_by: str
    code: str | None = None
    node: str | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    left_undone: tuple[str, ...] = ()
    unconfirmed_effects: tuple[Mapping[str, Any], ...] = ()
    usage: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FinalMessage:
    """The run's one final message, written with its completion."""

    id: UUID
    text: str
    artifacts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """What to write for one run, in one transaction.

    to: the next status, or None when the status stays.
    sets: run columns to change besides (the store has the allow-list).
    fence, fence_kind: the owner's fence; None for writes that no owner makes, which are guarded by the
    locked row's status and revision instead.
    release: give the conversation back and tell the next run.
    """

    cause: RunEvent | None
    to: RunStatus | None = None
    sets: Mapping[str, Any] = field(default_factory=dict)
    events: tuple[NewEvent, ...] = ()
    outbox: tuple[NewOutbox, ...] = ()
    feed: tuple[NewFeed, ...] = ()
    fence: Fence | None = None
    fence_kind: FenceKind | None = None
    release: bool = False
    finalization: Finalization | None = None
    message: FinalMessage | None = None

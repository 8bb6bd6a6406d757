"""What the log says of asking and deciding: what was prepared, who voted, what is remembered."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from fencepost_domain.vocabulary import ActionStatus, EffectClass, Risk

from fencepost_contracts.event_effects import Payload


class ApprovalVoted(Payload):
    """One of several persons decided; `given` of `needed` approved so far. by_link: not by the api itself."""

    interrupt_id: UUID
    decision: Literal["approve", "reject", "mixed"]
    given: int
    needed: int
    by_link: bool = False


class GrantMade(Payload):
    """An approval that is remembered, for later actions of the same tool."""

    grant_id: UUID
    interrupt_id: UUID
    index: int
    tool: str
    expires_at: datetime
    max_uses: int | None = None


class ActionNumbered(Payload):
    """A place in a brought graph was given indexes, once: `count` of them from `first` on.

    place: checkpoint, task and call in the author's graph, which are the same when its node runs again.
    """

    what: Literal["action", "question"]
    place: str
    first: int
    count: int


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
    grant_id: UUID | None = None
    decided_by: str | None = None

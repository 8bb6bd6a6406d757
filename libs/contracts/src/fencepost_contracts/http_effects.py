"""What an operator sees of effects, and says of one whose outcome only a person can find out."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fencepost_domain.vocabulary import EffectClass, EffectState
from pydantic import BaseModel, ConfigDict, StringConstraints


class EffectResolution(BaseModel):
    """POST /v1/effects/{id}/resolution. evidence: where you looked and what you saw; it is kept for good.

    completed: it happened (external_id: the other side's name for it), or still stands after a failed
    compensation. absent: it didn't, and the run may do it, under its approval. abandoned: nobody can find
    out, and it isn't tried again. compensated: after a failed compensation alone, and then in place of
    `absent`: it was taken back by hand.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    outcome: Literal["completed", "absent", "abandoned", "compensated"]
    evidence: Annotated[str, StringConstraints(min_length=1, max_length=4000, strip_whitespace=True)]
    external_id: Annotated[str, StringConstraints(min_length=1, max_length=300)] | None = None


class CompensationRequest(BaseModel):
    """POST /v1/effects/{id}/compensation. reason: shown to who approves it, and kept for good."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    reason: Annotated[str, StringConstraints(min_length=1, max_length=1000, strip_whitespace=True)]


class EffectView(BaseModel):
    """An effect. id: its key, the same on every attempt.

    compensates: the effect that this one undoes. compensation_run_id: the run that undoes this one, the last
    that was ordered.
    """

    id: str
    run_id: UUID
    index: int
    tool: str
    effect_class: EffectClass
    state: EffectState
    attempts: int
    external_id: str | None
    error: dict[str, Any] | None
    resolution: dict[str, Any] | None
    resolved_by: str | None
    resolved_at: datetime | None
    next_look_at: datetime | None
    compensates: str | None
    compensation_run_id: UUID | None
    created_at: datetime
    updated_at: datetime

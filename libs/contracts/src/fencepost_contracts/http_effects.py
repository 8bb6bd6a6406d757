"""What an operator sees of effects, and says of one whose outcome only a person can find out."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fencepost_domain.vocabulary import EffectClass, EffectState
from pydantic import BaseModel, ConfigDict, StringConstraints


class EffectResolution(BaseModel):
    """POST /v1/effects/{id}/resolution. evidence: where you looked and what you saw; it is kept for good.

    completed: it happened (external_id: the other side's name for it). absent: it didn't, and the run may do
    it, under its approval. abandoned: nobody can find out, and it isn't tried again.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    outcome: Literal["completed", "absent", "abandoned"]
    evidence: Annotated[str, StringConstraints(min_length=1, max_length=4000, strip_whitespace=True)]
    external_id: Annotated[str, StringConstraints(min_length=1, max_length=300)] | None = None


class EffectView(BaseModel):
    """An effect. id: its key, the same on every attempt. settles: what may still be done about it."""

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
    created_at: datetime
    updated_at: datetime

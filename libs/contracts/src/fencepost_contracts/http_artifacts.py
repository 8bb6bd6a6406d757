"""An artifact as the API shows it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from fencepost_domain.artifact import ArtifactStatus
from pydantic import BaseModel, ConfigDict


class ArtifactView(BaseModel):
    """A file of a user. `first_id` and `version`: its lineage; `integrity`: what became of its bytes.

    sha256: lower hex. evidence: what the verdict rests on. checked_at: when the bytes were last compared.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: UUID
    user_id: str
    run_id: UUID | None
    name: str
    media_type: str
    size_bytes: int
    sha256: str
    status: ArtifactStatus
    first_id: UUID | None
    version: int
    origin: Literal["upload", "tool", "partial"]
    evidence: dict[str, Any]
    integrity: Literal["ok", "missing", "altered", "erased"]
    created_at: datetime
    checked_at: datetime

"""`/v1/admin/tool-pins`: declarations of tools that others provide, and a decision on one."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, StringConstraints

from fencepost_contracts.http import Wire

Fingerprint = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class PinDecision(Wire):
    """POST /v1/admin/tool-pins. fingerprint: of exactly the declaration that was looked at."""

    module: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,31}$")]
    tool: Annotated[str, StringConstraints(max_length=128)]
    fingerprint: Fingerprint
    decision: Literal["accept", "revoke"]


class PinView(BaseModel):
    """One declaration. changes: lines of what is different from the accepted one; it is the source's text."""

    module: str
    tool: str
    fingerprint: str
    source: str
    status: Literal["seen", "accepted", "replaced", "revoked"]
    seen_at: datetime
    last_seen_at: datetime
    decided_at: datetime | None
    decided_by: str | None
    description: str
    changes: list[str]

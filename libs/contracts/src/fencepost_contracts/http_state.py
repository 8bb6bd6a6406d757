"""A conversation's state as the API shows it."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from fencepost_domain.state import Operation
from pydantic import BaseModel, ConfigDict


class StateView(BaseModel):
    """The state at an instant: `at` is the one asked for, or that of the last change.

    seq: of the last change up to it, 0 before the first. erased: keys whose value of then was erased.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    conversation_id: UUID
    at: datetime | None
    seq: int
    values: dict[str, Any]
    erased: tuple[str, ...] = ()


class StateEventView(BaseModel):
    """One change. `existed` and `exists` tell a missing value from null; run_id: whose call wrote it.

    erased: a value of it was erased; it is shown as null.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    seq: int
    key: str
    operation: Operation
    old: Any
    new: Any
    existed: bool
    exists: bool
    erased: bool = False
    source: str
    event_id: UUID
    run_id: UUID | None
    trace_id: str | None
    at: datetime

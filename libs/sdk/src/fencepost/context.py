"""What a tool is given: who acts, when, in which words, and for `local` tools the fenced transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID


class ToolTx(Protocol):
    """The module's own named SQL (its `sql/` folder) in the gateway's open transaction.

    On `prepare` the transaction is read-only, a snapshot; on `commit` of a `local` tool it is the one that
    holds the run's row, in which completion and event are written too. Row-level security narrows both to
    the run's tenant.
    """

    async def rows(self, name: str, **params: Any) -> Sequence[Mapping[str, Any]]:
        """All rows of a named statement."""
        ...

    async def row(self, name: str, **params: Any) -> Mapping[str, Any] | None:
        """The one row, or None."""
        ...


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Identity and surroundings of one call, all from the persisted run; nothing here comes from a model.

    effect_key: stable over attempts; write it to the row's `origin_effect_key` so that twice is once.
    asked_at: when the user asked; "today" counts from here, at prepare and at commit alike.
    now: the database's instant. deadline: when the call must be over.
    zone: IANA name, None when nobody said one. locale: BCP 47. currency: the run's default, ISO 4217.
    new_id: a fresh UUIDv7.
    """

    tenant_id: UUID
    user_id: str
    conversation_id: UUID
    run_id: UUID
    effect_key: str
    zone: str | None
    locale: str
    currency: str
    asked_at: datetime
    now: datetime
    deadline: datetime
    new_id: UUID
    tx: ToolTx

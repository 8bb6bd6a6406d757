"""Undoing an effect: the order, and what became of it (ADR-0030).

The order moves the effect to `compensating` and makes a run; the run acts like any other. Its end is told to
the first effect by a sweep, since no transaction locks two runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from fencepost_domain.compensation import Undoing
from fencepost_domain.errors import NotFound
from fencepost_domain.vocabulary import EffectState, Reason, RunStatus
from sqlalchemy import RowMapping

from fencepost_store.storable import as_json
from fencepost_store.sweeps import Candidate
from fencepost_store.transaction import Tx


@dataclass(frozen=True, slots=True)
class Compensating:
    """An effect that is being undone, locked. undone_by: the key of the compensating effect, once opened."""

    key: str
    index: int
    tool: str
    attempts: int
    run_id: UUID
    undone_by: str | None
    undoing: Undoing


async def to_be_undone(tx: Tx, key: str) -> RowMapping:
    """An effect and its action's arguments (RFC 8785 text). Raises NotFound."""
    row = await tx.row("to_be_undone", effect_key=key)
    if row is None:
        raise NotFound("effect", key)
    return row


async def start_compensation(tx: Tx, key: str, run_id: UUID) -> bool:
    """False: it isn't completed (any more)."""
    row = await tx.row("start_compensation", effect_key=key, run_id=run_id)
    return bool(row and row["started"])


async def order_of(tx: Tx, key: str) -> RowMapping | None:
    return await tx.row("order_of_run", effect_key=key)


async def find_undone(tx: Tx, after: UUID, batch: int) -> list[Candidate]:
    rows = await tx.rows("find_undone", after=after, batch=batch)
    return [Candidate(row["key"], row["run_id"]) for row in rows]


async def lock_undone(tx: Tx, key: UUID) -> Compensating | None:
    """key: the compensating run. The first run's row is held."""
    row = await tx.row("lock_undone", key=key)
    if row is None:
        return None
    undoing = Undoing(
        RunStatus(row["status"]),
        Reason(row["reason"]) if row["reason"] else None,
        EffectState(row["undoing"]) if row["undoing"] else None,
        row["error"],
    )
    return Compensating(
        row["effect_key"], row["index"], row["tool"], row["attempts"], key, row["undone_by"], undoing
    )


async def end_compensation(tx: Tx, key: str, state: EffectState, error: Mapping[str, Any] | None) -> None:
    await tx.execute(
        "end_compensation",
        {"effect_key": key, "state": str(state), "error": as_json(error) if error is not None else None},
    )

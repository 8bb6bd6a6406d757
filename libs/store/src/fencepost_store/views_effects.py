"""Effects as operators see them, and a person's word on one (design 02 §5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from fencepost_domain.errors import NotFound
from sqlalchemy import RowMapping

from fencepost_store.storable import as_json
from fencepost_store.transaction import Tx


async def effects(tx: Tx, state: str | None, after: str | None, limit: int) -> Sequence[RowMapping]:
    return await tx.rows("view_effects", state=state, after=after, limit=limit)


async def effect(tx: Tx, key: str) -> RowMapping:
    """Raises NotFound, also for another tenant's."""
    row = await tx.row("view_effect", effect_key=key)
    if row is None:
        raise NotFound("effect", key)
    return row


async def resolve_effect(
    tx: Tx, key: str, said: Mapping[str, Any], *, digest: str, idempotency_key: str, by: str
) -> bool:
    """Under the run's lock. False: it isn't a person's to settle (any more)."""
    row = await tx.row(
        "resolve_effect",
        effect_key=key,
        outcome=said["outcome"],
        said=as_json(said),
        digest=digest,
        key=idempotency_key,
        by=by,
        external_id=said.get("external_id"),
    )
    return bool(row and row["settled"])


async def open_reconcile(tx: Tx, run_id: UUID, index: int) -> UUID | None:
    row = await tx.row("open_reconcile", run_id=run_id, index=index)
    return row["id"] if row is not None else None

"""One-time links: bound to an interrupt, its preparation, one approver; spent with the decision they make."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from fencepost_store.transaction import Tx


@dataclass(frozen=True, slots=True)
class Link:
    """A link's row. roles_today: of its approver. is_past: its time is over, by the database's clock."""

    id: UUID
    interrupt_id: UUID
    run_id: UUID
    n: int
    approver: str
    created_by: str
    token_hash: bytes
    expires_at: datetime
    spent_at: datetime | None
    replaced_at: datetime | None
    is_past: bool
    roles_today: frozenset[str]


async def make(
    tx: Tx,
    *,
    link_id: UUID,
    interrupt_id: UUID,
    run_id: UUID,
    n: int,
    approver: str,
    created_by: str,
    token_hash: bytes,
    expires_at: datetime,
) -> None:
    """Store a link, in the place of a live one of the same person. Run and interrupt are held."""
    await tx.execute("replace_links", {"interrupt_id": interrupt_id, "approver": approver})
    await tx.execute(
        "insert_link",
        {
            "id": link_id,
            "interrupt_id": interrupt_id,
            "run_id": run_id,
            "n": n,
            "approver": approver,
            "created_by": created_by,
            "token_hash": token_hash,
            "expires_at": expires_at,
        },
    )


async def find(tx: Tx, link_id: UUID) -> Link | None:
    """By id; its secret isn't checked here."""
    row = await tx.row("link_by_id", id=link_id)
    if row is None:
        return None
    told = {**row, "token_hash": bytes(row["token_hash"]), "roles_today": frozenset(row["roles_today"])}
    return Link(**told)


async def spend(tx: Tx, link_id: UUID) -> bool:
    """Spend it; False when it was spent or replaced, or its time is over."""
    return await tx.row("spend_link", id=link_id) is not None


async def tenant_of_run(tx: Tx, run_id: UUID) -> UUID | None:
    """Whose run: asked before a tenant can be named."""
    row = await tx.row("tenant_of_run", run_id=run_id)
    return row["tenant_id"] if row is not None else None

"""Remembered approvals: made with a decision, counted under their own lock, ended once (design 02 §4).

Lock order: run, then interrupt or grant, then action. A revocation locks the grant alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from fencepost_domain.action import Action
from fencepost_domain.errors import Conflict, NotFound
from fencepost_domain.grant import Grant, Today
from sqlalchemy import RowMapping

from fencepost_store.transaction import Tx


def to_grant(row: Mapping[Any, Any]) -> Grant:
    return Grant(
        id=row["id"],
        user_id=row["user_id"],
        granted_by=row["granted_by"],
        granted_roles=frozenset(row["granted_roles"]),
        tool=row["tool"],
        catalog_fp=row["catalog_fp"],
        condition=row["condition"],
        max_uses=row["max_uses"],
        uses=row["uses"],
        expires_at=row["expires_at"],
        ended_reason=row["ended_reason"],
    )


async def make(
    tx: Tx,
    asked: RowMapping,
    *,
    grant_id: UUID,
    user_id: str,
    by: str,
    roles: frozenset[str],
    interrupt_id: UUID,
    run_id: UUID,
    condition: str | None,
    max_uses: int | None,
    expires_at: datetime,
) -> None:
    """Write a grant. asked: the approved action, a row of `votes.asked_actions`."""
    named = ("index", "module", "tool", "tool_version", "catalog_fp", "risk", "effect_class")
    await tx.execute(
        "insert_grant",
        {
            **{name: asked[name] for name in named},
            "id": grant_id,
            "user_id": user_id,
            "granted_by": by,
            "granted_roles": sorted(roles),
            "interrupt_id": interrupt_id,
            "run_id": run_id,
            "condition": condition,
            "max_uses": max_uses,
            "expires_at": expires_at,
        },
    )


async def candidates(tx: Tx, user_id: str, tool: str) -> Sequence[RowMapping]:
    """id and condition of the grants that may cover a call of this person's runs; oldest first."""
    return await tx.rows("candidate_grants", user_id=user_id, tool=tool)


async def lock(tx: Tx, grant_id: UUID) -> Grant:
    """Lock a grant (its user's run is held already). Raises NotFound."""
    return _found(grant_id, await tx.row("lock_grant", id=grant_id))


async def look_at(tx: Tx, grant_id: UUID) -> Grant:
    """The same without a lock, for an early answer."""
    return _found(grant_id, await tx.row("look_at_grant", id=grant_id))


def _found(grant_id: UUID, row: RowMapping | None) -> Grant:
    if row is None:
        raise NotFound("grant", grant_id)
    return to_grant(row)


async def today(tx: Tx, grant_id: UUID, run_id: UUID, index: int) -> tuple[Today, bool]:
    """What the grant is judged by now, and whether this action used it before."""
    row = await tx.row("grant_today", id=grant_id, run_id=run_id, index=index)
    assert row is not None  # a grant is never deleted
    return Today(frozenset(row["roles"]), row["catalog_fp"], row["now"]), row["used"]


async def count_use(tx: Tx, grant_id: UUID) -> bool:
    """Take one use; False when none is left."""
    return await tx.row("count_grant_use", id=grant_id) is not None


async def store_use(tx: Tx, action: Action, grant: Grant) -> None:
    """The approval of exactly these arguments. The action is written already."""
    await tx.execute(
        "insert_grant_use",
        {
            "run_id": action.run_id,
            "index": action.index,
            "n": action.n,
            "grant_id": grant.id,
            "tool": action.tool,
            "catalog_fp": action.catalog_fp,
            "arguments_hash": action.arguments_hash,
            "granted_by": grant.granted_by,
        },
    )


async def check_use(tx: Tx, action: Action) -> None:
    """Raise Conflict not_approved unless the grant's approval of exactly these arguments is stored."""
    row = await tx.row("stored_grant_use", run_id=action.run_id, index=action.index, n=action.n)
    told = (row["grant_id"], row["arguments_hash"], row["catalog_fp"]) if row is not None else None
    if told != (action.grant_id, action.arguments_hash, action.catalog_fp):
        raise Conflict("not_approved", "the remembered approval was not of these arguments")


async def end(tx: Tx, grant_id: UUID, *, by: str, reason: str) -> bool:
    """End it for good; False when it had ended."""
    return await tx.row("end_grant", id=grant_id, by=by, reason=reason) is not None


async def view(
    tx: Tx, *, user_id: str | None, tool: str | None = None, before: UUID | None = None, limit: int
) -> Sequence[RowMapping]:
    """A page, newest first. user_id: only those of this person's runs, or made by this person."""
    return await tx.rows("view_grants", id=None, user_id=user_id, tool=tool, before=before, limit=limit)


async def view_one(tx: Tx, grant_id: UUID, user_id: str | None) -> RowMapping:
    """Raises NotFound, also for another's."""
    row = await tx.row("view_grants", id=grant_id, user_id=user_id, tool=None, before=None, limit=1)
    if row is None:
        raise NotFound("grant", grant_id)
    return row


async def uses_of(tx: Tx, grant_id: UUID) -> list[dict[str, Any]]:
    return [dict(row) for row in await tx.rows("view_grant_uses", id=grant_id)]

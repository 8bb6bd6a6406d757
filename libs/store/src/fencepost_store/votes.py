"""Votes: who said what to an approval, one a person, kept for good. What they come to is the interrupt's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from fencepost_domain.errors import Gone
from fencepost_domain.interrupt import Interrupt
from fencepost_domain.policy import Voter
from sqlalchemy import RowMapping

from fencepost_store.storable import as_json
from fencepost_store.transaction import Tx


@dataclass(frozen=True, slots=True)
class Vote:
    """resolution: one person's, as a single decision would be stored: `{decision, decisions: [...]}`."""

    voter: str
    decision: str
    resolution: Mapping[str, Any]
    resolution_hash: str
    key: str
    link_id: UUID | None
    voted_at: datetime

    def words(self) -> dict[int, str]:
        """index -> approve | reject | edit."""
        return {
            one["index"]: "edit" if one.get("arguments") is not None else one["decision"]
            for one in self.resolution["decisions"]
        }


async def of(tx: Tx, interrupt_id: UUID) -> list[Vote]:
    """The votes so far, the first first."""
    return [Vote(**row) for row in await tx.rows("votes_of", id=interrupt_id)]


async def cast(
    tx: Tx,
    interrupt: Interrupt,
    *,
    voter: str,
    resolution: Mapping[str, Any],
    resolution_hash: str,
    key: str,
    roles: frozenset[str],
    link_id: UUID | None = None,
) -> Vote:
    """Store a vote. The caller saw, under the lock, that this person has none yet. Raises Gone."""
    row = await tx.row(
        "insert_vote",
        id=interrupt.id,
        voter=voter,
        decision=resolution["decision"],
        resolution=as_json(resolution),
        resolution_hash=resolution_hash,
        key=key,
        roles=sorted(roles),
        link_id=link_id,
    )
    if row is None:
        raise Gone("interrupt_expired", f"it could be answered until {interrupt.expires_at.isoformat()}")
    return Vote(voter, resolution["decision"], resolution, resolution_hash, key, link_id, row["voted_at"])


async def voters_today(tx: Tx, interrupt_id: UUID, index: int) -> list[Voter]:
    """Who approved an action, with the roles each has today."""
    rows = await tx.rows("voters_today", id=interrupt_id, index=index)
    return [Voter(row["voter"], frozenset(row["roles"])) for row in rows]


async def asked_actions(tx: Tx, interrupt_id: UUID) -> Sequence[RowMapping]:
    """The actions an approval asks for, with the catalog each was prepared under."""
    return await tx.rows("asked_actions", interrupt_id=interrupt_id)

"""How live runs stand, for who asks why one isn't moving; and the repairs that only a person may order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from fencepost_domain.errors import Conflict, NotFound
from fencepost_domain.interrupt import Interrupt
from fencepost_domain.run import Run
from fencepost_domain.stuck import OpenEffect, Question, Stands
from fencepost_domain.vocabulary import InterruptKind, RunStatus, Stop, WaitingOn
from sqlalchemy import RowMapping

from fencepost_store.recovery import instant
from fencepost_store.transaction import Tx


@dataclass(frozen=True, slots=True)
class LiveRun:
    """A live run's ids and numbers, and how it stands."""

    id: UUID
    module: str
    user_id: str
    graph: str | None
    revision: int
    progress: int
    created_at: datetime
    stands: Stands


async def live_runs(tx: Tx, after: UUID, limit: int, run_id: UUID | None = None) -> list[LiveRun]:
    """Of the transaction's tenant, by id."""
    rows = await tx.rows("stands_of_runs", run_id=run_id, after=after, limit=limit)
    return [
        LiveRun(
            row["id"], row["module"], row["user_id"], row["graph"], row["revision"], row["progress"],
            row["created_at"], _stands(row),
        )
        for row in rows
    ]  # fmt: skip


async def live_run(tx: Tx, run_id: UUID) -> LiveRun:
    """Raises NotFound for a run that isn't there, is another tenant's, or has ended."""
    found = await live_runs(tx, UUID(int=0), 1, run_id)
    if not found:
        raise NotFound("live run", run_id)
    return found[0]


async def tenants(tx: Tx) -> Sequence[UUID]:
    """Tenants with live runs, for an operator of the platform."""
    return [row["tenant_id"] for row in await tx.rows("tenants_with_live_runs")]


async def release_lease(tx: Tx, run: Run, *, who: str, why: str) -> None:
    """Take the lease of a locked run away: its revision is raised, the owner's fence is lost.

    Raises Conflict nothing_to_repair when nobody holds it at this revision.
    """
    row = await tx.row("release_lease", run_id=run.id, revision=run.revision, who=who, why=why)
    if row is None or row["revision"] is None:
        raise Conflict("nothing_to_repair", "nobody holds this run any more")


async def expire_now(tx: Tx, interrupt: Interrupt) -> InterruptKind:
    """End an open question before its time; its actions expire. Raises Conflict nothing_to_repair."""
    row = await tx.row("expire_interrupt_now", id=interrupt.id)
    if row is None:
        raise Conflict("nothing_to_repair", "it isn't asked any more")
    await tx.execute("expire_actions", {"interrupt_id": interrupt.id})
    return InterruptKind(row["kind"])


async def continuation_of(tx: Tx, run_id: UUID) -> UUID | None:
    """A run that goes on from this handed-over one and lives, or came to a good end."""
    row = await tx.row("continuation_of_run", run_id=run_id)
    return row["id"] if row is not None else None


def _stands(row: RowMapping) -> Stands:
    asked: dict[str, Any] | None = row["question"]
    return Stands(
        now=row["now"],
        status=RunStatus(row["status"]),
        waiting_on=WaitingOn(row["waiting_on"]) if row["waiting_on"] else None,
        stop=Stop(row["stop"]) if row["stop"] else None,
        pause_asked=row["pause_asked"],
        attempt=row["attempt"],
        max_attempts=row["max_attempts"],
        available_at=row["available_at"],
        lease_owner=row["lease_owner"],
        lease_expires_at=row["lease_expires_at"],
        paused_until=row["paused_until"],
        drain_until=row["drain_until"],
        deadline_at=row["deadline_at"],
        served=row["served"],
        module_served=row["module_served"],
        owner_alive=row["owner_alive"],
        moved_at=row["moved_at"] or row["created_at"],
        moved_by=row["moved_by"] or "",
        moved_why=row["moved_why"] or "",
        holder=_text(row["holder"]),
        before=_text(row["before"]),
        question=_question(asked) if asked else None,
        effects=tuple(_effect(one) for one in row["effects"]),
        model_call_ends_at=row["model_call_ends_at"],
        children=row["children"],
        ahead=row["ahead"],
        tenants_ahead=row["tenants_ahead"],
    )


def _question(asked: dict[str, Any]) -> Question:
    expires_at = datetime.fromisoformat(asked["expires_at"])
    return Question(asked["id"], InterruptKind(asked["kind"]), asked["risk"], asked["asked_of"], expires_at)


def _effect(one: dict[str, Any]) -> OpenEffect:
    return OpenEffect(
        one["effect_key"], one["tool"], one["state"], instant(one["ends_at"]), instant(one["looked_at"])
    )


def _text(value: UUID | None) -> str | None:
    return str(value) if value is not None else None

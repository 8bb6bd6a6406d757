"""Prepared actions: what was proposed, asked for and decided, under the run's lock (design 02 §4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import rfc8785
from fencepost_domain.action import Action, Approval
from fencepost_domain.errors import Conflict, NotFound
from fencepost_domain.vocabulary import ActionStatus, EffectClass, InterruptStatus, Risk
from sqlalchemy import RowMapping

from fencepost_store.runs import Locked, to_run
from fencepost_store.transaction import Tx


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Of a run, besides its control columns. catalog_fp None: not bound yet.

    catalog_intact: the published text still hashes to its fingerprint; None: it isn't published.
    settings: the tenant's body. gate_revision: the revision the recovery gate let through last.
    ordered: the call this run was made to do, `{tool, arguments, compensates, by, reason}`; None: its words.
    lost_after, recovered_at: the run was live when a restore was recovered from: what it did in between is
    not on record.
    """

    currency: str
    root_run_id: UUID
    catalog_fp: str | None
    catalog_intact: bool | None
    catalog_revoked: bool
    settings: Mapping[str, Any]
    created_at: datetime
    gate_revision: int | None
    now: datetime
    ordered: Mapping[str, Any] | None = None
    lost_after: datetime | None = None
    recovered_at: datetime | None = None


async def tenant_of_run(tx: Tx, run_id: UUID) -> UUID | None:
    """Whose run it is; None when there is no such run."""
    row = await tx.row("tenant_of_run", run_id=run_id)
    return row["tenant_id"] if row is not None else None


async def look_at_run(tx: Tx, run_id: UUID) -> Locked:
    """The run's row without a lock, for an early answer. Raises NotFound."""
    row = await tx.row("look_at_run", run_id=run_id)
    if row is None:
        raise NotFound("run", run_id)
    return Locked(to_run(row), row["now"])


async def surroundings(tx: Tx, run_id: UUID) -> Surroundings:
    row = await tx.row("run_surroundings", run_id=run_id)
    if row is None:
        raise NotFound("run", run_id)
    return Surroundings(
        currency=row["currency"],
        root_run_id=row["root_run_id"],
        catalog_fp=row["catalog_fp"],
        catalog_intact=row["catalog_intact"],
        catalog_revoked=bool(row["catalog_revoked"]),
        settings=row["settings"] or {},
        created_at=row["created_at"],
        gate_revision=row["gate_revision"],
        now=row["now"],
        ordered=row["ordered"],
        lost_after=row["lost_after"],
        recovered_at=row["recovered_at"],
    )


def to_action(row: RowMapping) -> Action:
    return Action(
        run_id=row["run_id"],
        index=row["index"],
        n=row["n"],
        tenant_id=row["tenant_id"],
        tool=row["tool"],
        tool_version=row["tool_version"],
        catalog_fp=row["catalog_fp"],
        arguments=row["arguments"],
        arguments_hash=row["arguments_hash"],
        author=row["author"],
        risk=Risk(row["risk"]),
        effect_class=EffectClass(row["effect_class"]),
        approval=row["approval"],
        status=ActionStatus(row["status"]),
        preview=row["preview"],
        change=row["change"],
        precondition=row["precondition"],
        token_id=row["token_id"],
        token_key_id=row["token_key_id"],
        token_mac=bytes(row["token_mac"]),
        token_expires_at=row["token_expires_at"],
        token_spent_at=row["token_spent_at"],
        interrupt_id=row["interrupt_id"],
        decided_by=row["decided_by"],
        prepared_at=row["prepared_at"],
        grant_id=row["grant_id"],
    )


async def actions_at(tx: Tx, run_id: UUID, index: int) -> list[Action]:
    """All preparations of an index, the newest first."""
    return [to_action(row) for row in await tx.rows("actions_at", run_id=run_id, index=index)]


async def insert_action(tx: Tx, action: Action) -> None:
    """Write a new preparation. Raises Conflict action_current while an earlier one isn't withdrawn."""
    await tx.execute(
        "insert_action",
        {
            "run_id": action.run_id,
            "index": action.index,
            "n": action.n,
            "tenant_id": action.tenant_id,
            "tool": action.tool,
            "tool_version": action.tool_version,
            "catalog_fp": action.catalog_fp,
            "arguments": action.arguments,
            "arguments_hash": action.arguments_hash,
            "author": action.author,
            "risk": str(action.risk),
            "effect_class": str(action.effect_class),
            "approval": action.approval,
            "status": str(action.status),
            "preview": as_json(action.preview),
            "change": as_json(action.change),
            "precondition": as_json(action.precondition),
            "token_id": action.token_id,
            "token_key_id": action.token_key_id,
            "token_mac": action.token_mac,
            "token_expires_at": action.token_expires_at,
            "interrupt_id": action.interrupt_id,
            "grant_id": action.grant_id,
            "decided_by": action.decided_by,
        },
    )


async def withdraw_action(tx: Tx, action: Action) -> list[UUID]:
    """Withdraw a preparation with its token and its open interrupt; returns the interrupts withdrawn."""
    rows = await tx.rows("withdraw_action", run_id=action.run_id, index=action.index, n=action.n)
    return [row["id"] for row in rows]


async def lock_approval(tx: Tx, run_id: UUID, interrupt_id: UUID) -> Approval | None:
    """Lock the interrupt, of this run only; None when there is no such one."""
    row = await tx.row("lock_approval", id=interrupt_id, run_id=run_id)
    return _to_approval(row) if row is not None else None


async def look_at_approval(tx: Tx, run_id: UUID, interrupt_id: UUID | None) -> Approval | None:
    """The same without a lock, for an early answer."""
    row = await tx.row("look_at_approval", id=interrupt_id, run_id=run_id) if interrupt_id else None
    return _to_approval(row) if row is not None else None


def _to_approval(row: RowMapping) -> Approval:
    return Approval(
        id=row["id"],
        status=InterruptStatus(row["status"]),
        indexes=tuple(row["indexes"]),
        opened_at=row["opened_at"],
        expires_at=row["expires_at"],
        resolution=row["resolution"],
        resolved_by=row["resolved_by"],
        resolved_at=row["resolved_at"],
    )


async def lock_action(tx: Tx, run_id: UUID, index: int, n: int) -> tuple[Action, datetime] | None:
    """Lock a preparation (after its interrupt) and read the database's instant above all locks."""
    row = await tx.row("lock_action", run_id=run_id, index=index, n=n)
    return (to_action(row), row["now"]) if row is not None else None


async def spend_token(tx: Tx, action: Action) -> None:
    """Raises Conflict token_spent."""
    if await tx.row("spend_token", run_id=action.run_id, index=action.index, n=action.n) is None:
        raise Conflict("token_spent", "this preparation was used before")


async def end_action(tx: Tx, action: Action, status: ActionStatus) -> None:
    await tx.execute(
        "end_action", {"run_id": action.run_id, "index": action.index, "n": action.n, "status": str(status)}
    )


async def roles_of(tx: Tx, user_id: str) -> tuple[str, ...]:
    """Roles as last seen; empty for somebody never seen."""
    return await roles_today(tx, user_id, ())


async def roles_today(tx: Tx, user_id: str, otherwise: Sequence[str]) -> tuple[str, ...]:
    """Roles as last seen; `otherwise` for somebody never seen: a run keeps those it was made with."""
    row = await tx.row("roles_of", user_id=user_id)
    return tuple(row["roles"] if row is not None else otherwise)


async def artifacts_named(tx: Tx, user_id: str, ids: Sequence[UUID]) -> dict[UUID, RowMapping]:
    """A person's artifacts as they are now, by id; those that may not be used are left out."""
    if not ids:
        return {}
    return {row["id"]: row for row in await tx.rows("artifacts_named", user_id=user_id, ids=list(ids))}


def as_json(value: Any) -> str:
    """The canonical text of a value that `fencepost_contracts.canonical.plain` made plain."""
    return rfc8785.dumps(value).decode()

"""Shared budgets of tenants and users, and taking an action from all budgets at once (design 02 §11).

Reservations of model calls stand in `model_calls`: they are part of the statement that opens a call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from fencepost_domain.budget import DEFAULTS, Per, SharedBudget
from fencepost_domain.errors import Conflict
from sqlalchemy import RowMapping

from fencepost_store.storable import as_json
from fencepost_store.transaction import Tx

TENANT = ""  # the user id of the tenant's own row


@dataclass(frozen=True, slots=True)
class Kept:
    """A budget with who set it last, and the database's now."""

    budget: SharedBudget
    set_by: str
    set_at: datetime
    now: datetime


async def take_action(tx: Tx, root_run_id: UUID, user_id: str, default_limit: int) -> None:
    """Take one tool action from every scope with a limit. Raises Conflict budget_exhausted."""
    row = await tx.row("take_action", root_run_id=root_run_id, user_id=user_id, default_limit=default_limit)
    reached = row["reached"] if row is not None else "actions"
    if reached is not None:
        raise Conflict("budget_exhausted", f"the limit {reached} is reached", {"limit": reached})


async def take_recovery(tx: Tx, run_id: UUID) -> None:
    """Take one repeat of an external tool from the lineage. Raises Conflict budget_exhausted."""
    if await tx.row("take_recovery", run_id=run_id, default_limit=DEFAULTS["recoveries"]) is None:
        raise Conflict("budget_exhausted", "the limit recoveries is reached", {"limit": "recoveries"})


async def shared_budgets(tx: Tx, user_id: str, *, everybody: bool = False) -> Sequence[Kept]:
    """The tenant's budgets and a user's; with everybody: those of all its users."""
    rows = await tx.rows("shared_budgets", user_id=user_id, everybody=everybody)
    return [Kept(shared_budget(row), row["set_by"], row["set_at"], row["now"]) for row in rows]


def shared_budget(row: RowMapping | Mapping[str, Any]) -> SharedBudget:
    return SharedBudget(
        row["user_id"] or None,
        Per(row["per"]),
        _amounts(row["limits"]),
        _amounts(row["used"]),
        _amounts(row["reserved"]),
        row["starts_at"],
        row["ends_at"],
    )


def _amounts(body: Mapping[str, Any]) -> dict[str, Decimal]:
    return {name: Decimal(str(value)) for name, value in body.items() if value is not None}


async def set_shared_budget(tx: Tx, user_id: str, per: Per, limits: Mapping[str, Any], set_by: str) -> None:
    """Give a tenant (user_id TENANT) or a user a budget, or another one. Counters go on."""
    await tx.execute(
        "set_shared_budget",
        {"user_id": user_id, "per": str(per), "limits": as_json(limits), "set_by": set_by},
    )


async def remove_shared_budget(tx: Tx, user_id: str, per: Per) -> bool:
    """Whether there was one."""
    return await tx.row("remove_shared_budget", user_id=user_id, per=str(per)) is not None

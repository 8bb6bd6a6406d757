"""Settings: the tenant's, and a person's over them; and who was seen with which roles."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from fencepost_domain.budget import SharedBudget

from fencepost_store.budgets import shared_budget
from fencepost_store.transaction import Tx

TENANT: Final = ""  # the user id of the tenant's own row


async def read(tx: Tx, user_id: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """(the tenant's, the person's), each {} when never set."""
    found = {row["user_id"]: dict(row["body"]) for row in await tx.rows("read_settings", user_id=user_id)}
    return found.get(TENANT, {}), found.get(user_id, {})


@dataclass(frozen=True, slots=True)
class ForRun:
    """What a new run is made by: settings, and the budgets that hold its user. now: the database's."""

    tenant: Mapping[str, Any]
    person: Mapping[str, Any]
    budgets: tuple[SharedBudget, ...]
    now: datetime


async def read_for_run(tx: Tx, user_id: str) -> ForRun:
    """Settings and budgets in one statement: who has no budget pays nothing for budgets."""
    row = await tx.row("read_for_run", user_id=user_id)
    assert row is not None  # scalars always have their row
    settings = row["settings"] or {}
    shared = tuple(_budget(body) for body in row["budgets"] or ())
    return ForRun(settings.get(TENANT, {}), settings.get(user_id, {}), shared, row["now"])


def _budget(body: Mapping[str, Any]) -> SharedBudget:
    at = {name: body[name] and datetime.fromisoformat(body[name]) for name in ("starts_at", "ends_at")}
    return shared_budget({**body, **at})


async def change(
    tx: Tx, user_id: str, merge: Callable[[Mapping[str, Any]], Mapping[str, Any]]
) -> Mapping[str, Any]:
    """Replace a body by `merge(body)`, under its row's lock."""
    row = await tx.row("lock_settings", user_id=user_id)
    assert row is not None
    body = merge(row["body"])
    await tx.execute("write_settings", {"user_id": user_id, "body": json.dumps(dict(body))})
    return body


async def see_principal(tx: Tx, user_id: str, roles: frozenset[str]) -> None:
    """Note the roles a person has today."""
    await tx.execute("see_principal", {"user_id": user_id, "roles": sorted(roles)})

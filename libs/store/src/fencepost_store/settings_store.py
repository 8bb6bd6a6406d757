"""Settings: the tenant's, and a person's over them; and who was seen with which roles."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Final

from fencepost_domain.budget import SharedBudget
from sqlalchemy import TextClause, text

from fencepost_store.budgets import shared_budget
from fencepost_store.sql import source
from fencepost_store.transaction import Tx
from fencepost_store.views import KeyClaim

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


async def claim_for_run(
    tx: Tx, user_id: str, route: str, key: str, request_hash: str
) -> tuple[KeyClaim, ForRun]:
    """What `views.claim_key` tells, with settings and budgets, in one statement. Never waits."""
    given = {"user_id": user_id, "route": route, "key": key, "request_hash": request_hash}
    row = (await tx.connection.execute(_claim_for_run(), given)).mappings().one()
    settings = row["settings"] or {}
    shared = tuple(_budget(body) for body in row["budgets"] or ())
    stored = ForRun(settings.get(TENANT, {}), settings.get(user_id, {}), shared, row["now"])
    return KeyClaim(row["id"], row["request_hash"], row["same_free"], row["key_free"]), stored


@cache
def _claim_for_run() -> TextClause:
    claim = f", claim.* FROM ({source('claim_key')}) AS claim"
    return text(source("claim_for_run").replace("{and_claim}", claim))


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

"""Budgets in a caller's words: how they stand, and why a request is refused at the door."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from math import ceil
from typing import Any

from fencepost_domain.budget import Kind, SharedBudget, used_up
from fencepost_domain.prices import written
from fencepost_store.budgets import Kept

from fencepost_api.problems import Refusal
from fencepost_api.render import utc


def view(kept: Kept) -> dict[str, Any]:
    """See contracts.http_budgets.BudgetView."""
    budget = kept.budget
    amounts = {"limits": budget.limits, "used": budget.used, "reserved": budget.reserved}
    return {
        "scope": budget.scope,
        "user_id": budget.user_id,
        "per": str(budget.per),
        **{name: {kind: written(value) for kind, value in found.items()} for name, found in amounts.items()},
        "starts_at": utc(budget.starts_at),
        "ends_at": utc(budget.ends_at),
        "set_by": kept.set_by,
        "set_at": utc(kept.set_at),
    }


def check_budgets(budgets: Sequence[SharedBudget], now: datetime) -> None:
    """Refuse a new run that could call nothing. Raises Refusal budget_exhausted, with when it begins anew."""
    found = used_up(budgets)
    if found is None:
        return
    budget, kind = found
    whose = "your tenant's" if budget.user_id is None else "your"
    used = budget.used.get(kind, Decimal(0))
    detail = f"{whose} budget of {kind} per {budget.per} is used up: {used} of {budget.limits[kind]}."
    headers = {}
    if budget.ends_at is None:
        detail += " It doesn't begin anew by itself."
    else:
        detail += f" It begins anew at {utc(budget.ends_at).isoformat()}."
        headers["Retry-After"] = str(max(1, ceil((budget.ends_at - now).total_seconds())))
    detail += " An admin can raise it: PUT /v1/budgets, or `fencepost budgets set`."
    raise Refusal("budget_exhausted", detail[0].upper() + detail[1:], [_named(budget, kind)], headers)


def _named(budget: SharedBudget, kind: Kind) -> dict[str, Any]:
    limit = f"{budget.scope}_{kind}"
    return {"pointer": "", "code": limit, "detail": f"{budget.limits[kind]} per {budget.per}"}

"""Budgets over HTTP: what a tenant or a user may use in a day, in a month, or in all."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import StringConstraints

from fencepost_contracts.http import Count, Money, Wire


class SharedLimits(Wire):
    """What a budget may limit. cost: in the currency of the price table (USD as shipped)."""

    model_calls: Count | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cost: Money | None = None
    actions: Count | None = None


class BudgetPut(Wire):
    """PUT /v1/budgets. `user_id` absent: the whole tenant's. `limits` null: no such budget any more."""

    user_id: Annotated[str, StringConstraints(min_length=1, max_length=255)] | None = None
    per: Literal["day", "month", "total"]
    limits: SharedLimits | None


class BudgetView(Wire):
    """How a budget stands in the window of now. Amounts are decimal strings; reserved: of calls in flight."""

    scope: Literal["tenant", "user"]
    user_id: str | None
    per: Literal["day", "month", "total"]
    limits: dict[str, str]
    used: dict[str, str]
    reserved: dict[str, str]
    starts_at: datetime | None
    ends_at: datetime | None
    set_by: str
    set_at: datetime

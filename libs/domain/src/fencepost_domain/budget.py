"""Budgets: what is counted, for whom, and what it means that one is used up (design 02 §11, I23).

A call's worst case is reserved before it is made, in the transaction that opens it, in every scope that has a
limit: tenant, user, run (its lineage), role. What was really used is settled after; a reservation whose call
never came back is charged in full when its time is over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final

from fencepost_domain.errors import FencepostError

DEFAULTS: Final[Mapping[str, Any]] = {
    "actions": 10,
    "model_calls": 64,
    "input_tokens": 2_000_000,
    "output_tokens": 400_000,
    "cost": "20.00",
    "recoveries": 120,
}
"""Limits of a run that nobody set others for (design 04). cost: in the price table's currency."""
DEADLINE: Final = timedelta(days=1)
"""Of a run that nobody gave one. Long, since time in a queue counts; but nothing runs for ever."""


def deadline_of(*seconds: int | None) -> timedelta:
    """The nearest deadline of those given, in seconds of work; DEADLINE where none is."""
    given = [one for one in seconds if one is not None]
    return timedelta(seconds=min(given)) if given else DEADLINE


class Kind(StrEnum):
    """What is limited. SECONDS: of work, by the deadline's clock, which stands still for a person."""

    MODEL_CALLS = "model_calls"
    INPUT_TOKENS = "input_tokens"
    OUTPUT_TOKENS = "output_tokens"
    COST = "cost"
    ACTIONS = "actions"
    RECOVERIES = "recoveries"
    SECONDS = "seconds"


# What a tenant's or a user's budget may limit, in the order in which a shortage is told.
SHARED: Final = (Kind.MODEL_CALLS, Kind.INPUT_TOKENS, Kind.OUTPUT_TOKENS, Kind.COST, Kind.ACTIONS)


class Per(StrEnum):
    """The window of a shared budget, in UTC; `total` has no end."""

    DAY = "day"
    MONTH = "month"
    TOTAL = "total"


@dataclass(frozen=True, slots=True)
class Estimate:
    """The worst case of one model call, in the price table's currency; version of the table."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal = Decimal(0)
    currency: str = "USD"
    prices: str = ""


NOTHING: Final = Estimate()


class BudgetExhausted(FencepostError):
    """A limit is reached: nothing more is started. `limit` names it: `cost`, `user_cost`, `role_calls`."""

    code = "budget_exhausted"

    def __init__(self, limit: str) -> None:
        self.limit = limit
        super().__init__(f"the limit {limit} is reached")


@dataclass(frozen=True, slots=True)
class SharedBudget:
    """A tenant's (user_id None) or a user's budget as it stands. ends_at: of the window, None for total."""

    user_id: str | None
    per: Per
    limits: Mapping[str, Decimal]
    used: Mapping[str, Decimal]
    reserved: Mapping[str, Decimal]
    starts_at: datetime | None
    ends_at: datetime | None

    @property
    def scope(self) -> str:
        return "tenant" if self.user_id is None else "user"


def used_up(budgets: Sequence[SharedBudget]) -> tuple[SharedBudget, Kind] | None:
    """The first budget of which nothing is left in some kind: the tenant's before the user's."""
    for budget in sorted(budgets, key=lambda one: (one.user_id is not None, one.per)):
        for kind in SHARED:
            most = budget.limits.get(kind)
            if most is not None and budget.used.get(kind, Decimal(0)) >= most:
                return budget, kind
    return None

"""Budgets in a caller's words: how they stand, and why a request is refused at the door."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from math import ceil
from typing import Any, Final

from fencepost_domain.budget import Kind, SharedBudget, used_up
from fencepost_domain.prices import written
from fencepost_store.budgets import Kept

from fencepost_api.problems import Refusal
from fencepost_api.render import utc
from fencepost_api.texts import is_chinese


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


def check_budgets(budgets: Sequence[SharedBudget], now: datetime, locale: str) -> None:
    """Refuse a new run that could call nothing. locale: of its words, in which the caller is told when it
    begins anew and who can raise it. Raises Refusal budget_exhausted.
    """
    found = used_up(budgets)
    if found is None:
        return
    budget, kind = found
    headers = {}
    if budget.ends_at is not None:
        headers["Retry-After"] = str(max(1, ceil((budget.ends_at - now).total_seconds())))
    detail = (_chinese if is_chinese(locale) else _english)(budget, kind)
    raise Refusal("budget_exhausted", detail, [_named(budget, kind)], headers)


def _amounts(budget: SharedBudget, kind: Kind) -> tuple[str, str]:
    """Used, and the limit, as the budget's own view writes them."""
    return written(budget.used.get(kind, Decimal(0))), written(budget.limits[kind])


def _english(budget: SharedBudget, kind: Kind) -> str:
    whose = "Your tenant's" if budget.user_id is None else "Your"
    used, limit = _amounts(budget, kind)
    anew = "It doesn't begin anew by itself."
    if budget.ends_at is not None:
        anew = f"It begins anew at {utc(budget.ends_at).isoformat()}."
    return (
        f"{whose} budget of {kind} per {budget.per} is used up: {used} of {limit}. {anew}"
        " An admin can raise it: PUT /v1/budgets, or `fencepost budgets set`."
    )


def _chinese(budget: SharedBudget, kind: Kind) -> str:
    whose = "您所在组织" if budget.user_id is None else "您"
    used, limit = _amounts(budget, kind)
    anew = "它不会自动重置。"
    if budget.ends_at is not None:
        anew = f"将于 {utc(budget.ends_at).isoformat()} 重置。"
    return (
        f"{whose}的{_PER[str(budget.per)]}{_KINDS[kind]}额度已用完：已用 {used}，上限 {limit}。"
        f"{anew}管理员可以提高额度：PUT /v1/budgets，或 `fencepost budgets set`。"
    )


_PER: Final = {"day": "每日", "month": "每月", "total": "总"}
_KINDS: Final[Mapping[Kind, str]] = {
    Kind.MODEL_CALLS: "模型调用",
    Kind.INPUT_TOKENS: "输入 token ",
    Kind.OUTPUT_TOKENS: "输出 token ",
    Kind.COST: "费用",
    Kind.ACTIONS: "操作",
}


def _named(budget: SharedBudget, kind: Kind) -> dict[str, Any]:
    limit = f"{budget.scope}_{kind}"
    return {"pointer": "", "code": limit, "detail": f"{written(budget.limits[kind])} per {budget.per}"}

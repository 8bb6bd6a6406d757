"""Budgets of a tenant and of its users: seen by whom they hold, set by an admin."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fencepost_contracts.http_budgets import BudgetPut, BudgetView
from fencepost_contracts.http_views import Page
from fencepost_domain.budget import Per
from fencepost_domain.errors import Invalid
from fencepost_store import budgets as store
from fencepost_store.transaction import Tx
from starlette.responses import Response

from fencepost_api import render
from fencepost_api.budgets import view
from fencepost_api.deps import ApiDep, CallerDep, check_queries, read_json, shape
from fencepost_api.openapi import described

router = APIRouter(tags=["budgets"])


@router.get("/v1/budgets", response_model=Page[BudgetView])
async def list_budgets(request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """What the caller may use, and what of it was used; operators and admins see everybody's."""
    check_queries(request)
    async with api.store.transaction(caller.tenant_id) as tx:
        found = await store.shared_budgets(tx, caller.user_id, everybody=caller.oversees)
    shown = [one for one in found if caller.oversees or one.budget.user_id is not None]
    return render.answer(render.page([view(one) for one in shown], len(shown)))


@router.put("/v1/budgets", response_model=Page[BudgetView], openapi_extra=described(BudgetPut))
async def put_budget(request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """Set a limit of the tenant or of a user, or take it away (`limits` null). Needs the role admin.

    What was used in the window stays counted. Answers with all budgets as they stand.
    """
    check_queries(request)
    caller.need("admin")
    body = shape(BudgetPut, await read_json(request))
    user_id, per = body.user_id or store.TENANT, Per(body.per)
    limits = body.limits.model_dump(exclude_none=True) if body.limits is not None else None
    if limits == {}:
        raise Invalid("/limits", "name at least one limit; null takes the budget away", "empty_limits")

    async def work(tx: Tx) -> list[store.Kept]:
        if limits is None:
            await store.remove_shared_budget(tx, user_id, per)
        else:
            await store.set_shared_budget(tx, user_id, per, limits, f"user:{caller.user_id}")
        return [*await store.shared_budgets(tx, caller.user_id, everybody=True)]

    found = await api.store.run(caller.tenant_id, work)
    return render.answer(render.page([view(one) for one in found], len(found)))

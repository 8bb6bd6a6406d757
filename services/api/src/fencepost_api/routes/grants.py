"""Remembered approvals: seen by whose runs they are for, who made them, and operators; ended for good."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fencepost_contracts.http_approvals import GrantView
from fencepost_contracts.http_views import Page
from fencepost_domain.grant import REVOKED
from fencepost_runtime.failpoints import ahit
from fencepost_store import grants
from fencepost_store.transaction import Tx
from starlette.responses import Response

from fencepost_api import render
from fencepost_api.auth import Caller
from fencepost_api.deps import ApiDep, CallerDep, check_queries, id_of, limit_of, one_query
from fencepost_api.queries import cursor_id

router = APIRouter(tags=["grants"])


def _only(caller: Caller) -> str | None:
    return None if caller.oversees else caller.user_id


@router.get("/v1/grants", response_model=Page[GrantView])
async def list_grants(request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """Newest first; `?tool=`. Ended ones stay visible: they are part of why something was done."""
    check_queries(request, "tool", "limit", "cursor")
    limit, tool, before = limit_of(request), one_query(request, "tool"), cursor_id(request)
    async with api.store.transaction(caller.tenant_id) as tx:
        rows = await grants.view(tx, user_id=_only(caller), tool=tool, before=before, limit=limit + 1)
    return render.answer(render.page([render.grant(row) for row in rows], limit))


@router.get("/v1/grants/{grant_id}", response_model=GrantView)
async def get_grant(grant_id: str, api: ApiDep, caller: CallerDep) -> Response:
    """One remembered approval, with the actions it approved lately."""
    wanted = id_of(grant_id, "grant")
    async with api.store.transaction(caller.tenant_id) as tx:
        row = await grants.view_one(tx, wanted, _only(caller))
        recent = await grants.uses_of(tx, wanted)
    return render.answer(render.grant(row, recent))


@router.delete("/v1/grants/{grant_id}", response_model=GrantView)
async def revoke_grant(grant_id: str, api: ApiDep, caller: CallerDep) -> Response:
    """Revoke: nothing is approved by it any more, and what it approved and nobody began is asked again.

    The same again is the same; one that has ended otherwise stays ended as it was.
    """
    wanted = id_of(grant_id, "grant")

    async def work(tx: Tx) -> render.Row:
        await grants.view_one(tx, wanted, _only(caller))
        await grants.end(tx, wanted, by=f"user:{caller.user_id}", reason=REVOKED)
        await ahit("api.revoke_grant.before_commit")
        return await grants.view_one(tx, wanted, _only(caller))

    row = await api.store.run(caller.tenant_id, work)
    await ahit("api.revoke_grant.before_response")
    return render.answer(render.grant(row))

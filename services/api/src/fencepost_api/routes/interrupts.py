"""What people are asked, and their answers."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fencepost_contracts.http import LinkRequest, ResolutionRequest
from fencepost_contracts.http_approvals import InterruptView, LinkView
from fencepost_contracts.http_views import Page
from fencepost_domain.vocabulary import InterruptKind, InterruptStatus
from fencepost_store import views
from starlette.responses import Response

from fencepost_api import render
from fencepost_api.auth import Caller
from fencepost_api.context import Api
from fencepost_api.deps import (
    ApiDep,
    CallerDep,
    check_queries,
    id_of,
    idempotency_key,
    limit_of,
    read_json,
    shape,
)
from fencepost_api.openapi import described
from fencepost_api.queries import cursor_id, one_of
from fencepost_api.usecases.asked import read_asked, rule_view
from fencepost_api.usecases.make_link import make_link
from fencepost_api.usecases.resolve_interrupt import resolve_interrupt, visible

router = APIRouter(tags=["interrupts"])


@router.get("/v1/interrupts", response_model=Page[InterruptView])
async def list_interrupts(request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """Newest first; `?kind=&status=`."""
    check_queries(request, "kind", "status", "limit", "cursor")
    return await _list(request, api, caller, one_of(request, "kind", list(InterruptKind)))


@router.get("/v1/approvals", response_model=Page[InterruptView])
async def list_approvals(request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """Interrupts of kind approval: with preview, change, risk and expiry, without the conversation."""
    check_queries(request, "status", "limit", "cursor")
    return await _list(request, api, caller, str(InterruptKind.APPROVAL))


async def _list(request: Request, api: Api, caller: Caller, kind: str | None) -> Response:
    may = visible(caller)
    wanted = views.InterruptFilter(
        may.user_id,
        may.approvals_too,
        kind=kind,
        status=one_of(request, "status", list(InterruptStatus)),
        before=cursor_id(request),
    )
    limit = limit_of(request)
    async with api.store.transaction(caller.tenant_id) as tx:
        rows = await views.interrupts(tx, wanted, limit + 1)
    return render.answer(render.page([render.interrupt(row) for row in rows], limit))


@router.get("/v1/interrupts/{interrupt_id}", response_model=InterruptView)
async def get_interrupt(interrupt_id: str, api: ApiDep, caller: CallerDep) -> Response:
    """One question, with what was decided."""
    async with api.store.transaction(caller.tenant_id) as tx:
        row = await views.interrupt(tx, id_of(interrupt_id, "interrupt"), visible(caller))
        rule = None
        if row["kind"] == InterruptKind.APPROVAL:
            asked, otherwise = await read_asked(tx, row["id"], row["risk"])
            given = len(row["votes"] or ())
            rule = rule_view(asked, otherwise, given, caller.user_id, caller.roles, row["user_id"])
    return render.answer(render.interrupt(row, rule))


@router.post("/v1/interrupts/{interrupt_id}/resolution", response_model=InterruptView,
             openapi_extra=described(ResolutionRequest, key=True))  # fmt: skip
async def resolve(interrupt_id: str, request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """Decide once. The same decision again is answered with the stored one, another with 409."""
    check_queries(request)
    key = idempotency_key(request) or ""
    wanted = id_of(interrupt_id, "interrupt")
    body = shape(ResolutionRequest, await read_json(request))
    resolved = await resolve_interrupt(api, caller, wanted, body, key)
    headers = {"Idempotent-Replayed": "true"} if resolved.replayed else {}
    return render.answer(render.interrupt(resolved.row), headers=headers)


@router.post("/v1/interrupts/{interrupt_id}/links", response_model=LinkView, status_code=201,
             openapi_extra=described(LinkRequest))  # fmt: skip
async def make_one_time_link(interrupt_id: str, request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """A link for mail or chat that decides once, for one person; an earlier one of that person is void.

    Opening it decides nothing. For another than the caller it is made by a service with the role notifier.
    """
    check_queries(request)
    body = shape(LinkRequest, await read_json(request))
    made = await make_link(api, caller, id_of(interrupt_id, "interrupt"), body)
    base = (api.public_url or str(request.base_url)).rstrip("/")
    shown = {
        "id": made.link_id,
        "url": f"{base}/approve/{made.token}",
        "approver": made.approver,
        "expires_at": render.utc(made.expires_at),
    }
    return render.answer(shown, 201)

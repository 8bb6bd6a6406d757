"""What happened to the world, for operators, and what a person says of it."""

from __future__ import annotations

import base64
import binascii

from fastapi import APIRouter, Request
from fencepost_contracts.http_effects import CompensationRequest, EffectResolution, EffectView
from fencepost_contracts.http_views import Page
from fencepost_domain.errors import Invalid
from fencepost_domain.vocabulary import EffectState
from fencepost_store import views_effects
from starlette.responses import Response

from fencepost_api import render
from fencepost_api.deps import (
    ApiDep,
    CallerDep,
    check_queries,
    idempotency_key,
    limit_of,
    read_json,
    shape,
)
from fencepost_api.openapi import described
from fencepost_api.queries import one_of
from fencepost_api.render import Row
from fencepost_api.usecases.compensate_effect import compensate_effect
from fencepost_api.usecases.resolve_effect import resolve_effect

router = APIRouter(tags=["effects"])


@router.get("/v1/effects", response_model=Page[EffectView])
async def list_effects(request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """By key; `?state=needs_human` is what waits for a person."""
    check_queries(request, "state", "limit", "cursor")
    caller.need("operator", "admin")
    limit = limit_of(request)
    async with api.store.transaction(caller.tenant_id) as tx:
        rows = await views_effects.effects(
            tx, one_of(request, "state", list(EffectState)), _after(request), limit + 1
        )
    more = len(rows) > limit
    shown = [view(row) for row in rows[:limit]]
    cursor = base64.urlsafe_b64encode(str(shown[-1]["id"]).encode()).decode() if more else None
    return render.answer({"items": shown, "next_cursor": cursor})


@router.get("/v1/effects/{effect_id}", response_model=EffectView)
async def get_effect(effect_id: str, request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """One effect, by its key."""
    check_queries(request)
    caller.need("operator", "admin")
    async with api.store.transaction(caller.tenant_id) as tx:
        return render.answer(view(await views_effects.effect(tx, effect_id[:200])))


@router.post("/v1/effects/{effect_id}/resolution", response_model=EffectView,
             openapi_extra=described(EffectResolution, key=True))  # fmt: skip
async def resolve(effect_id: str, request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """Say once what became of it. The same again is answered with what is stored, another with 409."""
    check_queries(request)
    key = idempotency_key(request) or ""
    body = shape(EffectResolution, await read_json(request))
    settled = await resolve_effect(api, caller, effect_id[:200], body, key)
    headers = {"Idempotent-Replayed": "true"} if settled.replayed else {}
    return render.answer(view(settled.row), headers=headers)


@router.post("/v1/effects/{effect_id}/compensation", status_code=201, response_model=EffectView,
             openapi_extra=described(CompensationRequest, key=True))  # fmt: skip
async def compensate(effect_id: str, request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """Order that a completed effect is undone, by the tool that its contract names. `Location`: the run."""
    check_queries(request)
    key = idempotency_key(request) or ""
    body = shape(CompensationRequest, await read_json(request))
    ordered = await compensate_effect(api, caller, effect_id[:200], body, key)
    headers = {"Location": f"/v1/runs/{ordered.run_id}"}
    if ordered.replayed:
        headers["Idempotent-Replayed"] = "true"
    return render.answer(view(ordered.row), 201, headers=headers)


def _after(request: Request) -> str | None:
    given = request.query_params.get("cursor")
    if given is None:
        return None
    try:
        return base64.urlsafe_b64decode(given.encode()).decode()[:200]
    except (ValueError, binascii.Error):
        raise Invalid("/cursor", "this is no cursor of ours", "invalid_cursor") from None


def view(row: Row) -> dict[str, object]:
    names = (
        "run_id", "index", "tool", "state", "attempts", "external_id", "error", "resolution", "resolved_by",
        "resolved_at", "next_look_at", "compensates", "compensation_run_id", "created_at", "updated_at",
    )  # fmt: skip
    return {"id": row["effect_key"], "effect_class": row["class"], **{name: row[name] for name in names}}

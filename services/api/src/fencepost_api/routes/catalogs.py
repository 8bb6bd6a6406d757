"""What can be asked for: modules, tools, the rules layer; and settings."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from fastapi import APIRouter, Request
from fencepost_contracts.http import IntentRequest, SettingsPatch
from fencepost_contracts.http_views import IntentView, ModuleView, Page, SettingsView, ToolsView
from fencepost_domain.errors import Invalid, NotFound
from fencepost_runtime.logging import get_logger
from fencepost_store import settings_store, views
from starlette.responses import Response

from fencepost_api import render
from fencepost_api.deps import ApiDep, CallerDep, check_queries, read_json, shape
from fencepost_api.effective import PERSONAL, check_zone, effective, merge_patch
from fencepost_api.openapi import described
from fencepost_api.problems import Refusal
from fencepost_api.queries import one_of
from fencepost_api.routing import detected

router = APIRouter(tags=["catalogs"])
log = get_logger(__name__)


@router.get("/v1/modules", response_model=Page[ModuleView])
async def modules(api: ApiDep, caller: CallerDep) -> Response:
    """Modules by their newest published catalog."""
    async with api.store.transaction(caller.tenant_id) as tx:
        rows = await views.modules(tx)
    return render.answer({"items": [_module(row) for row in rows], "next_cursor": None})


def _module(row: render.Row) -> dict[str, Any]:
    return {
        "name": row["module"],
        "version": row["version"],
        "fingerprint": row["fingerprint"],
        "tools": len(_tools(row)),
        "served": row["served"],
    }


def _tools(row: render.Row) -> list[dict[str, Any]]:
    body = json.loads(row["body"])
    found: list[dict[str, Any]] = body.get("tools", []) if isinstance(body, dict) else body
    return found


@router.get("/v1/modules/{module}/tools", response_model=ToolsView)
async def tools(module: str, api: ApiDep, caller: CallerDep) -> Response:
    """A module's tools as published: schemas, risk, effect class."""
    async with api.store.transaction(caller.tenant_id) as tx:
        rows = await views.modules(tx, module) if module.isascii() and len(module) <= 40 else ()
    if not rows:
        raise NotFound("module", module)
    found = {
        "module": rows[0]["module"],
        "version": rows[0]["version"],
        "fingerprint": rows[0]["fingerprint"],
    }
    return render.answer({**found, "items": _tools(rows[0]), "next_cursor": None})


@router.get("/v1/settings", response_model=SettingsView)
async def get_settings(request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """Settings in effect for the caller."""
    check_queries(request)
    async with api.store.transaction(caller.tenant_id) as tx:
        found = effective(*await settings_store.read(tx, caller.user_id))
    return render.answer(found.view())


@router.patch("/v1/settings", response_model=SettingsView, openapi_extra=described(SettingsPatch))
async def patch_settings(request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """A merge patch. `zone locale currency` are the caller's own; `?scope=tenant`: everybody's default.

    `approval` and `budgets` are the tenant's; those and the tenant's defaults need the role admin.
    """
    check_queries(request, "scope")
    raw = await read_json(request)
    body = shape(SettingsPatch, raw)
    check_zone(body.zone, "/zone")
    for_tenant = one_of(request, "scope", ("tenant", "person")) == "tenant"
    own = {name: value for name, value in raw.items() if name in PERSONAL and not for_tenant}
    shared = {name: value for name, value in raw.items() if name not in own}
    if shared:
        caller.need("admin")
    async with api.store.transaction(caller.tenant_id) as tx:
        for user_id, patch in ((settings_store.TENANT, shared), (caller.user_id, own)):
            if patch:
                await settings_store.change(tx, user_id, lambda stored, p=patch: merge_patch(stored, p))  # type: ignore[misc]
        found = effective(*await settings_store.read(tx, caller.user_id))
    return render.answer(found.view())


@router.post("/v1/intents/detect", response_model=IntentView, openapi_extra=described(IntentRequest))
async def detect(request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """What the rules layer reads in a text; no model is called, nothing is stored."""
    check_queries(request)
    body = shape(IntentRequest, await read_json(request))
    check_zone(body.zone, "/zone")
    async with api.store.transaction(caller.tenant_id) as tx:
        settings = effective(*await settings_store.read(tx, caller.user_id))
    reference = _reference(body.reference, api.clock.now())
    try:
        found = detected(
            body.text,
            reference=reference,
            zone=body.zone or settings.zone,
            locale=body.locale or settings.locale,
            currency=body.currency or settings.currency,
        )
    except Exception:  # a fault of the rules is logged; to the caller this text can't be read
        log.exception("intents.rules_failed")
        raise Refusal("invalid_request", "The rules layer can't read this text.") from None
    return render.answer({**({"id": body.id} if body.id else {}), **found})


def _reference(given: datetime | None, now: datetime) -> datetime:
    if given is None:
        return now
    if given.tzinfo is None or not 1970 <= given.year <= 2200:
        raise Invalid("/reference", "a time with zone, from 1970 to 2200", "invalid_reference")
    return given

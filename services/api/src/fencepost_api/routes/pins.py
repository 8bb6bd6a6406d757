"""What sources declare of their tools, and an operator's word on it. Of the platform, not of a tenant."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fencepost_contracts.declared import difference
from fencepost_contracts.http_pins import PinDecision, PinView
from fencepost_contracts.http_views import Page
from fencepost_contracts.sources import Declared
from fencepost_domain.errors import NotFound
from fencepost_store import pins as store
from fencepost_store.pins import StoredPin
from pydantic import ValidationError
from starlette.responses import Response

from fencepost_api import render
from fencepost_api.deps import ApiDep, CallerDep, check_queries, read_json, shape
from fencepost_api.openapi import described

router = APIRouter(tags=["admin"])


@router.get("/v1/admin/tool-pins", response_model=Page[PinView])
async def tool_pins(request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """Each tool's accepted declaration and what was seen of it since, with the difference."""
    caller.need("platform")
    check_queries(request, "module")
    async with api.store.transaction(caller.tenant_id) as tx:
        found = await store.list_pins(tx, request.query_params.get("module"))
    accepted = {(pin.module, pin.tool): pin for pin in found if pin.status == "accepted"}
    items = [_view(pin, accepted.get((pin.module, pin.tool))) for pin in found]
    return render.answer({"items": items, "next_cursor": None})


def _view(pin: StoredPin, accepted: StoredPin | None) -> dict[str, Any]:
    declared = _declared(pin)
    changes = [] if declared is None or pin is accepted else difference(_declared(accepted), declared)
    return {
        "module": pin.module,
        "tool": pin.tool,
        "fingerprint": pin.fingerprint,
        "source": pin.source,
        "status": pin.status,
        "seen_at": pin.seen_at,
        "last_seen_at": pin.last_seen_at,
        "decided_at": pin.decided_at,
        "decided_by": pin.decided_by,
        "description": declared.description if declared else "",
        "changes": changes,
    }


def _declared(pin: StoredPin | None) -> Declared | None:
    """None for a declaration that an earlier release wrote in another shape."""
    try:
        return Declared.model_validate_json(pin.declaration) if pin is not None else None
    except ValidationError:
        return None


@router.post("/v1/admin/tool-pins", response_model=PinView, openapi_extra=described(PinDecision))
async def decide(request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """Accept a declaration in place of the last, or revoke it. Deciding the same again changes nothing."""
    caller.need("platform")
    body = shape(PinDecision, await read_json(request))
    wanted: store.Wanted = "accepted" if body.decision == "accept" else "revoked"
    async with api.store.transaction(caller.tenant_id) as tx:
        known = await store.decide_pin(
            tx,
            module=body.module,
            tool=body.tool,
            fingerprint=body.fingerprint,
            wanted=wanted,
            who=f"user:{caller.user_id}",
        )
        if not known:
            raise NotFound("declaration", f"{body.tool} {body.fingerprint}")
        found = await store.list_pins(tx, body.module)
    pin = next(one for one in found if (one.tool, one.fingerprint) == (body.tool, body.fingerprint))
    return render.answer(_view(pin, pin))

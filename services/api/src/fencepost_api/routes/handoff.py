"""Handing a run over, and the package from which somebody else goes on."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fencepost_contracts.http_admin import HandoffRequest, HandoffView
from fencepost_contracts.http_views import RunView
from starlette.responses import Response

from fencepost_api import render
from fencepost_api.deps import ApiDep, CallerDep, check_queries, id_of, idempotency_key, read_json, shape
from fencepost_api.openapi import described
from fencepost_api.usecases.handoff_run import handed_over, handoff_run

router = APIRouter(tags=["runs"])


@router.post("/v1/runs/{run_id}/handoff", status_code=202, response_model=RunView,
             openapi_extra=described(HandoffRequest))  # fmt: skip
async def handoff(run_id: str, request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """Stop the run, as a cancel does, and keep all that somebody else needs to go on from it."""
    check_queries(request)
    idempotency_key(request, required=False)
    body = shape(HandoffRequest, await read_json(request))
    return render.answer(render.run(await handoff_run(api, caller, id_of(run_id, "run"), body)), 202)


@router.get("/v1/runs/{run_id}/handoff", response_model=HandoffView)
async def package(run_id: str, api: ApiDep, caller: CallerDep) -> Response:
    """Goal, contract, what was done with its evidence, what is open, what is left, the next step."""
    async with api.store.snapshot(caller.tenant_id) as tx:
        _, whole = await handed_over(tx, caller, id_of(run_id, "run"))
    return render.answer(whole)

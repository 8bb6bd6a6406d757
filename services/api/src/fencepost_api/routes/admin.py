"""For operators: why live runs aren't moving, and repairs. Never shows what was asked for in a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from fastapi import APIRouter, Request
from fencepost_contracts.http_admin import RepairRequest, StuckView
from fencepost_contracts.http_views import Page
from fencepost_domain.stuck import explain
from fencepost_store import stuck
from fencepost_store.stuck import LiveRun
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
    one_query,
    read_json,
    shape,
)
from fencepost_api.openapi import described
from fencepost_api.queries import cursor_id, one_of
from fencepost_api.stuck_words import sentences
from fencepost_api.usecases.repair_run import repair_run, tenant_of

router = APIRouter(tags=["admin"])
OPERATORS = ("operator", "admin", "platform")


@router.get("/v1/admin/stuck", response_model=Page[StuckView])
async def list_stuck(request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """Every live run, the oldest first: why it isn't moving and what would move it. `?run=&moving=`.

    An operator sees the own tenant; with the role platform all tenants. Sentences by `Accept-Language`.
    """
    caller.need(*OPERATORS)
    check_queries(request, "run", "moving", "limit", "cursor")
    limit, after = limit_of(request), cursor_id(request) or UUID(int=0)
    wanted, only = one_query(request, "run"), one_of(request, "moving", ["true", "false"])
    run_id = id_of(wanted, "run") if wanted is not None else None
    items: list[dict[str, Any]] = []
    while len(items) <= limit:
        batch = await _batch(api, caller, after, limit + 1, run_id)
        items += [view for view in (_view(request, t, one) for t, one in batch) if _is_wanted(view, only)]
        if len(batch) <= limit:
            break
        after = batch[-1][1].id
    return render.answer(render.page(items[: limit + 1], limit, cursor="run_id"))


def _is_wanted(view: dict[str, Any], only: str | None) -> bool:
    return only is None or view["moving"] is (only == "true")


async def _batch(
    api: Api, caller: Caller, after: UUID, count: int, run_id: UUID | None
) -> Sequence[tuple[UUID, LiveRun]]:
    """The next `count` live runs the caller may see, by id, each with its tenant."""
    tenants: Sequence[UUID] = [caller.tenant_id]
    if caller.has("platform"):
        async with api.store.transaction() as tx:
            tenants = await stuck.tenants(tx)
    found: list[tuple[UUID, LiveRun]] = []
    for tenant in tenants:
        async with api.store.transaction(tenant) as tx:
            found += [(tenant, one) for one in await stuck.live_runs(tx, after, count, run_id)]
    return sorted(found, key=lambda pair: pair[1].id)[:count]


@router.post("/v1/admin/runs/{run_id}/repairs", response_model=StuckView,
             openapi_extra=described(RepairRequest))  # fmt: skip
async def repair(run_id: str, request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """Release a lease, requeue, or expire a question: an event in the run's log, with who and why."""
    caller.need(*OPERATORS)
    check_queries(request)
    idempotency_key(request, required=False)
    wanted = id_of(run_id, "run")
    body = shape(RepairRequest, await read_json(request))
    repaired = await repair_run(api, caller, wanted, body)
    return render.answer(_view(request, await tenant_of(api, caller, wanted), repaired))


def _view(request: Request, tenant: UUID, one: LiveRun) -> dict[str, Any]:
    found, s = explain(one.stands), one.stands
    locale = request.headers.get("accept-language", "en")
    why, moves = sentences(found, locale, module=one.module, graph=one.graph)
    return {
        "run_id": one.id,
        "tenant_id": tenant,
        "module": one.module,
        "user_id": one.user_id,
        "status": s.status,
        "waiting_on": s.waiting_on,
        "code": found.code,
        "why": why,
        "what_moves_it": moves,
        "moved_by": found.by,
        "moving": found.moving,
        "since": render.utc(found.since),
        "until": render.utc(found.until),
        "details": dict(found.details),
        "repairs": found.repairs,
        "warnings": found.warnings,
        "attempt": s.attempt,
        "max_attempts": s.max_attempts,
        "revision": one.revision,
        "graph": one.graph,
        "created_at": render.utc(one.created_at),
    }

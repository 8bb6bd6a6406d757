"""Runs made from runs: retry, fork, simulation, and how their paths differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from fastapi import APIRouter, Request
from fencepost_contracts.evidence.trajectory import READ, difference, trajectory
from fencepost_contracts.http_evidence import (
    DifferenceView,
    ForkRequest,
    RetryRequest,
    SimulationRequest,
    SimulationsRequest,
    SimulationView,
)
from fencepost_contracts.http_views import RunView
from fencepost_domain.errors import Conflict
from fencepost_store import lineage
from fencepost_store.event_log import log_of
from fencepost_store.transaction import Tx
from starlette.responses import Response

from fencepost_api import render
from fencepost_api.auth import Caller
from fencepost_api.deps import (
    ApiDep,
    CallerDep,
    check_queries,
    id_of,
    idempotency_key,
    read_body,
    read_json,
    shape,
)
from fencepost_api.openapi import described
from fencepost_api.usecases.create_run import Created
from fencepost_api.usecases.derive_run import fork_run, retry_run, simulate_many, simulate_run

router = APIRouter(tags=["lineage"])


@router.post("/v1/runs/{run_id}/retry", status_code=201, response_model=RunView,
             openapi_extra=described(RetryRequest, key=True, optional=True))  # fmt: skip
async def retry(run_id: str, request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """The same wish as a new live run of the lineage: asked, approved and done anew."""
    raw = await _optional(request)
    shape(RetryRequest, raw)
    return _made(await retry_run(api, caller, id_of(run_id, "run"), raw, idempotency_key(request) or ""))


@router.post("/v1/runs/{run_id}/fork", status_code=201, response_model=RunView,
             openapi_extra=described(ForkRequest, key=True))  # fmt: skip
async def fork(run_id: str, request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """Go on from one of the run's `fork_points` as another run; what was done up to there is inherited."""
    check_queries(request)
    key = idempotency_key(request) or ""
    raw = await read_json(request)
    body = shape(ForkRequest, raw)
    return _made(await fork_run(api, caller, id_of(run_id, "run"), body, raw, key))


@router.post("/v1/runs/{run_id}/simulations", status_code=201, response_model=RunView,
             openapi_extra=described(SimulationRequest, key=True, optional=True))  # fmt: skip
async def simulate(run_id: str, request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """The run again on frozen results, or on substitutes; nothing outside is touched."""
    raw = await _optional(request)
    body = shape(SimulationRequest, raw)
    key = idempotency_key(request) or ""
    return _made(await simulate_run(api, caller, id_of(run_id, "run"), body.substitutes, raw, key))


@router.get("/v1/runs/{run_id}/difference", response_model=DifferenceView)
async def difference_of(run_id: str, request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """How the path of a retry, a fork or a simulation differs from its origin's, as far as both have come."""
    check_queries(request)
    wanted = id_of(run_id, "run")
    async with api.store.transaction(caller.tenant_id) as tx:
        run = await lineage.source_run(tx, wanted, _owner(caller))
        if run["origin_run_id"] is None:
            raise Conflict("no_origin", "this run was not made from another one")
        origin = await lineage.source_run(tx, run["origin_run_id"], _owner(caller))
        found = await _differ(tx, wanted, run["event_seq"], origin["id"], origin["event_seq"])
    told = {"run_id": wanted, "origin_run_id": origin["id"], "kind": run["origin_kind"]}
    return render.answer({**told, **found})


async def _differ(tx: Tx, run_id: UUID, upto: int, origin: UUID, origin_upto: int) -> dict[str, Any]:
    before = trajectory(await log_of(tx, origin, origin_upto, only=READ))
    after = trajectory(await log_of(tx, run_id, upto, only=READ))
    return difference(before, after)


@router.post("/v1/simulations", status_code=201, response_model=SimulationView,
             openapi_extra=described(SimulationsRequest, key=True))  # fmt: skip
async def simulate_last(request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """The last finished real runs of a module, each simulated: what would another version have done?"""
    check_queries(request)
    key = idempotency_key(request) or ""
    raw = await read_json(request)
    made, replayed = await simulate_many(api, caller, shape(SimulationsRequest, raw), raw, key)
    headers = {"Location": f"/v1/simulations/{made}", **({"Idempotent-Replayed": "true"} if replayed else {})}
    return render.answer(await _report(api, caller, made), 201, headers)


@router.get("/v1/simulations/{simulation_id}", response_model=SimulationView)
async def simulation(simulation_id: str, request: Request, api: ApiDep, caller: CallerDep) -> Response:
    """The report so far: which runs would have gone the same way, and where the others part."""
    check_queries(request)
    return render.answer(await _report(api, caller, id_of(simulation_id, "simulation")))


async def _report(api: ApiDep, caller: Caller, simulation_id: UUID) -> dict[str, Any]:
    async with api.store.transaction(caller.tenant_id) as tx:
        row, simulated = await lineage.simulation(tx, simulation_id, _owner(caller))
        runs = [await _simulated(tx, one) for one in simulated]
    counts: dict[str, int] = {}
    for one in runs:
        counts[one["outcome"]] = counts.get(one["outcome"], 0) + 1
    return {
        **{name: row[name] for name in ("id", "module", "substitutes", "created_at")},
        "finished": "running" not in counts,
        "counts": counts,
        "runs": runs,
    }


async def _simulated(tx: Tx, one: Mapping[Any, Any]) -> dict[str, Any]:
    told = {"run_id": one["id"], "origin_run_id": one["origin_run_id"], "first": None, "changes": []}
    if one["finished_at"] is None:
        return {**told, "outcome": "running"}
    found = await _differ(tx, one["id"], one["event_seq"], one["origin_run_id"], one["origin_seq"])
    ends = {step["step"] for change in found["changes"] for step in change["after"]}
    outcome = next((word for word in ("diverged", "stopped") if word in ends), "different")
    return {
        **told,
        "outcome": "same" if found["same"] else outcome,
        "first": found["first"],
        "changes": found["changes"],
    }


async def _optional(request: Request) -> Any:
    check_queries(request)
    idempotency_key(request)
    return await read_json(request) if (await read_body(request)).strip() else {}


def _made(created: Created) -> Response:
    headers = {"Location": f"/v1/runs/{created.row['id']}"}
    if created.replayed:
        headers["Idempotent-Replayed"] = "true"
    return render.answer(render.run(created.row), 201, headers)


def _owner(caller: Caller) -> str | None:
    return None if caller.oversees else caller.user_id

"""Make a run from a run: live retry, fork, simulation (design 02 §6, §8). Three words, three meanings.

A retry asks again: new answers, new approvals, the words meant now. A fork goes on from a point: what was
answered and done up to it is fact, what follows is asked and approved again. A simulation touches nothing: it
runs on frozen results, or on the substitutes it was given. Retry and fork share the lineage and its budget.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from fencepost_contracts.evidence.frozen import FORK_TYPES, fork_points
from fencepost_contracts.http_evidence import ForkRequest, SimulationsRequest, Substitutes
from fencepost_domain.budget import deadline_of
from fencepost_domain.errors import Conflict, Invalid
from fencepost_domain.vocabulary import RunMode
from fencepost_runtime.failpoints import ahit
from fencepost_store import lineage, settings_store, views
from fencepost_store.event_log import log_of
from fencepost_store.runs import NewRun, Origin
from fencepost_store.transaction import Tx
from sqlalchemy import RowMapping

from fencepost_api.auth import Caller
from fencepost_api.budgets import check_budgets
from fencepost_api.context import Api
from fencepost_api.usecases.create_run import Created
from fencepost_api.usecases.erased import check_not_erased
from fencepost_api.usecases.once import InWork, fingerprint, judged, once

NO_RUNS = "no finished real run of this module is yours to simulate"


async def retry_run(api: Api, caller: Caller, run_id: UUID, raw: Any, key: str) -> Created:
    """Raises NotFound, Conflict run_not_finished, Gone run_erased; the last also for fork and simulation."""

    async def origin(tx: Tx, source: RowMapping) -> tuple[Origin, dict[str, Any]]:
        if source["finished_at"] is None:
            raise Conflict("run_not_finished", "only a run that has ended can be retried: cancel it first")
        return Origin("retry", run_id), {}

    return await _derive(api, caller, run_id, "retry", raw, key, origin)


async def fork_run(api: Api, caller: Caller, run_id: UUID, body: ForkRequest, raw: Any, key: str) -> Created:
    """Raises NotFound, Conflict not_a_fork_point or version_not_served, Invalid for an unknown definition."""

    async def origin(tx: Tx, source: RowMapping) -> tuple[Origin, dict[str, Any]]:
        points = await _points(tx, source)
        if body.at_seq not in points:
            known = ", ".join(map(str, points))
            detail = f"fork it at one of its fork_points: {known}" if known else "nobody has worked on it yet"
            raise Conflict("not_a_fork_point", detail, {"fork_points": points})
        graph = await _version(tx, "graph", body.definition, source["module"], "/definition")
        return _forked(source, body.at_seq, graph), ({"input": _input(body)} if body.input else {})

    return await _derive(api, caller, run_id, "fork", raw, key, origin)


async def fork_elsewhere(api: Api, tx: Tx, caller: Caller, run_id: UUID, new_id: UUID, route: str) -> None:
    """A run that nobody serves goes on from its last point as `new_id`, under the newest served graph.

    Raises Conflict not_a_fork_point, version_not_served.
    """
    source = await lineage.source_run(tx, run_id, None)
    points = await _points(tx, source)
    if not points:
        detail = "nobody has worked on it yet: answer `stop` and ask again"
        raise Conflict("not_a_fork_point", detail, {"fork_points": points})
    graph = await lineage.served_graph(tx, source["module"])
    if graph is None:
        raise Conflict("version_not_served", f"no living worker serves any graph for {source['module']}")
    origin = _forked(source, points[-1], graph)
    key, digest = str(new_id), fingerprint({})
    await lineage.create_derived(tx, _new(api, caller, source, origin, {}, route, key, digest, new_id))


async def _points(tx: Tx, source: RowMapping) -> list[int]:
    return fork_points(await log_of(tx, source["id"], source["event_seq"], only=FORK_TYPES))


def _forked(source: RowMapping, at_seq: int, graph: str | None) -> Origin:
    return Origin(
        "fork",
        source["id"],
        at_seq=at_seq,
        substitutes={"history_of": _history_of(source)},
        reference_at=source["reference_at"],
        bound=(graph or source["graph_version"], source["manifest_fp"], source["catalog_fp"]),
        rerouted=source["rerouted"],
    )


def _input(body: ForkRequest) -> dict[str, Any]:
    assert body.input is not None
    return body.input.model_dump(mode="json", exclude_none=True, exclude_defaults=True)


def _history_of(source: RowMapping) -> str:
    """The run before whose words the conversation is read: a fork of a fork reads what the first one read."""
    return str((source["substitutes"] or {}).get("history_of") or source["id"])


async def simulate_run(
    api: Api, caller: Caller, run_id: UUID, substitutes: Substitutes, raw: Any, key: str
) -> Created:
    """Raises NotFound, Conflict run_not_started or version_not_served, Invalid for unknown versions."""

    async def origin(tx: Tx, source: RowMapping) -> tuple[Origin, dict[str, Any]]:
        return await _simulated(tx, source, substitutes), {}

    return await _derive(api, caller, run_id, "simulations", raw, key, origin)


async def _simulated(
    tx: Tx, source: RowMapping, given: Substitutes, simulation_id: UUID | None = None
) -> Origin:
    if not source["graph_version"]:
        raise Conflict("run_not_started", "nobody has worked on it yet: there is nothing to simulate")
    graph = await _version(tx, "graph", given.graph, source["module"], "/substitutes/graph")
    contract = await _version(tx, "contract", given.contract, source["module"], "/substitutes/contract")
    told = {**given.model_dump(exclude_none=True), "history_of": _history_of(source)}
    return Origin(
        "simulation",
        source["id"],
        substitutes=told,
        reference_at=source["reference_at"],
        bound=(graph or source["graph_version"], source["manifest_fp"], contract or source["catalog_fp"]),
        simulation_id=simulation_id,
        rerouted=source["rerouted"],
    )


async def _version(tx: Tx, kind: str, name: str | None, module: str, pointer: str) -> str | None:
    """Raises Invalid for one that nobody published, Conflict version_not_served."""
    if name is None:
        return None
    found = await lineage.find_version(tx, kind, name, module)
    if found is None:
        there = ", ".join(await lineage.published_versions(tx, kind, module)) or "nothing"
        raise Invalid(
            pointer, f"no such {kind} is published for {module}; there is: {there}", f"unknown_{kind}"
        )
    if not found.served:
        raise Conflict("version_not_served", f"no living worker serves this {kind} for {module}")
    return found.fingerprint


async def simulate_many(
    api: Api, caller: Caller, body: SimulationsRequest, raw: Any, key: str
) -> tuple[UUID, bool]:
    """The id of a simulation over the last real runs, and whether the key had made it before."""
    caller.need("user", "operator", "admin")
    digest = fingerprint(raw)

    async def work(tx: Tx) -> tuple[UUID, bool]:
        simulation_id = api.ids.uuid7()
        whose = None if caller.oversees else caller.user_id
        wanted = await lineage.last_real_runs(tx, body.module, body.last, whose)
        earlier = await lineage.keep_simulation(
            tx,
            simulation_id,
            user_id=caller.user_id,
            module=body.module,
            substitutes=body.substitutes.model_dump(exclude_none=True),
            runs=len(wanted),
            key=key,
            digest=digest,
        )
        if earlier is not None:
            return earlier, True
        if not wanted:
            raise Invalid("/module", NO_RUNS, "no_runs")
        for run_id in wanted:
            source = await lineage.source_run(tx, run_id, whose)
            origin = await _simulated(tx, source, body.substitutes, simulation_id)
            route = f"POST /v1/simulations/{simulation_id}"
            new = _new(api, caller, source, origin, {}, route, str(run_id), digest)
            await lineage.create_derived(tx, new)
        await ahit("api.derive.before_commit")
        return simulation_id, False

    return await once(api, caller, work)


async def _derive(
    api: Api, caller: Caller, run_id: UUID, verb: str, raw: Any, key: str, origin_of: Callable[..., Any]
) -> Created:
    digest, route = fingerprint(raw), f"POST /v1/runs/{run_id}/{verb}"

    async def work(tx: Tx) -> Created:
        source = await lineage.source_run(tx, run_id, None if caller.oversees else caller.user_id)
        owner = caller.user_id if verb == "simulations" else source["user_id"]
        named = route if owner == caller.user_id else f"{route} by {caller.user_id}"
        claim, held = await settings_store.claim_for_run(tx, owner, named, key, digest)
        stored = judged(claim, digest)
        if stored is not None and stored.run_id is not None:
            return Created(await views.run(tx, stored.run_id), replayed=True)
        if source["origin_kind"] == "compensation" and verb != "simulations":
            detail = "order it anew: POST /v1/effects/{id}/compensation, or `fencepost effects compensate`"
            raise Conflict("run_is_an_order", detail)
        check_not_erased(source["input"])
        origin, more = await origin_of(tx, source)
        if verb != "simulations":  # a simulation runs on what is known already
            check_budgets(held.budgets, held.now, source["locale"])
        new = _new(api, caller, source, origin, more, named, key, digest)
        if (await lineage.create_derived(tx, new)).replayed:
            raise InWork
        await ahit("api.derive.before_commit")
        return Created(await views.run(tx, new.id), replayed=False)

    created = await once(api, caller, work)
    api.runs.touch(created.row["id"])
    return created


def _new(
    api: Api,
    caller: Caller,
    source: RowMapping,
    origin: Origin,
    more: dict[str, Any],
    route: str,
    key: str,
    digest: str,
    new_id: UUID | None = None,
) -> NewRun:
    """A retry and a fork act for the run's own user, whoever asks; a simulation is its asker's."""
    simulated = origin.kind == "simulation"
    mine = source["user_id"] == caller.user_id
    user = caller.user_id if simulated else source["user_id"]
    given = more.get("input") or source["input"]
    return NewRun(
        id=new_id or api.ids.uuid7(),
        tenant_id=caller.tenant_id,
        user_id=user,
        roles=tuple(sorted(caller.roles))
        if mine or simulated
        else tuple(source["roles_today"] or source["roles"]),
        module=source["module"],
        conversation_id=api.ids.uuid7() if simulated else source["conversation_id"],
        input=given,
        locale=given.get("locale") or source["locale"],
        zone=given.get("zone") or source["zone"],
        currency=given.get("currency") or source["currency"],
        route=route,
        idempotency_key=key,
        request_hash=digest,
        metadata=source["metadata"],
        budget=source["budget"],
        deadline=deadline_of((source["budget"] or {}).get("seconds")),
        mode=RunMode.SIMULATION if simulated else RunMode.LIVE,
        root_run_id=None if simulated else source["root_run_id"],
        origin=origin,
        asked_by=caller.user_id,
    )

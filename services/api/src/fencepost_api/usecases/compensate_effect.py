"""Undo an effect: an operator's order, carried out by a run of its own (ADR-0030).

One transaction on the first run's row: the effect is `compensating`, its log says by whom and why, and the
compensating run exists, or nothing of it. What that run does it does like any other: prepared, approved where
its risk asks for that, attempted, looked up. It spends a budget of its own: what used up one can be undone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from fencepost_contracts.compensation import Compensate, NothingToUndoBy, arguments_for
from fencepost_contracts.http_effects import CompensationRequest
from fencepost_domain.decision import Decision, NewEvent
from fencepost_domain.errors import Conflict
from fencepost_domain.vocabulary import TERMINAL, EffectState, Ev
from fencepost_runtime.failpoints import ahit
from fencepost_store import compensation, lineage, views, views_effects
from fencepost_store.record import record
from fencepost_store.runs import NewRun, Origin, create_run, lock_run
from fencepost_store.transaction import Tx
from sqlalchemy import RowMapping

from fencepost_api.auth import Caller
from fencepost_api.context import Api
from fencepost_api.render import Row
from fencepost_api.texts import undo_words
from fencepost_api.usecases.once import InWork, claimed, fingerprint, once


@dataclass(frozen=True, slots=True)
class Ordered:
    """The effect as stored, and the run that undoes it. replayed: the key had ordered it before."""

    row: Row
    run_id: UUID
    replayed: bool


async def compensate_effect(
    api: Api, caller: Caller, effect_id: str, request: CompensationRequest, key: str
) -> Ordered:
    """Raises NotFound, Forbidden, Conflict not_compensable | not_completed | idempotency_key_reused."""
    caller.need("operator", "admin")
    digest = fingerprint(request.model_dump(mode="json"))
    route = f"POST /v1/effects/{effect_id}/compensation by {caller.user_id}"

    async def work(tx: Tx) -> Ordered:
        first = await compensation.to_be_undone(tx, effect_id)
        source = await lineage.source_run(tx, first["run_id"], None)
        stored = await claimed(tx, source["user_id"], route, key, digest)
        if stored is not None and stored.run_id is not None:
            return Ordered(await views_effects.effect(tx, effect_id), stored.run_id, replayed=True)
        locked = await lock_run(tx, first["run_id"])
        first = await compensation.to_be_undone(tx, effect_id)
        order = await _order(tx, caller, source, first, request)
        new = _new(api, caller, source, order, route, key, digest)
        if not await compensation.start_compensation(tx, effect_id, new.id):
            raise _not_completed(first)
        event = NewEvent(tx.ids.uuid7(), Ev.EFFECT_COMPENSATING, {
            "effect_key": effect_id, "index": int(effect_id.split(":")[2]), "tool": first["tool"],
            "state": str(EffectState.COMPENSATING), "by": f"user:{caller.user_id}", "detail": request.reason,
            "run_id": str(new.id), "late": locked.run.status in TERMINAL,
        }, f"user:{caller.user_id}")  # fmt: skip
        await record(tx, locked.run, Decision(None, events=(event,)))
        if (await create_run(tx, new)).replayed:
            raise InWork
        await ahit("api.compensate.before_commit")
        return Ordered(await views_effects.effect(tx, effect_id), new.id, replayed=False)

    ordered = await once(api, caller, work)
    for run_id in (ordered.run_id, ordered.row["run_id"]):
        api.runs.touch(run_id)
    await ahit("api.compensate.before_response")
    return ordered


def _not_completed(first: RowMapping) -> Conflict:
    told = {"state": first["state"]}
    if first["compensation_run_id"] is not None:
        told["compensation_run_id"] = str(first["compensation_run_id"])
    return Conflict("not_completed", f"it is {first['state']}: only what completed can be undone", told)


async def _order(
    tx: Tx, caller: Caller, source: RowMapping, first: RowMapping, request: CompensationRequest
) -> dict[str, Any]:
    """What the run is to do, by the module's contract of today."""
    if first["state"] != EffectState.COMPLETED:
        raise _not_completed(first)
    tools = {tool["name"]: tool for tool in await _tools(tx, source["module"])}
    said = tools.get(first["tool"], {}).get("compensate")
    if said is None:
        raise Conflict(
            "not_compensable",
            f"the contract of {source['module']} names nothing that undoes {first['tool']}: "
            "add `compensate: {tool, arguments}` to it, or undo it by hand on the other side",
        )
    block = Compensate.model_validate(said)
    if block.tool not in tools:
        raise Conflict("not_compensable", f"{block.tool}, which undoes it, is not published")
    known = {
        "arguments": json.loads(first["arguments"]),
        "result": None if first["result_invalid"] else first["result"],
        "external_id": first["external_id"],
        "effect_key": first["effect_key"],
    }
    try:
        arguments = arguments_for(block, known)
    except NothingToUndoBy as error:
        raise Conflict("not_compensable", f"{block.tool} can't be called: {error}") from None
    return {
        "tool": block.tool,
        "arguments": arguments,
        "compensates": first["effect_key"],
        "by": caller.user_id,
        "reason": request.reason,
    }


async def _tools(tx: Tx, module: str) -> list[dict[str, Any]]:
    rows = await views.modules(tx, module)
    found: list[dict[str, Any]] = json.loads(rows[0]["body"])["tools"] if rows else []
    return found


def _new(
    api: Api, caller: Caller, source: RowMapping, order: Mapping[str, Any], route: str, key: str, digest: str
) -> NewRun:
    """It acts for the first run's own user, with the roles that person has today, in a conversation of its
    own: nobody is made to have said what they didn't."""
    return NewRun(
        id=api.ids.uuid7(),
        tenant_id=caller.tenant_id,
        user_id=source["user_id"],
        roles=tuple(source["roles_today"] or source["roles"]),
        module=source["module"],
        conversation_id=api.ids.uuid7(),
        input={"text": undo_words(source["locale"], order["compensates"]), "ordered": dict(order)},
        locale=source["locale"],
        zone=source["zone"],
        currency=source["currency"],
        route=route,
        idempotency_key=key,
        request_hash=digest,
        metadata=source["metadata"],
        origin=Origin("compensation", source["id"], rerouted=True),
        asked_by=caller.user_id,
    )

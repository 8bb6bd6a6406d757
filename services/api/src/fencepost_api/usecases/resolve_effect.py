"""A person says what became of an effect: with evidence, once, and the run that waits for it goes on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from uuid import UUID

from fencepost_contracts.http_effects import EffectResolution
from fencepost_domain.decision import Decision, NewEvent
from fencepost_domain.errors import Conflict
from fencepost_domain.vocabulary import TERMINAL, EffectState, Ev, WaitingOn
from fencepost_domain.waits import decide_wake
from fencepost_runtime.failpoints import ahit
from fencepost_store import interrupts, views_effects
from fencepost_store.record import record
from fencepost_store.runs import lock_run
from fencepost_store.transaction import Tx

from fencepost_api.auth import Caller
from fencepost_api.context import Api
from fencepost_api.render import Row
from fencepost_api.usecases.once import fingerprint


@dataclass(frozen=True, slots=True)
class Settled:
    """The effect as stored. replayed: the same was said before."""

    row: Row
    run_id: UUID
    replayed: bool


async def resolve_effect(
    api: Api, caller: Caller, effect_id: str, request: EffectResolution, key: str
) -> Settled:
    """Raises NotFound, Forbidden, Conflict already_resolved, effect_not_yours or idempotency_key_reused."""
    caller.need("operator", "admin")
    settled = await api.store.run(caller.tenant_id, lambda tx: _resolve(tx, caller, effect_id, request, key))
    api.runs.touch(settled.run_id)
    await ahit("api.resolve.before_response")
    return settled


async def _resolve(tx: Tx, caller: Caller, effect_id: str, request: EffectResolution, key: str) -> Settled:
    run_id = (await views_effects.effect(tx, effect_id))["run_id"]
    locked = await lock_run(tx, run_id)
    row = await views_effects.effect(tx, effect_id)
    said = request.model_dump(mode="json", exclude_none=True)
    digest = fingerprint({name: said[name] for name in ("outcome", "external_id") if name in said})
    if row["resolution_hash"] is not None:
        if row["resolution_hash"] != digest:
            if row["resolution_key"] == key:
                raise Conflict("idempotency_key_reused", "this key was used for another resolution")
            stored = {"resolution": dict(row["resolution"])}
            raise Conflict("already_resolved", "it was resolved otherwise before", stored)
        if row["state"] != "needs_human":
            return Settled(row, run_id, replayed=True)
    asked = await views_effects.open_reconcile(tx, run_id, row["index"])
    held = await interrupts.lock_interrupt(tx, asked) if asked is not None else None
    if not await views_effects.resolve_effect(
        tx, effect_id, said, digest=digest, idempotency_key=key, by=caller.user_id
    ):
        raise Conflict("effect_not_asked", _why_not(row, request.outcome))
    told = {
        "effect_key": effect_id, "index": row["index"], "tool": row["tool"], "state": request.outcome,
        "by": f"user:{caller.user_id}", "detail": request.evidence, "external_id": request.external_id,
        "late": locked.run.status in TERMINAL,
    }  # fmt: skip
    event = NewEvent(tx.ids.uuid7(), Ev.EFFECT_RESOLVED, told, f"user:{caller.user_id}")
    if held is not None:
        await record(tx, locked.run, Decision(None, events=(event,)))
        await interrupts.resolve(
            tx, locked.run, locked.now, held[0], resolution=said, resolution_hash=digest, key=key,
            by=caller.user_id,
        )  # fmt: skip
    else:
        waits = locked.run.waiting_on is WaitingOn.RECONCILE
        woken = decide_wake(locked.run, tx.ids.uuid7(), cause="resolution", now=locked.now) if waits else None
        decision = woken or Decision(None)
        decision = replace(decision, sets={**decision.sets, "wake": True}, events=(event, *decision.events))
        await record(tx, locked.run, decision)
    await ahit("api.resolve.before_commit")
    return Settled(await views_effects.effect(tx, effect_id), run_id, replayed=False)


def _why_not(row: Row, outcome: str) -> str:
    if row["state"] != EffectState.NEEDS_HUMAN:
        return f"it is {row['state']}: only needs_human is a person's to settle"
    if row["compensation_run_id"] is not None:
        return (
            f"it happened, and undoing it failed, so it isn't {outcome}: `compensated` if it was taken back, "
            "`completed` if it stands, `abandoned` if nobody can find out"
        )
    return "nothing was ordered to undo it, so it isn't compensated: completed, absent or abandoned"

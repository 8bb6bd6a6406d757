"""Take a person's decision: one atomic step, judged on the locked rows (I13, case AP-1).

The run's row is locked first, then the interrupt's; expiry is read above that lock, so a sweep that never
ran makes no difference.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from fencepost_contracts.http import ResolutionRequest
from fencepost_domain.effect import effect_key
from fencepost_domain.errors import Conflict, Forbidden
from fencepost_domain.interrupt import Interrupt, decide_resolution
from fencepost_domain.vocabulary import InterruptKind, Stop
from fencepost_runtime.failpoints import ahit
from fencepost_store import interrupts, settings_store, views
from fencepost_store.runs import lock_run
from fencepost_store.transaction import Tx

from fencepost_api.auth import Caller
from fencepost_api.context import Api
from fencepost_api.render import Row
from fencepost_api.resolution import read_resolution
from fencepost_api.texts import goes_on_as
from fencepost_api.usecases.decide_approval import Ballot, Decider, decide_approval
from fencepost_api.usecases.derive_run import fork_elsewhere
from fencepost_api.usecases.once import fingerprint
from fencepost_api.usecases.stop_run import stop

FORK: Final = "fork"


@dataclass(frozen=True, slots=True)
class Resolved:
    """The interrupt as stored. `replayed`: the same was decided before."""

    row: Row
    run_id: UUID
    replayed: bool


def visible(caller: Caller) -> views.InterruptFilter:
    """Which interrupts a caller may see: their own, approvers all approvals, operators all."""
    if caller.oversees:
        return views.InterruptFilter()
    approvals_too = caller.decides or caller.notifies
    return views.InterruptFilter(user_id=caller.user_id, approvals_too=approvals_too)


async def resolve_interrupt(
    api: Api, caller: Caller, interrupt_id: UUID, request: ResolutionRequest, key: str
) -> Resolved:
    """Raises NotFound, Forbidden, Invalid, Gone, Conflict already_resolved | already_voted, or of the key."""

    async def work(tx: Tx) -> Resolved:
        row = await views.interrupt(tx, interrupt_id, visible(caller))
        who = Decider(caller.user_id, caller.roles)
        fresh = await decide(tx, who, row["run_id"], interrupt_id, request, key, oversees=caller.oversees)
        if fresh:
            await settings_store.see_principal(tx, caller.user_id, caller.roles)
        row = await views.interrupt(tx, interrupt_id, visible(caller))
        if fresh:
            await _follow(api, tx, caller, row)
            await ahit("api.resolve.before_commit")
        return Resolved(row, row["run_id"], replayed=not fresh)

    resolved = await api.store.run(caller.tenant_id, work)
    api.runs.touch(resolved.run_id)
    await ahit("api.resolve.before_response")
    return resolved


async def _follow(api: Api, tx: Tx, caller: Caller, row: Row) -> None:
    """An answer that does more than wake its run: `stop` and `fork` of one that nobody serves."""
    said = row["resolution"] or {}
    if row["kind"] != InterruptKind.VERSION or said.get("choice") not in ("stop", FORK):
        return
    run = (await lock_run(tx, row["run_id"])).run
    if said["choice"] == "stop":
        await stop(api, tx, caller, run, Stop.CANCEL, note="version_not_served")
        return
    new_id = UUID(said["run_id"])
    words = goes_on_as(run.locale, new_id)
    await stop(api, tx, caller, run, Stop.CANCEL, note="forked", said=words)
    await fork_elsewhere(api, tx, caller, run.id, new_id, f"POST /v1/interrupts/{row['id']}/resolution")


async def decide(
    tx: Tx,
    who: Decider,
    run_id: UUID,
    interrupt_id: UUID,
    request: ResolutionRequest,
    key: str,
    *,
    oversees: bool = False,
) -> bool:
    """Take a decision on locked rows; False when the same stands already. oversees: may answer for others."""
    locked = await lock_run(tx, run_id)
    interrupt, now = await interrupts.lock_interrupt(tx, interrupt_id)
    standing = await views.interrupt_standing(tx, interrupt_id)
    if interrupt.kind is InterruptKind.RECONCILE:
        _check_may_answer(who, interrupt.kind, standing, oversees=oversees)
        raise await _settled_by_its_effect(tx, interrupt)
    resolution = read_resolution(interrupt, standing, request)
    digest = fingerprint(resolution.sameness)
    if interrupt.kind is InterruptKind.APPROVAL:
        ballot = Ballot(resolution, digest, key, request.remember)
        return await decide_approval(tx, who, locked, interrupt, now, standing, ballot)
    _check_may_answer(who, interrupt.kind, standing, oversees=oversees)
    if standing.key == key and standing.resolved_by == who.user_id and interrupt.resolution_hash != digest:
        raise Conflict("idempotency_key_reused", "this key was used for another decision")
    fresh = decide_resolution(interrupt, locked.run.status, digest, now).fresh
    if fresh:
        await interrupts.resolve(
            tx,
            locked.run,
            now,
            interrupt,
            resolution=_kept(interrupt, resolution.stored, tx),
            resolution_hash=digest,
            key=key,
            by=who.user_id,
        )
    return fresh


def _kept(interrupt: Interrupt, said: Mapping[str, Any], tx: Tx) -> Mapping[str, Any]:
    """As stored: a fork of what nobody serves names the run that goes on."""
    if interrupt.kind is InterruptKind.VERSION and said.get("choice") == FORK:
        return {**said, "run_id": str(tx.ids.uuid7())}
    return said


async def _settled_by_its_effect(tx: Tx, interrupt: Interrupt) -> Conflict:
    """What happened is said of the effect, with evidence: an answer here would wake the run to ask again."""
    shown = (await views.interrupt(tx, interrupt.id, views.InterruptFilter()))["preview"] or [{}]
    key = shown[0].get("effect_key") if isinstance(shown, list) else None
    key = key or effect_key(interrupt.run_id, interrupt.indexes[0] if interrupt.indexes else 0)
    return Conflict(
        "settle_the_effect",
        f"say what became of the effect, with evidence: POST /v1/effects/{key}/resolution, or "
        f"`fencepost effects resolve {key}`; that answers this question too",
        {"effect_key": key},
    )


def _check_may_answer(who: Decider, kind: InterruptKind, standing: views.Standing, *, oversees: bool) -> None:
    """Questions are answered by who was asked; the rest by operators."""
    if oversees:
        return
    if kind is not InterruptKind.INPUT:
        raise Forbidden("this needs the role operator")
    if who.user_id != standing.requester:
        raise Forbidden("only the person who was asked may answer")

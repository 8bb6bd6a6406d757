"""Take a person's decision: one atomic step, judged on the locked rows (I13, case AP-1).

The run's row is locked first, then the interrupt's; expiry is read above that lock, so a sweep that never
ran makes no difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from fencepost_contracts.http import ResolutionRequest
from fencepost_contracts.loader import read_catalog
from fencepost_contracts.schema import Schema
from fencepost_domain.errors import Conflict, Forbidden
from fencepost_domain.interrupt import decide_resolution
from fencepost_domain.policy import check_may_decide
from fencepost_domain.vocabulary import InterruptKind, Risk
from fencepost_runtime.failpoints import ahit
from fencepost_store import interrupts, settings_store, views
from fencepost_store.runs import lock_run
from fencepost_store.transaction import Tx

from fencepost_api.auth import Caller
from fencepost_api.context import Api
from fencepost_api.effective import effective
from fencepost_api.render import Row
from fencepost_api.resolution import Resolution, check_edits, read_resolution
from fencepost_api.usecases.create_run import fingerprint


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
    return views.InterruptFilter(user_id=caller.user_id, approvals_too=caller.decides)


async def resolve_interrupt(
    api: Api, caller: Caller, interrupt_id: UUID, request: ResolutionRequest, key: str
) -> Resolved:
    """Raises NotFound, Forbidden, Invalid, Conflict already_resolved or idempotency_key_reused, Gone."""
    resolved = await api.store.run(
        caller.tenant_id, lambda tx: _resolve(tx, caller, interrupt_id, request, key)
    )
    api.runs.touch(resolved.run_id)
    await ahit("api.resolve.before_response")
    return resolved


async def _resolve(
    tx: Tx, caller: Caller, interrupt_id: UUID, request: ResolutionRequest, key: str
) -> Resolved:
    row = await views.interrupt(tx, interrupt_id, visible(caller))
    locked = await lock_run(tx, row["run_id"])
    interrupt, now = await interrupts.lock_interrupt(tx, interrupt_id)
    standing = await views.interrupt_standing(tx, interrupt_id)
    resolution = read_resolution(interrupt, standing, request)
    await _check_rights(tx, caller, interrupt.kind, standing, resolution)
    digest = fingerprint(resolution.sameness)
    if _key_differs(standing, caller, key, interrupt.resolution_hash, digest):
        raise Conflict("idempotency_key_reused", "this key was used for another decision")
    fresh = decide_resolution(interrupt, locked.run.status, digest, now).fresh
    if fresh:
        await _check_edits(tx, interrupt_id, resolution)
        await interrupts.resolve(
            tx,
            locked.run,
            now,
            interrupt,
            resolution=resolution.stored,
            resolution_hash=digest,
            key=key,
            by=caller.user_id,
            decisions=resolution.decisions,
        )
        await settings_store.see_principal(tx, caller.user_id, caller.roles)
        row = await views.interrupt(tx, interrupt_id, visible(caller))
        await ahit("api.resolve.before_commit")
    else:
        row = await views.interrupt(tx, interrupt_id, visible(caller))
    return Resolved(row, locked.run.id, replayed=not fresh)


async def _check_edits(tx: Tx, interrupt_id: UUID, resolution: Resolution) -> None:
    """Raises Invalid. The gateway judges them again when they are prepared; here the editor still listens."""
    if not resolution.edited:
        return
    schemas = {}
    for row in await views.schemas_of_actions(tx, interrupt_id, list(resolution.edited)):
        tool = read_catalog(row["fingerprint"], row["body"]).tool(row["tool"])
        if tool is not None:
            schemas[row["index"]] = Schema(tool.input_schema)
    check_edits(resolution.edited, schemas)


def _key_differs(standing: views.Standing, caller: Caller, key: str, stored: str | None, digest: str) -> bool:
    return standing.key == key and standing.resolved_by == caller.user_id and stored != digest


async def _check_rights(
    tx: Tx, caller: Caller, kind: InterruptKind, standing: views.Standing, resolution: Resolution
) -> None:
    """Approvals by policy; questions by who was asked; the rest by operators."""
    if kind is InterruptKind.APPROVAL:
        four_eyes = effective(*await settings_store.read(tx, caller.user_id)).four_eyes
        for index in resolution.indexes or (0,):
            edited = index in resolution.edited
            check_may_decide(
                caller=caller.user_id,
                caller_roles=caller.roles,
                requester=standing.requester,
                author=caller.user_id if edited else standing.authors.get(index, standing.requester),
                risk=Risk(standing.risk or Risk.HIGH),
                four_eyes=four_eyes,
            )
    elif kind is InterruptKind.INPUT:
        if caller.user_id != standing.requester and not caller.oversees:
            raise Forbidden("only the person who was asked may answer")
    elif not caller.oversees:
        raise Forbidden("this needs the role operator")

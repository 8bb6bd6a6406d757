"""Claims, leases and their renewal (design 02 §2).

The claim is one of the two exceptions to `record`: choosing runs and moving them must be one statement.
It appends `run.claimed` to each run's chain in that statement as well. A claim carries a nonce, by which
a worker whose answer was lost finds what it took.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal
from uuid import UUID

from fencepost_domain.decision import Decision, NewEvent
from fencepost_domain.errors import Conflict
from fencepost_domain.fence import Fence, FenceKind
from fencepost_domain.run import Run
from fencepost_domain.vocabulary import Ev
from sqlalchemy import RowMapping

from fencepost_store.bindings import Versions
from fencepost_store.record import Recorded, canonical, record
from fencepost_store.runs import to_run
from fencepost_store.transaction import Tx

Answer = Literal["held", "pause", "stop", "taken", "skipped", "unclaimed"]
CLAIMERS_AT_ONCE: Final = 4  # workers whose claims in flight still leave something for one more
TENANTS_PER_CLAIM: Final = 64  # tenants looked at in one claim; the rest have their turn in the next


@dataclass(frozen=True, slots=True)
class Claim:
    """A claimed run: its row, what it starts from and what it is bound to ('' and None: not yet).

    said: messages in its conversation so far, its own request among them.
    """

    run: Run
    input: Mapping[str, Any]
    currency: str
    metadata: Mapping[str, str]
    budget: Mapping[str, Any]
    manifest_fp: str | None
    catalog_fp: str | None
    root_run_id: UUID
    traceparent: str | None
    created_at: datetime
    said: int
    now: datetime

    @property
    def fence(self) -> Fence:
        return self.run.fence()


@dataclass(frozen=True, slots=True)
class Beat:
    """The database's answer for one run; on `stop`, `revision` is the one to drain under."""

    run_id: UUID
    answer: Answer
    revision: int


def _to_claim(row: RowMapping) -> Claim:
    return Claim(
        run=to_run(row),
        input=row["input"],
        currency=row["currency"],
        metadata=row["metadata"],
        budget=row["budget"],
        manifest_fp=row["manifest_fp"],
        catalog_fp=row["catalog_fp"],
        root_run_id=row["root_run_id"],
        traceparent=row["traceparent"],
        created_at=row["created_at"],
        said=row["said"],
        now=row["now"],
    )


async def claim(
    tx: Tx,
    *,
    module: str,
    versions: Sequence[str],
    owner: str,
    lease: timedelta,
    limit: int,
    nonce: UUID,
    binding: Versions | None = None,
) -> list[Claim]:
    """Claim at most `limit` due runs of a module, bound to one of `versions` or not bound yet.

    owner: `owner_of(slot, boot_id)`. limit: the worker's free slots; 0 claims nothing.
    binding: what those not bound yet are bound to at once; None leaves them for `bindings.bind`.
    """
    if limit <= 0:
        return []
    rows = await tx.rows(
        "claim_runs",
        module=module,
        versions=["", *versions],
        owner=owner,
        actor=f"worker:{owner}",
        lease=lease,
        limit=limit,
        looked=limit * CLAIMERS_AT_ONCE,
        tenants=TENANTS_PER_CLAIM,
        nonce=nonce,
        bound=canonical(binding.told()) if binding else None,
        graph=binding.graph if binding else "",
        manifest=binding.manifest if binding else "",
        catalog=binding.catalog if binding else "",
    )
    return [_to_claim(row) for row in rows]


async def claimed_by_nonce(tx: Tx, *, owner: str, nonce: UUID) -> list[Claim]:
    """What a claim took whose answer was lost after COMMIT; empty when it didn't commit."""
    return [_to_claim(row) for row in await tx.rows("claimed_by_nonce", owner=owner, nonce=nonce)]


async def heartbeat(tx: Tx, *, owner: str, held: Mapping[UUID, int], lease: timedelta) -> list[Beat]:
    """Renew the leases of `held` (run id -> revision) and hear what became of them.

    `skipped`: locked by another just now, not lost; tried at the next beat. `unclaimed`: held by this
    owner but not named; the worker gives it up.
    """
    rows = await tx.rows(
        "renew_leases", owner=owner, run_ids=list(held), revisions=list(held.values()), lease=lease
    )
    return [Beat(row["run_id"], row["answer"], row["revision"]) for row in rows]


async def register_worker(
    tx: Tx, *, slot: str, boot_id: str, modules: Sequence[str], versions: Sequence[str], alive_for: timedelta
) -> int:
    """Say what this boot of the slot serves; renew_worker() keeps it so. Returns how many leases it ended."""
    row = await tx.row(
        "register_worker",
        slot=slot,
        boot_id=boot_id,
        modules=list(modules),
        versions=list(versions),
        alive_for=alive_for,
    )
    return int(row["ended"]) if row is not None else 0


async def renew_worker(
    tx: Tx, *, slot: str, boot_id: str, modules: Sequence[str], versions: Sequence[str], alive_for: timedelta
) -> bool:
    """Stay alive under the slot's name; False when a later boot has taken it."""
    params = {
        "slot": slot,
        "boot_id": boot_id,
        "modules": list(modules),
        "versions": list(versions),
        "alive_for": alive_for,
    }
    return await tx.row("renew_worker", **params) is not None


async def bind(
    tx: Tx, run: Run, fence: Fence, *, graph_version: str, manifest_fp: str, catalog_fp: str, event_id: UUID
) -> Recorded:
    """Bind a run to the versions of its first claim (I16): under the record fence, with `run.bound`.

    `run` is locked. Raises Conflict already_bound when it is bound to others.
    """
    if run.graph_version not in ("", graph_version):
        raise Conflict("already_bound", f"run {run.id} is bound to graph {run.graph_version}")
    bound = {"graph_version": graph_version, "manifest_fp": manifest_fp, "catalog_fp": catalog_fp}
    told = {"graph": graph_version, "manifest": manifest_fp, "catalog": catalog_fp}
    decision = Decision(
        None,
        sets=bound,
        events=(NewEvent(event_id, Ev.RUN_BOUND, told, f"worker:{fence.owner}"),),
        fence=fence,
        fence_kind=FenceKind.RECORD,
    )
    return await record(tx, run, decision)


async def unregister_worker(tx: Tx, *, slot: str, boot_id: str) -> None:
    await tx.execute("unregister_worker", {"slot": slot, "boot_id": boot_id})

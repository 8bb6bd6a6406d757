"""Runs made from runs: what each starts from, and what it inherits (design 02 §6, §8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from fencepost_contracts.evidence.frozen import FROZEN_TYPES, Frozen, frozen_of
from fencepost_domain.decision import Decision, NewEvent
from fencepost_domain.errors import Conflict, NotFound
from fencepost_domain.vocabulary import Ev
from sqlalchemy import RowMapping

from fencepost_store.event_log import log_of
from fencepost_store.record import record
from fencepost_store.runs import Created, NewRun, create_run, lock_run
from fencepost_store.storable import as_json
from fencepost_store.transaction import Tx


async def source_run(tx: Tx, run_id: UUID, user_id: str | None) -> RowMapping:
    """The run another is to be made from. user_id: only this user's. Raises NotFound."""
    row = await tx.row("source_run", run_id=run_id)
    if row is None or (user_id is not None and row["user_id"] != user_id):
        raise NotFound("run", run_id)
    return row


async def create_derived(tx: Tx, new: NewRun) -> Created:
    """As create_run, and where it is bound from the start, its log says to what."""
    created = await create_run(tx, new)
    origin = new.origin
    if not created.replayed and origin is not None and origin.bound is not None:
        graph, manifest, catalog = origin.bound
        told = {"graph": graph, "manifest": manifest, "catalog": catalog or None}
        locked = await lock_run(tx, new.id)
        event = NewEvent(tx.ids.uuid7(), Ev.RUN_BOUND, told, f"user:{new.asked_by or new.user_id}")
        await record(tx, locked.run, Decision(None, events=(event,)))
    return created


@dataclass(frozen=True, slots=True)
class Inheritance:
    """What a fork or a simulation goes on from. previews: by (index, n), what a person read, and the change.

    history_of: the run before which the conversation is read. state_at: when its state is read.
    """

    kind: str
    run_id: UUID
    at_seq: int
    substitutes: Mapping[str, Any]
    reference_at: datetime | None
    conversation_id: UUID
    history_of: UUID
    state_at: datetime
    frozen: Frozen
    previews: Mapping[tuple[int, int], tuple[Mapping[str, Any], Mapping[str, Any]]]


async def inheritance(tx: Tx, run_id: UUID) -> Inheritance | None:
    """None for a run that inherits nothing."""
    row = await tx.row("origin_of_run", run_id=run_id)
    if row is None:
        return None
    upto = row["origin_head"] if row["origin_seq"] is None else row["origin_seq"]
    events = await log_of(tx, row["origin_run_id"], upto, only=FROZEN_TYPES)
    answers = {
        str(a["id"]): a["answer"] for a in await tx.rows("answers_of_run", run_id=row["origin_run_id"])
    }
    previews = await tx.rows("previews_of_run", run_id=row["origin_run_id"])
    return Inheritance(
        row["origin_kind"],
        row["origin_run_id"],
        upto,
        row["substitutes"],
        row["reference_at"],
        row["conversation_id"],
        row["history_of"],
        row["origin_created_at"],
        frozen_of(events, answers),
        {(row["index"], row["n"]): (row["preview"], row["change"]) for row in previews},
    )


@dataclass(frozen=True, slots=True)
class Published:
    """A version that was named. served: a living worker takes up what is bound to it."""

    fingerprint: str
    served: bool


async def find_version(tx: Tx, kind: str, name: str, module: str) -> Published | None:
    """A graph or a contract of a module named by fingerprint or version; the newest of several."""
    rows = await tx.rows("find_version", kind=kind, wanted=name, module=module)
    return Published(rows[0]["fingerprint"], rows[0]["served"]) if rows else None


async def published_versions(tx: Tx, kind: str, module: str) -> list[str]:
    """Names of what is published for a module, the newest first, ten at most."""
    return [row["version"] for row in await tx.rows("published_versions", kind=kind, module=module)]


async def served_graph(tx: Tx, module: str) -> str | None:
    """The fingerprint of the newest graph that a living worker serves for a module."""
    row = await tx.row("served_graph", module=module)
    return row["fingerprint"] if row else None


async def last_real_runs(tx: Tx, module: str, last: int, user_id: str | None) -> list[UUID]:
    return [row["id"] for row in await tx.rows("last_real_runs", module=module, last=last, user_id=user_id)]


async def keep_simulation(
    tx: Tx,
    simulation_id: UUID,
    *,
    user_id: str,
    module: str,
    substitutes: Any,
    runs: int,
    key: str,
    digest: str,
) -> UUID | None:
    """The id that an earlier request under the key made, None when this is the first.

    Raises Conflict idempotency_key_reused.
    """
    new = await tx.row(
        "insert_simulation",
        id=simulation_id,
        user_id=user_id,
        module=module,
        substitutes=as_json(substitutes),
        runs=runs,
        key=key,
        request_hash=digest,
    )
    if new is not None:
        return None
    stored = await tx.row("simulation_by_key", user_id=user_id, key=key)
    if stored is None or stored["request_hash"] != digest:
        raise Conflict("idempotency_key_reused", "this key was used for another request")
    return UUID(str(stored["id"]))


async def simulation(
    tx: Tx, simulation_id: UUID, user_id: str | None
) -> tuple[RowMapping, Sequence[RowMapping]]:
    """A simulation over many runs, and those runs. Raises NotFound."""
    row = await tx.row("simulation", id=simulation_id, user_id=user_id)
    if row is None:
        raise NotFound("simulation", simulation_id)
    return row, await tx.rows("simulated_runs", id=simulation_id)

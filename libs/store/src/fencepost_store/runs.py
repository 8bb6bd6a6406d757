"""Runs: the row under its lock, and creation with its first event and hint in one transaction (I01, I02)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from fencepost_domain.decision import NewEvent
from fencepost_domain.errors import Conflict, NotFound
from fencepost_domain.run import REQUESTED, Run
from fencepost_domain.vocabulary import Ev, RunMode, RunStatus, Stop, WaitingOn
from sqlalchemy import RowMapping

from fencepost_store.record import event_params
from fencepost_store.storable import as_json, loggable, storable
from fencepost_store.transaction import Tx


@dataclass(frozen=True, slots=True)
class Locked:
    """A run's row, locked, and the database's instant read after the lock was had."""

    run: Run
    now: datetime


@dataclass(frozen=True, slots=True)
class Origin:
    """The run another one is made from.

    kind: `retry`, `fork`, `simulation` or `compensation`. at_seq: how far its log is inherited; None: not
    at all, or whole. reference_at: the instant the words mean; None for now. bound: graph, manifest
    and catalog to go on with; None to be bound at the first claim.
    """

    kind: str
    run_id: UUID
    at_seq: int | None = None
    substitutes: Mapping[str, Any] = field(default_factory=dict)
    reference_at: datetime | None = None
    bound: tuple[str, str, str] | None = None
    simulation_id: UUID | None = None
    rerouted: bool = False


@dataclass(frozen=True, slots=True)
class NewRun:
    """What a run starts from. Identity comes from the caller's token, never from the input.

    input: the wire's `input` object; `input["text"]` becomes the conversation's user message.
    request_hash: of the parsed request, so that key order and spaces don't count and values do.
    deadline: from creation; None for no deadline. continues: the handed-over run it goes on from.
    root_run_id: the lineage it belongs to, and whose budget it spends; its own when None. asked_by: an
    operator, where it isn't the user.
    """

    id: UUID
    tenant_id: UUID
    user_id: str
    roles: tuple[str, ...]
    module: str
    conversation_id: UUID
    input: Mapping[str, Any]
    locale: str
    zone: str | None
    currency: str
    route: str
    idempotency_key: str
    request_hash: str
    metadata: Mapping[str, str] = field(default_factory=dict)
    budget: Mapping[str, Any] = field(default_factory=dict)
    deadline: timedelta | None = None
    priority: int = 0
    mode: RunMode = RunMode.LIVE
    traceparent: str | None = None
    must_be_free: bool = False
    continues: UUID | None = None
    root_run_id: UUID | None = None
    origin: Origin | None = None
    asked_by: str | None = None


@dataclass(frozen=True, slots=True)
class Created:
    """times: created_at and deadline_at (None: none), by name; empty when an earlier request made the run."""

    run_id: UUID
    replayed: bool
    times: Mapping[str, datetime | None] = field(default_factory=dict)


def to_run(row: RowMapping) -> Run:
    """A row of `run_columns` as the domain's Run."""
    return Run(
        id=row["id"],
        tenant_id=row["tenant_id"],
        user_id=row["user_id"],
        roles=tuple(row["roles"]),
        module=row["module"],
        mode=RunMode(row["mode"]),
        status=RunStatus(row["status"]),
        waiting_on=WaitingOn(row["waiting_on"]) if row["waiting_on"] else None,
        stop=Stop(row["stop"]) if row["stop"] else None,
        pause_asked=row["pause_asked"],
        revision=row["revision"],
        attempt=row["attempt"],
        max_attempts=row["max_attempts"],
        progress=row["progress"],
        attempt_progress=row["attempt_progress"],
        wakes=row["wakes"],
        lease_owner=row["lease_owner"],
        lease_expires_at=row["lease_expires_at"],
        available_at=row["available_at"],
        deadline_at=row["deadline_at"],
        deadline_left=row["deadline_left"],
        conversation_id=row["conversation_id"],
        graph_version=row["graph_version"],
        event_seq=row["event_seq"],
        locale=row["locale"],
        zone=row["zone"],
        rerouted=row["rerouted"],
    )


async def lock_run(tx: Tx, run_id: UUID) -> Locked:
    """Take the run's row FOR NO KEY UPDATE: first in every transaction that writes for a run.

    Raises NotFound, also for a run of another tenant.
    """
    row = await tx.row("lock_run", run_id=run_id)
    if row is None:
        raise NotFound("run", run_id)
    return Locked(to_run(row), row["now"])


async def lock_run_if_free(tx: Tx, run_id: UUID) -> Locked | None:
    """The same with SKIP LOCKED, for sweeps: None when another has it or it is gone."""
    row = await tx.row("lock_run_if_free", run_id=run_id)
    return Locked(to_run(row), row["now"]) if row is not None else None


async def create_run(tx: Tx, new: NewRun) -> Created:
    """Create a run with its user message, first event, budget and hint; or find the one its key made.

    Concurrent twins wait for each other on the key's unique index and get the same run.
    Raises Conflict idempotency_key_reused (another request under this key), conversation_busy
    (`must_be_free`), NotFound for a conversation that is another's.
    """
    conversation = await _conversation(tx, new)
    event = NewEvent(tx.ids.uuid7(), Ev.RUN_REQUESTED, _requested(new), f"user:{new.asked_by or new.user_id}")
    inserted = await tx.row(
        "start_run",
        **event_params([event]),
        **_run_params(new),
        outbox_id=tx.ids.uuid7(),
        event_type=REQUESTED,
        message_id=tx.ids.uuid7(),
        text=storable(str(new.input.get("text", ""))),
    )
    if inserted is None:
        return await _replay(tx, new)
    if new.must_be_free and conversation["busy"]:
        raise Conflict("conversation_busy", "another run of this conversation is at work")
    tx.has_hint = True
    return Created(new.id, replayed=False, times=dict(inserted))


async def _conversation(tx: Tx, new: NewRun) -> RowMapping:
    """The run's conversation, made where there is none. Raises NotFound for one that is another's."""
    purpose = "simulation" if new.mode is RunMode.SIMULATION else "chat"
    known = {"id": new.conversation_id, "user_id": new.user_id}
    found = await tx.row("ensure_conversation", **known, tenant_id=new.tenant_id, purpose=purpose)
    found = found or await tx.row("conversation_of_user", **known)
    if found is None:
        raise NotFound("conversation", new.conversation_id)
    return found


def _requested(new: NewRun) -> dict[str, Any]:
    told: dict[str, Any] = {
        "module": new.module,
        "mode": str(new.mode),
        "text": storable(str(new.input.get("text", ""))),
        "locale": new.locale,
        "zone": new.zone,
        "currency": new.currency,
    }
    if new.origin is not None:
        told |= {
            "origin_kind": new.origin.kind,
            "origin_run_id": str(new.origin.run_id),
            "origin_seq": new.origin.at_seq,
            "substitutes": loggable(new.origin.substitutes),
        }
    return told


def _run_params(new: NewRun) -> dict[str, Any]:
    return {
        "id": new.id,
        "tenant_id": new.tenant_id,
        "user_id": new.user_id,
        "roles": list(new.roles),
        "module": new.module,
        "mode": str(new.mode),
        "conversation_id": new.conversation_id,
        "input": as_json(new.input),
        "locale": new.locale,
        "zone": new.zone,
        "currency": new.currency,
        "metadata": as_json(new.metadata),
        "budget": as_json(new.budget),
        "route": new.route,
        "key": new.idempotency_key,
        "request_hash": new.request_hash,
        "deadline": new.deadline,
        "priority": new.priority,
        "traceparent": new.traceparent,
        "continues": new.continues,
        "root": new.root_run_id or new.id,
        **_origin_params(new.origin),
    }


def _origin_params(origin: Origin | None) -> dict[str, Any]:
    bound = origin.bound if origin and origin.bound else ("", None, None)
    return {
        "origin_run_id": origin.run_id if origin else None,
        "origin_kind": origin.kind if origin else None,
        "origin_seq": origin.at_seq if origin else None,
        "substitutes": as_json(origin.substitutes) if origin else None,
        "reference_at": origin.reference_at if origin else None,
        "simulation_id": origin.simulation_id if origin else None,
        "rerouted": origin.rerouted if origin else False,
        "graph_version": bound[0],
        "manifest_fp": bound[1],
        "catalog_fp": bound[2],
    }


async def _replay(tx: Tx, new: NewRun) -> Created:
    stored = await tx.row("run_by_key", user_id=new.user_id, route=new.route, key=new.idempotency_key)
    if stored is None:  # cannot happen while the unique index stands; said rather than guessed
        raise Conflict("idempotency_key_in_use", "the run under this key is not visible")
    if stored["request_hash"] != new.request_hash:
        raise Conflict(
            "idempotency_key_reused", "this key was used for another request", {"run_id": str(stored["id"])}
        )
    return Created(stored["id"], replayed=True)


async def settled(tx: Tx, run: Run) -> bool:
    """No open attempt and no live child: the run may end at once."""
    row = await tx.row("run_is_settled", run_id=run.id)
    return bool(row and row["settled"])


async def open_wait(tx: Tx, run_id: UUID) -> WaitingOn | None:
    """What the run would wait for if it were resumed now: the kind of its open interrupt."""
    row = await tx.row("open_interrupt_kind", run_id=run_id)
    return WaitingOn(row["kind"]) if row is not None else None

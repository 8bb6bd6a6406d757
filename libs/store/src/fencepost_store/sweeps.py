"""The reconciler's view across tenants: who is to be looked at, and what may be told of it.

A sweep has two steps. `find_*` lists candidates without a lock; then each is locked by itself, judged
again by the domain on the locked row, and recorded. What was true when it was listed decides nothing
(case WF-2). Lists are in id order after a cursor, so that one row that always fails can't hide the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from fencepost_domain.errors import Unavailable
from fencepost_domain.vocabulary import InterruptKind, WaitingOn
from sqlalchemy.exc import DBAPIError

from fencepost_store.errors import sqlstate
from fencepost_store.storable import as_json
from fencepost_store.transaction import Tx

FIRST: Final = UUID(int=0)  # before every id: the start of a walk


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something to look at. `key` orders the walk; `run_id` is whose row is locked first."""

    key: UUID
    run_id: UUID


@dataclass(frozen=True, slots=True)
class OverdueAttempt:
    run_id: UUID
    effect_key: str
    attempt: int


@dataclass(frozen=True, slots=True)
class WaitsLookedAt:
    """Of one kind of wait. upto: go on behind it; None at the end of all. ended: whose wait is over."""

    kind: WaitingOn
    upto: UUID | None
    ended: Sequence[UUID]


@dataclass(frozen=True, slots=True)
class OpenInterrupt:
    id: UUID
    kind: InterruptKind


@dataclass(frozen=True, slots=True)
class Unserved:
    """Due work of a version that no living worker serves. `due_since`: the oldest.

    in_rollout: workers of the module were started a short while ago; one that serves it may be on its way.
    """

    module: str
    graph_version: str
    runs: int
    due_since: datetime
    in_rollout: bool


@dataclass(frozen=True, slots=True)
class Remains:
    """What is known of a run that somebody else ends: for its finalization.

    unconfirmed: effects that may have reached the world. undone: tools prepared and never run.
    done: effects that changed something.
    """

    unconfirmed: tuple[Mapping[str, Any], ...]
    undone: tuple[str, ...]
    usage: Mapping[str, Any]
    done: tuple[Mapping[str, Any], ...] = ()


async def _runs(tx: Tx, name: str, after: UUID, batch: int, **params: Any) -> list[Candidate]:
    rows = await tx.rows(name, after=after, batch=batch, **params)
    return [Candidate(row["id"], row["id"]) for row in rows]


async def find_expired_leases(
    tx: Tx, after: UUID, batch: int, *, leases_count: bool = True
) -> list[Candidate]:
    """leases_count False: within an outage's grace, only those that a slot's next boot gave up."""
    return await _runs(tx, "find_expired_leases", after, batch, only=None, leases_count=leases_count)


async def is_given_up(tx: Tx, run_id: UUID) -> bool:
    """Asked under the run's lock: did the next boot of its owner's slot end its lease?"""
    params = {"after": FIRST, "batch": 1, "only": run_id, "leases_count": False}
    return await tx.row("find_expired_leases", **params) is not None


async def find_drained(tx: Tx, after: UUID, batch: int, *, leases_count: bool) -> list[Candidate]:
    """leases_count False: within an outage's grace, only runs that nobody can hold any more."""
    return await _runs(tx, "find_drained", after, batch, only=None, leases_count=leases_count)


async def is_drained(tx: Tx, run_id: UUID, *, leases_count: bool) -> bool:
    """Asked under the run's lock: may it end now?"""
    params = {"after": FIRST, "batch": 1, "only": run_id, "leases_count": leases_count}
    return await tx.row("find_drained", **params) is not None


async def find_children_to_stop(tx: Tx, after: UUID, batch: int) -> list[Candidate]:
    return await _runs(tx, "find_children_to_stop", after, batch, only=None)


async def is_child_to_stop(tx: Tx, run_id: UUID) -> bool:
    """Asked under the run's lock; its parent's row is only read: a stop is never taken back."""
    return await tx.row("find_children_to_stop", after=FIRST, batch=1, only=run_id) is not None


async def find_expired_interrupts(tx: Tx, after: UUID, batch: int) -> list[Candidate]:
    rows = await tx.rows("find_expired_interrupts", after=after, batch=batch)
    return [Candidate(row["id"], row["run_id"]) for row in rows]


async def find_untold_tasks(tx: Tx, after: UUID, batch: int) -> list[Candidate]:
    rows = await tx.rows("find_untold_tasks", after=after, batch=batch)
    return [Candidate(row["id"], row["run_id"]) for row in rows]


async def find_passed_deadlines(tx: Tx, after: UUID, batch: int) -> list[Candidate]:
    return await _runs(tx, "find_passed_deadlines", after, batch)


async def find_ended_pauses(tx: Tx, after: UUID, batch: int) -> list[Candidate]:
    return await _runs(tx, "find_ended_pauses", after, batch, only=None)


async def has_pause_ended(tx: Tx, run_id: UUID) -> bool:
    """Asked under the run's lock."""
    return await tx.row("find_ended_pauses", after=FIRST, batch=1, only=run_id) is not None


async def look_at_waits(tx: Tx, afters: Mapping[WaitingOn, UUID], batch: int) -> list[WaitsLookedAt]:
    """Look at the next `batch` waiting runs of each kind in `afters`, behind the id it names."""
    rows = await tx.rows(
        "find_ended_waits", kinds=[str(kind) for kind in afters], afters=list(afters.values()), batch=batch
    )
    return [
        WaitsLookedAt(WaitingOn(r["kind"]), r["upto"] if r["looked"] == batch else None, r["ended"])
        for r in rows
    ]


async def is_wait_over(tx: Tx, run_id: UUID, on: WaitingOn) -> bool:
    """Asked under the run's lock: is what it waits on settled?"""
    just_before = UUID(int=run_id.int - 1)
    looked = await look_at_waits(tx, {on: just_before}, 1)
    return any(run_id in one.ended for one in looked)


async def withdraw_open_interrupt(tx: Tx, run_id: UUID) -> OpenInterrupt | None:
    """Close the run's open question, under the run's lock; None when it asks nothing."""
    row = await tx.row("withdraw_open_interrupts", run_id=run_id)
    return OpenInterrupt(row["id"], InterruptKind(row["kind"])) if row is not None else None


async def find_overdue_attempts(tx: Tx, after: UUID, batch: int) -> list[OverdueAttempt]:
    rows = await tx.rows("find_overdue_attempts", after=after, batch=batch)
    return [OverdueAttempt(row["run_id"], row["effect_key"], row["attempt"]) for row in rows]


async def time_out_attempt(tx: Tx, overdue: OverdueAttempt) -> Mapping[str, Any] | None:
    """Under the run's lock: the attempt becomes `unknown`. Its effect's tool and index, None if settled."""
    effect = await tx.row("lock_effect_for_sweep", effect_key=overdue.effect_key)
    ended = await tx.row("time_out_attempt", effect_key=overdue.effect_key, attempt=overdue.attempt)
    return dict(effect) if effect is not None and ended is not None else None


@dataclass(frozen=True, slots=True)
class DueEffect:
    """An effect whose outcome isn't known and may be asked about now."""

    run_id: UUID
    index: int


async def find_due_effects(tx: Tx, batch: int, but: Sequence[str] = ()) -> list[DueEffect]:
    """but: keys of those that could not be asked a moment ago."""
    rows = await tx.rows("find_due_effects", batch=batch, but=list(but))
    return [DueEffect(row["run_id"], row["index"]) for row in rows]


async def time_out_model_calls(tx: Tx, batch: int) -> int:
    return len(await tx.rows("time_out_model_calls", batch=batch))


async def remains_of(tx: Tx, run_id: UUID) -> Remains:
    """Read under the run's lock, for whoever ends the run in its worker's place."""
    effects = await tx.rows("unconfirmed_effects", run_id=run_id)
    undone = await tx.rows("undone_actions", run_id=run_id)
    used = await tx.row("usage_for_ending", run_id=run_id)
    assert used is not None  # an aggregate always has its row
    return Remains(
        tuple(dict(effect) for effect in effects),
        tuple(row["tool"] for row in undone),
        {
            "model_calls": int(used["model_calls"]),
            "input_tokens": int(used["input_tokens"]),
            "output_tokens": int(used["output_tokens"]),
            "cost": {"value": str(used["cost"]), "currency": used["currency"]},
        },
        tuple(dict(effect) for effect in await tx.rows("completed_effects", run_id=run_id)),
    )


async def unserved(tx: Tx) -> list[Unserved]:
    rows = await tx.rows("unserved_runs")
    return [
        Unserved(r["module"], r["graph_version"], int(r["runs"]), r["due_since"], r["in_rollout"])
        for r in rows
    ]


async def find_unserved_runs(
    tx: Tx, wanted: Sequence[tuple[str, str]], after: UUID, batch: int
) -> list[Candidate]:
    """wanted: (module, version) that nobody served for too long."""
    modules, versions = [module for module, _ in wanted], [version for _, version in wanted]
    return await _runs(tx, "find_unserved_runs", after, batch, only=None, modules=modules, versions=versions)


async def is_unserved(tx: Tx, run_id: UUID) -> bool:
    """Asked under the run's lock: is it queued and due, and still served by nobody?"""
    params = {"after": FIRST, "batch": 1, "only": run_id, "modules": [], "versions": []}
    return await tx.row("find_unserved_runs", **params) is not None


async def ask_about_version(
    tx: Tx, run_id: UUID, interrupt_id: UUID, question: str, candidates: Sequence[Mapping[str, str]]
) -> None:
    await tx.execute(
        "ask_about_version",
        {"id": interrupt_id, "run_id": run_id, "question": question, "candidates": as_json(candidates)},
    )


async def database_answers(tx: Tx) -> None:
    """Raises Unavailable when it doesn't."""
    await tx.rows("database_answers")


async def ensure_partitions(tx: Tx, months_ahead: int) -> int:
    row = await tx.row("ensure_partitions", ahead=months_ahead)
    return int(row["made"]) if row is not None else 0


async def default_partition_is_used(tx: Tx) -> bool:
    """Did an event fall outside every month's partition (a host whose clock is years off, no reconciler)?"""
    row = await tx.row("default_partition_is_used")
    return bool(row and row["used"])


async def prune(tx: Tx, what: str, batch: int) -> int:
    """Delete at most `batch` rows past their time of `feed`, `outbox` or `inbox`. Returns how many."""
    return (await tx.execute(f"prune_{what}", {"batch": batch})).rowcount


PRUNED: Final[Sequence[str]] = ("feed", "outbox", "inbox")


def was_slow(error: Unavailable) -> bool:
    """A lock or statement timeout: the database is there, somebody else was in the way."""
    cause = error.__cause__
    return isinstance(cause, DBAPIError) and sqlstate(cause) in {"55P03", "57014"}

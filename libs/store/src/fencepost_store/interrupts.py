"""Interrupts: asked once, answered once, by one atomic step (design 02 §4).

Opening and parking are one transaction; whatever may end a wait raises the run's `wakes` in its own, so
that a decision which lands between the worker's look and its parking is never slept through (case AP-6).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from fencepost_domain.decision import Decision, NewEvent, NewFeed
from fencepost_domain.errors import Gone, NotFound
from fencepost_domain.fence import Fence, FenceKind
from fencepost_domain.interrupt import Interrupt
from fencepost_domain.run import PERSON_WAITS, Run, check_fence
from fencepost_domain.vocabulary import Ev, InterruptKind, InterruptStatus, WaitingOn
from fencepost_domain.waits import decide_park, decide_wake
from sqlalchemy import RowMapping

from fencepost_store.record import Recorded, record
from fencepost_store.storable import as_json, loggable, storable
from fencepost_store.transaction import Tx


@dataclass(frozen=True, slots=True)
class NewInterrupt:
    """A question to a person. `index`, `n`: the first action asked for, or the round of the question.

    indexes: all actions it asks a decision for, each (index, n); empty for kind `input`.
    preview, change: what the person is shown; candidates: [{id, label, value}].
    """

    id: UUID
    kind: InterruptKind
    index: int
    n: int
    question: str
    actions: tuple[tuple[int, int], ...] = ()
    candidates: Sequence[Mapping[str, Any]] = ()
    input_schema: Mapping[str, Any] | None = None
    preview: Any = None
    change: Any = None
    risk: str | None = None
    expires_in: timedelta = PERSON_WAITS
    events: tuple[NewEvent, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Asked:
    """The interrupt's id (the first insert's, on a replay too) and what the run's row says now."""

    interrupt_id: UUID
    recorded: Recorded


def to_interrupt(row: RowMapping) -> Interrupt:
    return Interrupt(
        id=row["id"],
        run_id=row["run_id"],
        kind=InterruptKind(row["kind"]),
        status=InterruptStatus(row["status"]),
        indexes=tuple(row["indexes"]),
        expires_at=row["expires_at"],
        resolution=row["resolution"],
        resolution_hash=row["resolution_hash"],
    )


async def open_and_park(
    tx: Tx, run: Run, now: datetime, fence: Fence, new: NewInterrupt, *, wakes_seen: int, event_id: UUID
) -> Asked:
    """Insert the interrupt (once under run, kind, index, n) and park the run, in one transaction.

    `run` is locked. A replay finds the one that was asked; if it was decided meanwhile the run stays
    queued, since `wakes` moved, or because it is not open any more. Raises FenceLost.
    """
    check_fence(run, fence, FenceKind.RECORD, now)  # a zombie is told that, not what its successor asks
    row = await tx.row("insert_interrupt", **_params(run, new, now))
    events: tuple[NewEvent, ...] = new.events
    feed: tuple[NewFeed, ...] = ()
    if row is not None:
        interrupt_id, still_open = new.id, True
        told = {"interrupt_id": str(new.id), "kind": str(new.kind)}
        asked = {"index": new.index, "n": new.n, "question": storable(new.question)}
        events = (*events, NewEvent(tx.ids.uuid7(), Ev.INTERRUPT_OPENED, {**told, **asked}))
        feed = (NewFeed("interrupt.opened", {**told, "run_id": str(run.id)}),)
        if new.actions:
            await tx.execute(
                "ask_for_actions",
                {
                    "run_id": run.id,
                    "interrupt_id": new.id,
                    "indexes": [a[0] for a in new.actions],
                    "ns": [a[1] for a in new.actions],
                },
            )
    else:
        stored = await tx.row("interrupt_asked", run_id=run.id, kind=str(new.kind), index=new.index, n=new.n)
        if stored is None:
            raise NotFound("interrupt", f"{run.id}/{new.kind}/{new.index}/{new.n}")
        interrupt_id, still_open = stored["id"], stored["status"] == InterruptStatus.OPEN
    decision = decide_park(
        run,
        fence,
        event_id,
        waiting_on=WaitingOn(str(new.kind)),
        wakes_seen=wakes_seen if still_open else -1,
        now=now,
    )
    decision = replace(decision, events=(*events, *decision.events), feed=(*feed, *decision.feed))
    return Asked(interrupt_id, await record(tx, run, decision))


def _params(run: Run, new: NewInterrupt, now: datetime) -> dict[str, Any]:
    return {
        "id": new.id,
        "run_id": run.id,
        "tenant_id": run.tenant_id,
        "user_id": run.user_id,
        "kind": str(new.kind),
        "index": new.index,
        "n": new.n,
        "indexes": [a[0] for a in new.actions],
        "question": storable(new.question),
        "candidates": as_json(new.candidates),
        "input_schema": as_json(new.input_schema) if new.input_schema is not None else None,
        "preview": as_json(new.preview) if new.preview is not None else None,
        "change": as_json(new.change) if new.change is not None else None,
        "risk": new.risk,
        "expires_at": now + new.expires_in,
    }


async def lock_interrupt(tx: Tx, interrupt_id: UUID) -> tuple[Interrupt, datetime]:
    """Lock an interrupt (its run's row is held already) and read the database's instant above the lock."""
    row = await tx.row("lock_interrupt", id=interrupt_id)
    if row is None:
        raise NotFound("interrupt", interrupt_id)
    return to_interrupt(row), row["now"]


@dataclass(frozen=True, slots=True)
class Open:
    """A run's open question."""

    id: UUID
    kind: InterruptKind


async def open_interrupt(tx: Tx, run_id: UUID) -> Open | None:
    """What the run asks now, under its lock."""
    row = await tx.row("open_interrupt", run_id=run_id)
    return Open(row["id"], InterruptKind(row["kind"])) if row is not None else None


async def run_of_interrupt(tx: Tx, interrupt_id: UUID) -> UUID:
    """The run to lock first. Raises NotFound, also for another tenant's."""
    row = await tx.row("run_of_interrupt", id=interrupt_id)
    if row is None:
        raise NotFound("interrupt", interrupt_id)
    run_id: UUID = row["run_id"]
    return run_id


async def resolve(
    tx: Tx,
    run: Run,
    now: datetime,
    interrupt: Interrupt,
    *,
    resolution: Mapping[str, Any],
    resolution_hash: str,
    key: str,
    by: str,
    decisions: Mapping[int, tuple[str, str | None]] | None = None,
) -> Recorded:
    """Store a decision that `decide_resolution` found fresh, raise `wakes` and queue a waiting run.

    decisions: action index -> (approve | reject, note), for kind approval.
    Raises Gone when the expiry passed while this waited (the statement judges it above the lock).
    """
    stored = await tx.row(
        "store_resolution",
        id=interrupt.id,
        resolution=as_json(resolution),
        resolution_hash=resolution_hash,
        key=key,
        by=by,
    )
    if stored is None:
        raise Gone("interrupt_expired", f"it could be answered until {interrupt.expires_at.isoformat()}")
    told = {"interrupt_id": str(interrupt.id), "kind": str(interrupt.kind)}
    answered = {**told, "index": stored["index"], "n": stored["n"], "resolution": loggable(resolution)}
    events = [NewEvent(tx.ids.uuid7(), Ev.INTERRUPT_RESOLVED, answered, f"user:{by}")]
    for index, (decision, note) in sorted((decisions or {}).items()):
        action = await tx.row(
            "decide_action", interrupt_id=interrupt.id, index=index, decision=decision, by=by, note=note
        )
        if action is not None and decision == "reject":
            refused = {"index": index, "n": action["n"], "tool": action["tool"]}
            events.append(NewEvent(tx.ids.uuid7(), Ev.ACTION_REJECTED, refused, f"user:{by}"))
    return await _close(tx, run, now, events, told, cause="resolution")


async def expire(tx: Tx, run: Run, now: datetime, interrupt: Interrupt) -> Recorded | None:
    """End an open interrupt whose time is over: its actions expire, the run is woken to say so.

    None when it is not open or not past (any more).
    """
    row = await tx.row("expire_interrupt", id=interrupt.id)
    if row is None:
        return None
    await tx.execute("expire_actions", {"interrupt_id": interrupt.id})
    return await close_expired(tx, run, now, interrupt)


async def mark_expired(tx: Tx, run: Run, interrupt: Interrupt) -> bool:
    """The same without waking the run, for who ends it in this transaction. False when it isn't past."""
    if await tx.row("expire_interrupt", id=interrupt.id) is None:
        return False
    told = {"interrupt_id": str(interrupt.id), "kind": str(interrupt.kind)}
    event = NewEvent(tx.ids.uuid7(), Ev.INTERRUPT_EXPIRED, told)
    feed = NewFeed("interrupt.closed", {**told, "run_id": str(run.id)})
    await record(tx, run, Decision(None, sets={"wake": True}, events=(event,), feed=(feed,)))
    return True


async def close_expired(
    tx: Tx, run: Run, now: datetime, interrupt: Interrupt, before: tuple[NewEvent, ...] = ()
) -> Recorded:
    """Tell that a question's time is over, and wake its run to say so. before: events that led to it."""
    told = {"interrupt_id": str(interrupt.id), "kind": str(interrupt.kind)}
    event = NewEvent(tx.ids.uuid7(), Ev.INTERRUPT_EXPIRED, told)
    return await _close(tx, run, now, [*before, event], told, cause="expiry")


async def _close(
    tx: Tx, run: Run, now: datetime, events: Sequence[NewEvent], told: dict[str, str], *, cause: str
) -> Recorded:
    woken = decide_wake(run, tx.ids.uuid7(), cause=cause, now=now)
    decision = woken or Decision(None)
    feed = (NewFeed("interrupt.closed", {**told, "run_id": str(run.id)}), *decision.feed)
    return await record(
        tx,
        run,
        replace(
            decision, sets={**decision.sets, "wake": True}, events=(*events, *decision.events), feed=feed
        ),
    )

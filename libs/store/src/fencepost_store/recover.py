"""After a restore or a lossy fail-over: what was done since is done, and nobody remembers (02 §5, ADR-0031).

Run by the database's owner while no service is at work. Each live run is fenced, paused and marked with the
new epoch; from then on each effect of it that leaves the house begins as one that may have happened. Nothing
is looked up here: the gateway asks as soon as it runs, and asks again before a marked run sends anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from fencepost_domain.decision import Decision, NewEvent, NewOutbox
from fencepost_domain.errors import Invalid
from fencepost_domain.run import NO_LEASE, RESUMABLE, move
from fencepost_domain.vocabulary import TERMINAL, EffectClass, EffectState, Ev, RunEvent, RunStatus
from fencepost_domain.waits import decide_pause, decide_resume

from fencepost_store.record import record
from fencepost_store.runs import Locked, lock_run, open_wait
from fencepost_store.transaction import Store, Tx

UNKNOWN_TO_PERSON = frozenset({EffectClass.EXTERNAL_OPAQUE, EffectClass.ASYNC})


@dataclass(frozen=True, slots=True)
class Plan:
    """What there is before. alive: workers that still call themselves so. effects: those not settled."""

    now: datetime
    epoch: int
    newest_event_at: datetime | None
    alive: int
    live: tuple[UUID, ...]
    effects: tuple[Mapping[str, Any], ...]


@dataclass(slots=True)
class Report:
    """What was done. paused: by this. stopping: runs that were being stopped, which start nothing.

    reopened: effects that weren't there and may be by now. by_person: unsettled ones that nobody can look up.
    """

    epoch: int
    lost_after: datetime
    recovered_at: datetime
    paused: list[UUID] = field(default_factory=list)
    were_paused: list[UUID] = field(default_factory=list)
    stopping: list[UUID] = field(default_factory=list)
    reopened: list[str] = field(default_factory=list)
    to_look_up: list[str] = field(default_factory=list)
    by_person: list[str] = field(default_factory=list)


async def plan_recovery(store: Store, lost_after: datetime) -> Plan:
    """Changes nothing. Raises Invalid for an instant that isn't past."""
    async with store.transaction() as tx:
        row = await tx.row("recovery_plan")
    assert row is not None  # a SELECT of scalars
    if lost_after >= row["now"]:
        raise Invalid("/lost_after", f"the database's time is {row['now'].isoformat()}: name one before")
    return Plan(
        row["now"],
        row["epoch"],
        row["newest_event_at"],
        row["alive"],
        tuple(row["live"]),
        tuple(row["effects"]),
    )


async def recover(store: Store, lost_after: datetime, *, actor: str, reason: str) -> Report:
    """Start the next epoch and put every live run at rest under it.

    lost_after: the last instant whose commits are surely there; earlier is safer, and asks about more. Run
    again after a failure it starts one more epoch and does the rest. Raises Invalid.
    """
    plan = await plan_recovery(store, lost_after)
    async with store.transaction() as tx:
        row = await tx.row("start_epoch", lost_after=lost_after, actor=actor, reason=reason)
        assert row is not None  # an INSERT returns its row or raises
        await tx.execute("look_at_once", {})
    report = Report(row["number"], lost_after, row["started_at"])
    for run_id in plan.live:
        await store.run(None, partial(_recover_run, run_id=run_id, report=report, actor=actor, reason=reason))
    for effect in (await plan_recovery(store, lost_after)).effects:
        if effect["state"] == EffectState.NEEDS_HUMAN or effect["class"] in UNKNOWN_TO_PERSON:
            report.by_person.append(effect["effect_key"])
        else:
            report.to_look_up.append(effect["effect_key"])
    return report


async def _recover_run(tx: Tx, run_id: UUID, report: Report, actor: str, reason: str) -> None:
    locked = await lock_run(tx, run_id)
    if locked.run.status in TERMINAL:
        return
    await tx.set_tenant(locked.run.tenant_id)
    await tx.execute("mark_recovered", {"run_id": run_id, "epoch": report.epoch})
    lost = {"lost_after": report.lost_after, "recovered_at": report.recovered_at}
    reopened = await tx.rows("reopen_absent_effects", run_id=run_id, **lost)
    freed = _freed(locked, actor, reason, tx.ids.uuid7())
    await record(tx, locked.run, replace(freed, events=(*(_unknown(tx, r) for r in reopened), *freed.events)))
    report.reopened += [row["effect_key"] for row in reopened]
    locked = await lock_run(tx, run_id)
    if locked.run.status is RunStatus.CANCELLING:
        report.stopping.append(run_id)
        return
    pause = decide_pause(locked.run, tx.ids.uuid7(), actor=actor, now=locked.now)
    if pause is None:
        report.were_paused.append(run_id)
        return
    await record(tx, locked.run, pause)
    report.paused.append(run_id)


def _freed(locked: Locked, actor: str, reason: str, event_id: UUID) -> Decision:
    """Who held it before the restore holds it no more; one that is being stopped is ended by the sweep."""
    run = locked.run
    was_running = run.status is RunStatus.RUNNING
    to = RunStatus.QUEUED if was_running else run.status
    told = {"verb": "recover", "reason": reason, "was": str(run.status), "to": str(to)}
    events = (NewEvent(event_id, Ev.RUN_REPAIRED, told, actor),)
    if was_running:
        sets = {**NO_LEASE, "available_at": locked.now, "next_counts": False}
        hint = (NewOutbox(RESUMABLE, run.module),)
        return move(run, RunEvent.REPAIRED, to, sets=sets, events=events, outbox=hint)
    return Decision(None, sets=dict(NO_LEASE) if run.lease_owner is not None else {}, events=events)


def _unknown(tx: Tx, row: Mapping[Any, Any]) -> NewEvent:
    told = {
        "index": row["index"], "tool": row["tool"], "attempt": row["attempts"],
        "effect_key": row["effect_key"], "late": False,
    }  # fmt: skip
    return NewEvent(tx.ids.uuid7(), Ev.ACTION_UNKNOWN, told, "recover")


async def resume_recovered(store: Store, *, actor: str, reason: str) -> list[UUID]:
    """Let the runs go on that a recovery paused and nobody resumed since; those paused before stay paused.

    Each is resumed as by its owner, with an event by this actor; one that ended meanwhile is left out.
    """
    async with store.transaction() as tx:
        left = [row["id"] for row in await tx.rows("runs_left_by_recovery")]
        await tx.execute("note_resumed", {"actor": actor, "reason": reason, "runs": len(left)})
    resumed = []
    for run_id in left:
        if await store.run(None, partial(_resume, run_id=run_id, actor=actor)):
            resumed.append(run_id)
    return resumed


async def _resume(tx: Tx, run_id: UUID, actor: str) -> bool:
    locked = await lock_run(tx, run_id)
    await tx.set_tenant(locked.run.tenant_id)
    if locked.run.status is not RunStatus.PAUSED:
        return False
    still_open = await open_wait(tx, run_id)
    decision = decide_resume(locked.run, tx.ids.uuid7(), actor=actor, still_open=still_open, now=locked.now)
    if decision is not None:
        await record(tx, locked.run, decision)
    return decision is not None

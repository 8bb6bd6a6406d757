"""A small mesh in every state there is, lived and whole: what the checks of integrity are planted in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

import psycopg
from fencepost_domain.decision import Decision, NewEvent
from fencepost_domain.effect import effect_key
from fencepost_domain.fence import FenceKind
from fencepost_domain.state import Change, Operation
from fencepost_domain.vocabulary import Ev, Risk
from fencepost_reconciler.loops.drain import Drain
from fencepost_reconciler.loops.fire_reminders import FireReminders
from fencepost_runtime.system import SystemClock
from fencepost_store.artifacts import NewArtifact, add_artifact
from fencepost_store.checkpoints import GroupConnection, NewCheckpoint, NewWrite, RunWrites
from fencepost_store.claims import Claim, bind
from fencepost_store.record import record
from fencepost_store.runs import lock_run
from fencepost_store.state import lock_state, write_state

from tests.support.graces import Over
from tests.support.lives import LEASE, TENANT, USER, Lives


@dataclass(frozen=True, slots=True)
class World:
    """Run ids by what became of them."""

    succeeded: UUID
    waiting: UUID
    running: UUID
    queued: UUID
    cancelled: UUID
    reminder: UUID

    def named(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in World.__slots__}


async def make_world(lives: Lives) -> World:
    succeeded = await _succeeded(lives)
    cancelled = await _cancelled_with_an_open_attempt(lives)
    waiting, _ = await lives.waiting()
    running = await _running(lives)
    queued = await lives.queued()
    reminder = await _fired_reminder(lives, succeeded)
    await _two_versions(lives)
    return World(succeeded, waiting.run.id, running, queued, cancelled, reminder)


async def _succeeded(lives: Lives) -> UUID:
    """Asked, approved, done and told."""
    held, interrupt_id = await lives.waiting()
    await lives.resolve(interrupt_id)
    [again] = await lives.claim()
    action = await lives.prepared_as_stored(held)
    await lives.opened(action)
    await lives.landed(action)
    await _state_written(lives, again)
    await lives.finalize(again)
    return held.run.id


async def _two_versions(lives: Lives) -> None:
    """Of a file; its bytes lie elsewhere and are no matter of tables."""
    previous = None
    for size in (1, 2):
        new = NewArtifact(
            lives.ids.uuid7(), TENANT, USER, "a.txt", "text/plain", size, bytes(32), replaces=previous
        )
        async with lives.api.transaction(TENANT) as tx:
            previous, _ = await add_artifact(tx, new)


async def _state_written(lives: Lives, held: Claim) -> None:
    """As a completed call writes it: changes, and the event of the run that tells them."""
    async with lives.gateway.transaction(held.run.tenant_id) as tx:
        run = (await lock_run(tx, held.run.id)).run
        head = await lock_state(tx, run.conversation_id, run.tenant_id)
        changes = [Change("count", Operation.INCREMENT, 1), Change("count", Operation.INCREMENT, 1)]
        source = "tool:life.create_reminder"
        written = await write_state(tx, head, changes, source=source, run_id=run.id, trace_id=None)
        told = [
            {"seq": one.seq, "key": "count", "operation": "increment", "event_id": str(one.event_id)}
            for one in written
        ]
        payload = {"conversation_id": str(run.conversation_id), "source": source, "changes": told}
        event = NewEvent(tx.ids.uuid7(), Ev.STATE_CHANGED, payload, "gateway:test")
        await record(tx, run, Decision(None, events=(event,), fence=held.fence, fence_kind=FenceKind.START))


async def _cancelled_with_an_open_attempt(lives: Lives) -> UUID:
    held = await lives.claimed()
    action = await lives.prepared(held, risk=Risk.LOW)
    await lives.opened(action)
    await lives.cancel(held.run.id)
    await lives.age("agent.runs", "lease_expires_at", "id = %s", held.run.id)
    await lives.age("agent.runs", "drain_until", "id = %s", held.run.id)
    await Drain(lives.reconciler, Over(LEASE, SystemClock())).run_once()
    return held.run.id


async def _running(lives: Lives) -> UUID:
    """Claimed, bound and checkpointed."""
    held = await lives.claimed()
    for table in ("catalogs", "definitions"):
        await lives.sql(
            f"INSERT INTO agent.{table} (fingerprint, module, version, body) VALUES ('f', 'life', '1', '')"
        )
    await lives.sql("INSERT INTO agent.manifests (fingerprint, body) VALUES ('f', '')")
    async with lives.worker.transaction() as tx:
        locked = await lock_run(tx, held.run.id)
        versions = {"graph_version": "f", "manifest_fp": "f", "catalog_fp": "f"}
        await bind(tx, locked.run, held.fence, event_id=tx.ids.uuid7(), **versions)
    connection = GroupConnection(lives.database.dsn("worker"))
    checkpoint = NewCheckpoint("", "c1", None, "msgpack", b"state", "{}")
    write = NewWrite("", "c1", "task", 0, "channel", "", "msgpack", b"value")
    await connection.write([RunWrites(held.fence, checkpoint, [write])])
    await connection.drop()
    return held.run.id


async def _fired_reminder(lives: Lives, run_id: UUID) -> UUID:
    """The reminder that the succeeded run's effect wrote."""
    reminder_id, due = lives.ids.uuid7(), datetime.now(UTC)
    await lives.sql(
        "INSERT INTO app.reminders (id, tenant_id, user_id, title, locale, zone, dtstart, next_at,"
        " origin_effect_key) VALUES (%s, %s, %s, 'report', 'en', 'UTC', %s, %s, %s)",
        *(reminder_id, TENANT, USER, due, due, effect_key(run_id, 0)),
    )
    await FireReminders(lives.reconciler).run_once()
    return reminder_id


async def plant(lives: Lives, world: World, *statements: str) -> None:
    """Break what the schema would not allow: as its owner, with triggers and foreign keys asleep.

    `%(queued)s` and the like name a run of the world.
    """
    async with await psycopg.AsyncConnection.connect(lives.database.admin, autocommit=True) as connection:
        await connection.execute("SET session_replication_role = replica")
        for statement in statements:
            await connection.execute(statement, world.named())

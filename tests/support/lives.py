"""State built by living it: runs created, claimed, parked, answered and ended by the store's own doors.

Each service acts under its own database role. Nothing is INSERTed that the code could not reach; what only
time can bring about (a lease, a deadline past) is asked for with a short time, or moved by `age`.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import rfc8785
from fencepost_domain.action import Action
from fencepost_domain.decision import Decision, Finalization, FinalMessage, NewEvent
from fencepost_domain.endings import decide_finalize, decide_stop, stopped
from fencepost_domain.fence import Fence, FenceKind
from fencepost_domain.interrupt import decide_resolution
from fencepost_domain.lease import owner_of
from fencepost_domain.recovery import FIRST_REVISION
from fencepost_domain.vocabulary import (
    ActionStatus,
    EffectClass,
    EffectState,
    Ev,
    InterruptKind,
    Reason,
    Risk,
    RunStatus,
    Stop,
    WaitingOn,
)
from fencepost_domain.waits import decide_park, decide_pause
from fencepost_runtime.system import SystemIds
from fencepost_store import actions, effects, interrupts
from fencepost_store.claims import Claim, claim
from fencepost_store.engine import make_engine
from fencepost_store.integrity import check_invariants
from fencepost_store.integrity_chain import Violation
from fencepost_store.record import Recorded, record
from fencepost_store.runs import NewRun, create_run, lock_run, settled
from fencepost_store.settings_store import see_principal
from fencepost_store.transaction import Store

from tests.support.postgres import Database

TENANT = UUID("0190b000-0000-7000-8000-0000000000a1")
OTHER_TENANT = UUID("0190b000-0000-7000-8000-0000000000b2")
USER = "user-1"
MODULE = "life"
OWNER = owner_of("slot-1", "boot-1")
RIVAL = owner_of("slot-2", "boot-1")
LEASE = timedelta(minutes=5)  # no test waits for it; one that needs a past lease asks for a short one
AT_ONCE = timedelta(microseconds=1)


@dataclass(slots=True)
class Lives:
    """One database, four services."""

    database: Database
    api: Store
    worker: Store
    gateway: Store
    reconciler: Store
    ids: SystemIds = field(default_factory=SystemIds)

    # ── runs ──────────────────────────────────────────────────────────────────────────────────────

    async def queued(self, *, tenant: UUID = TENANT, user: str = USER, **more: Any) -> UUID:
        """A run as the api creates it; in a conversation of its own unless one is given."""
        new = NewRun(
            id=more.pop("run_id", None) or self.ids.uuid7(),
            tenant_id=tenant,
            user_id=user,
            roles=("user",),
            module=more.pop("module", MODULE),
            conversation_id=more.pop("conversation_id", None) or self.ids.uuid7(),
            input={"text": more.pop("text", "remind me")},
            locale=more.pop("locale", "en"),
            zone="Asia/Shanghai",
            currency="CNY",
            route="POST /v1/runs",
            idempotency_key=more.pop("key", str(uuid4())),
            request_hash=more.pop("request_hash", "0" * 64),
            **more,
        )
        async with self.api.transaction(tenant) as tx:
            await see_principal(tx, user, frozenset(new.roles))
            return (await create_run(tx, new)).run_id

    async def claim(
        self,
        *,
        owner: str = OWNER,
        lease: timedelta = LEASE,
        limit: int = 8,
        module: str = MODULE,
        versions: Sequence[str] = (),
        nonce: UUID | None = None,
        gated: bool = True,
    ) -> list[Claim]:
        """gated: as after the recovery gate's yes, where a run was claimed before."""
        async with self.worker.transaction() as tx:
            claims = await claim(
                tx,
                module=module,
                versions=versions,
                owner=owner,
                lease=lease,
                limit=limit,
                nonce=nonce or uuid4(),
            )
        for one in claims:
            if gated and one.run.revision > FIRST_REVISION and lease > AT_ONCE:
                async with self.worker.transaction() as tx:
                    through = Decision(
                        None, sets={"gate_revision": True}, fence=one.fence, fence_kind=FenceKind.RECORD
                    )
                    await record(tx, one.run, through)
        return claims

    async def claimed(self, *, owner: str = OWNER, lease: timedelta = LEASE, **more: Any) -> Claim:
        """A new run, claimed. Claims whatever else is due as well."""
        run_id = await self.queued(**more)
        claims = await self.claim(owner=owner, lease=lease, limit=64, module=more.get("module", MODULE))
        return next(one for one in claims if one.run.id == run_id)

    async def lost(self, **more: Any) -> Claim:
        """A claimed run whose lease is past."""
        return await self.claimed(lease=AT_ONCE, **more)

    async def finalize(self, held: Claim, status: RunStatus = RunStatus.SUCCEEDED) -> Recorded:
        """The worker ends its run."""
        reason = Reason.ACCEPTANCE_MET if status is RunStatus.SUCCEEDED else Reason.NO_PROGRESS
        finalization = Finalization(status, reason, "done", "worker")
        async with self.worker.transaction() as tx:
            locked = await lock_run(tx, held.run.id)
            message = FinalMessage(tx.ids.uuid7(), "done")
            decision = decide_finalize(locked.run, held.fence, finalization=finalization, message=message)
            return await record(tx, locked.run, decision)

    async def append(self, run_id: UUID, fence: Fence | None = None) -> Recorded:
        """One more event, by the api when there is no fence."""
        store = self.worker if fence else self.api
        async with store.transaction(None if fence else TENANT) as tx:
            locked = await lock_run(tx, run_id)
            event = NewEvent(tx.ids.uuid7(), Ev.TOOL_REFUSED, {"tool": "x"}, "test")
            return await record(tx, locked.run, Decision(None, events=(event,), sets={"wake": True}))

    async def cancel(self, run_id: UUID, tenant: UUID = TENANT) -> Recorded | None:
        """As the api does when its user asks."""
        async with self.api.transaction(tenant) as tx:
            locked = await lock_run(tx, run_id)
            decision = decide_stop(
                locked.run,
                tx.ids.uuid7(),
                stop=Stop.CANCEL,
                actor=f"user:{USER}",
                settled=await settled(tx, locked.run),
                finalization=stopped(Stop.CANCEL, "cancelled", "api"),
                message=FinalMessage(tx.ids.uuid7(), "cancelled"),
            )
            return await record(tx, locked.run, decision) if decision else None

    async def pause(self, run_id: UUID, tenant: UUID = TENANT) -> Recorded | None:
        async with self.api.transaction(tenant) as tx:
            locked = await lock_run(tx, run_id)
            decision = decide_pause(locked.run, tx.ids.uuid7(), actor=f"user:{USER}", now=locked.now)
            return await record(tx, locked.run, decision) if decision else None

    # ── actions and interrupts ────────────────────────────────────────────────────────────────────

    async def prepared(
        self, held: Claim, *, index: int = 0, n: int = 1, risk: Risk = Risk.MEDIUM, **more: Any
    ) -> Action:
        """An action as the gateway prepares it (without its token's checks, which are the gateway's)."""
        arguments = rfc8785.dumps(more.pop("arguments", {"title": "report"})).decode()
        action = Action(
            run_id=held.run.id,
            index=index,
            n=n,
            tenant_id=held.run.tenant_id,
            tool=more.pop("tool", "create_reminder"),
            tool_version="1",
            catalog_fp=more.pop("catalog_fp", "0" * 64),
            arguments=arguments,
            arguments_hash=hashlib.sha256(arguments.encode()).hexdigest(),
            author=held.run.user_id,
            risk=risk,
            effect_class=more.pop("effect_class", EffectClass.LOCAL),
            approval=risk is not Risk.LOW,
            status=ActionStatus.PREPARED,
            preview={},
            change={},
            precondition={},
            token_id=self.ids.uuid7(),
            token_key_id="k1",
            token_mac=b"mac",
            token_expires_at=datetime.now(UTC) + timedelta(days=7),
            token_spent_at=None,
            interrupt_id=None,
            decided_by=None,
        )
        async with self.gateway.transaction(held.run.tenant_id) as tx:
            await lock_run(tx, held.run.id)
            await actions.insert_action(tx, action)
        return action

    async def prepared_as_stored(self, held: Claim, *, index: int = 0) -> Action:
        """The newest preparation as its row is now, decisions and all."""
        async with self.gateway.transaction(held.run.tenant_id) as tx:
            return (await actions.actions_at(tx, held.run.id, index))[0]

    async def ask(
        self,
        held: Claim,
        *,
        kind: InterruptKind = InterruptKind.APPROVAL,
        expires_in: timedelta = timedelta(days=7),
        wakes_seen: int | None = None,
        n: int = 1,
    ) -> interrupts.Asked:
        """Open the interrupt and park, as the worker does; an approval asks for action 0."""
        asked = ((0, n),) if kind is InterruptKind.APPROVAL else ()
        new = interrupts.NewInterrupt(
            self.ids.uuid7(), kind, 0, n, "Shall I?", actions=asked, expires_in=expires_in
        )
        async with self.worker.transaction() as tx:
            locked = await lock_run(tx, held.run.id)
            return await interrupts.open_and_park(
                tx,
                locked.run,
                locked.now,
                held.fence,
                new,
                wakes_seen=held.run.wakes if wakes_seen is None else wakes_seen,
                event_id=tx.ids.uuid7(),
            )

    async def park_on_tool(self, held: Claim, *, wakes_seen: int | None = None) -> Recorded:
        """Wait for an outcome that comes from outside, polled from now on."""
        async with self.worker.transaction() as tx:
            locked = await lock_run(tx, held.run.id)
            decision = decide_park(
                locked.run,
                held.fence,
                tx.ids.uuid7(),
                waiting_on=WaitingOn.TOOL,
                wakes_seen=held.run.wakes if wakes_seen is None else wakes_seen,
                now=locked.now,
                poll_at=locked.now,
            )
            return await record(tx, locked.run, decision)

    async def waiting(self, **more: Any) -> tuple[Claim, UUID]:
        """A run that waits for an approval of its action 0; the claim it had and the interrupt's id."""
        expires_in = more.pop("expires_in", timedelta(days=7))
        held = await self.claimed(**more)
        await self.prepared(held)
        return held, (await self.ask(held, expires_in=expires_in)).interrupt_id

    async def resolve(
        self, interrupt_id: UUID, decision: str = "approve", *, by: str = USER, tenant: UUID = TENANT
    ) -> Recorded | None:
        """As the api decides: None when the same was decided before. Raises Conflict, Gone."""
        hashed = hashlib.sha256(decision.encode()).hexdigest()
        async with self.api.transaction(tenant) as tx:
            locked = await lock_run(tx, await interrupts.run_of_interrupt(tx, interrupt_id))
            interrupt, now = await interrupts.lock_interrupt(tx, interrupt_id)
            if not decide_resolution(interrupt, locked.run.status, hashed, now).fresh:
                return None
            return await interrupts.resolve(
                tx,
                locked.run,
                now,
                interrupt,
                resolution={"decision": decision},
                resolution_hash=hashed,
                key=str(uuid4()),
                by=by,
                decisions=dict.fromkeys(interrupt.indexes, (decision, None)),
            )

    async def opened(self, action: Action, *, timeout_seconds: float = 60.0, boot: str = "gw-1") -> None:
        """An attempt that is `started` and committed, as classes outside the database have it."""
        async with self.gateway.transaction(action.tenant_id) as tx:
            await lock_run(tx, action.run_id)
            await effects.open_attempt(
                tx,
                action,
                root_run_id=action.run_id,
                request=action.arguments.encode(),
                boot=boot,
                timeout_seconds=timeout_seconds,
            )

    async def landed(self, action: Action, *, boot: str = "gw-1") -> bool:
        """The attempt's outcome: it happened."""
        async with self.gateway.transaction(action.tenant_id) as tx:
            locked = await lock_run(tx, action.run_id)
            outcome = effects.Outcome(EffectState.COMPLETED, result={"ok": True})
            if not await effects.settle_attempt(tx, action, 1, outcome, boot=boot):
                return False
            await actions.end_action(tx, action, ActionStatus.COMMITTED)
            told = {"index": action.index, "n": action.n, "tool": action.tool}
            event = NewEvent(tx.ids.uuid7(), Ev.ACTION_COMMITTED, told, "gateway")
            await record(tx, locked.run, Decision(None, events=(event,)))
            return True

    # ── looking, and time ─────────────────────────────────────────────────────────────────────────

    async def sql(self, query: str, *params: Any) -> list[dict[str, Any]]:
        """As the superuser: rows, or none for a statement that returns none."""
        async with await psycopg.AsyncConnection.connect(
            self.database.admin, autocommit=True, row_factory=psycopg.rows.dict_row
        ) as connection:
            cursor = await connection.execute(query, params)
            return await cursor.fetchall() if cursor.description else []

    async def run(self, run_id: UUID) -> dict[str, Any]:
        """The row as JSON has it: instants are text, `infinity` among them."""
        [row] = await self.sql("SELECT to_jsonb(r) AS row FROM agent.runs r WHERE id = %s", run_id)
        stored: dict[str, Any] = row["row"]
        return stored

    async def status(self, run_id: UUID) -> str:
        return str((await self.run(run_id))["status"])

    async def event_types(self, run_id: UUID) -> list[str]:
        rows = await self.sql("SELECT type FROM agent.run_events WHERE run_id = %s ORDER BY seq", run_id)
        return [row["type"] for row in rows]

    async def age(self, table: str, column: str, where: str, *params: Any, by: str = "1 second ago") -> None:
        """Move one instant into the past, where only days would bring it about."""
        past = f"clock_timestamp() - interval '{by.removesuffix(' ago')}'"
        await self.sql(f"UPDATE {table} SET {column} = {past} WHERE {where}", *params)

    async def violations(self) -> list[Violation]:
        return await check_invariants(self.database.dsn("reconciler"))


def counts(result: Mapping[str, int]) -> dict[str, int]:
    """A loop's counts without zeros."""
    return {name: count for name, count in result.items() if count}


@asynccontextmanager
async def living(database: Database) -> AsyncIterator[Lives]:
    ids = SystemIds()
    stores = {
        service: Store(make_engine(database.dsn(service), size=6), ids)
        for service in ("api", "worker", "gateway", "reconciler")
    }
    try:
        yield Lives(database, ids=ids, **stores)
    finally:
        for store in stores.values():
            await store.close()

"""One worker with a scripted model and a scripted gateway over a real database, for a test."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from fencepost_contracts.tools import Catalog
from fencepost_domain.decision import Decision, Finalization, FinalMessage
from fencepost_domain.endings import decide_lease_expired, decide_stop, stopped
from fencepost_domain.errors import Unavailable
from fencepost_domain.interrupt import decide_resolution
from fencepost_domain.run import Run
from fencepost_domain.vocabulary import Reason, RunStatus, Stop
from fencepost_domain.waits import decide_pause, decide_resume
from fencepost_store.engine import make_engine
from fencepost_store.interrupts import lock_interrupt, resolve, run_of_interrupt
from fencepost_store.record import record
from fencepost_store.runs import lock_run
from fencepost_store.transaction import Store

from tests.support.eventually import eventually
from tests.support.postgres import Database
from tests.support.scripted_gateway import ScriptedGateway, catalog_row, life_catalog, serving
from tests.support.scripted_model import ScriptedModel, providing
from tests.support.worker_process import working
from tests.support.worker_runs import TENANT, USER, Runs, opened_runs

TERMINAL = ("succeeded", "partially_succeeded", "failed", "cancelled", "blocked", "expired")


@dataclass(slots=True)
class Bench:
    database: Database
    runs: Runs
    gateway: ScriptedGateway
    model: ScriptedModel

    @asynccontextmanager
    async def working(self, **more: Any) -> AsyncIterator[asyncio.Event]:
        """A worker in this loop; on the scripted model unless `model_url` says otherwise."""
        fields = {"model_url": self.model.url, "model_name": "scripted", **more}
        async with working(self.database, self.gateway.url, **fields) as stop:
            yield stop

    async def publish(self, catalog: Catalog) -> None:
        await self.runs.run(
            "INSERT INTO agent.catalogs (fingerprint, module, version, body) VALUES (%s, %s, %s, %s)",
            *catalog_row(catalog),
        )

    async def ended(self, run_id: UUID, timeout: float = 60.0) -> str:
        async def ask() -> str | None:
            status = await self.runs.status(run_id)
            return status if status in TERMINAL else None

        status = await eventually(ask, timeout)
        assert status is not None
        return status

    async def reaches(self, run_id: UUID, status: str, timeout: float = 60.0) -> None:
        async def ask() -> bool:
            return await self.runs.status(run_id) == status

        await eventually(ask, timeout)

    async def asked(self, run_id: UUID, timeout: float = 60.0) -> dict[str, Any]:
        """The run's open interrupt, once it waits."""

        async def ask() -> dict[str, Any] | None:
            rows = await self.runs.fetch(
                "SELECT i.id, i.kind, i.index, i.n, i.question, i.candidates, i.preview, i.indexes, i.risk"
                " FROM agent.interrupts i JOIN agent.runs r ON r.id = i.run_id"
                " WHERE i.run_id = %s AND i.status = 'open' AND r.status = 'waiting'",
                run_id,
            )
            names = ("id", "kind", "index", "n", "question", "candidates", "preview", "indexes", "risk")
            return dict(zip(names, rows[0], strict=True)) if rows else None

        found = await eventually(ask, timeout)
        assert found is not None
        return found

    async def resolve(self, run_id: UUID, interrupt_id: UUID, resolution: Mapping[str, Any]) -> None:
        """Decide as the api does, under its role."""
        digest = hashlib.sha256(json.dumps(resolution, sort_keys=True).encode()).hexdigest()
        async with self.runs.api.transaction(TENANT) as tx:
            await run_of_interrupt(tx, interrupt_id)
            locked = await lock_run(tx, run_id)
            interrupt, now = await lock_interrupt(tx, interrupt_id)
            if decide_resolution(interrupt, locked.run.status, digest, now).fresh:
                await resolve(
                    tx,
                    locked.run,
                    locked.now,
                    interrupt,
                    resolution=resolution,
                    resolution_hash=digest,
                    key=digest,
                    by=USER,
                )

    async def change(self, run_id: UUID, decide: Callable[[Run, UUID, datetime], Decision | None]) -> None:
        """A decision of the api's, under its role: cancel, pause, resume."""
        async with self.runs.api.transaction(TENANT) as tx:
            locked = await lock_run(tx, run_id)
            decision = decide(locked.run, tx.ids.uuid7(), locked.now)
            if decision is not None:
                await record(tx, locked.run, decision)

    async def cancel(self, run_id: UUID) -> None:
        message = FinalMessage(self.runs.ids.uuid7(), "Cancelled as you asked.")
        ending = stopped(Stop.CANCEL, "Cancelled as you asked.", "api")

        def decide(run: Run, event_id: UUID, now: datetime) -> Decision | None:
            return decide_stop(
                run,
                event_id,
                stop=Stop.CANCEL,
                actor="user",
                settled=True,
                finalization=ending,
                message=message,
            )

        await self.change(run_id, decide)

    async def pause(self, run_id: UUID) -> None:
        await self.change(
            run_id, lambda run, event_id, now: decide_pause(run, event_id, actor="user", now=now)
        )

    async def resume(self, run_id: UUID) -> None:
        def decide(run: Run, event_id: UUID, now: datetime) -> Decision | None:
            return decide_resume(run, event_id, actor="user", still_open=None, now=now)

        await self.change(run_id, decide)

    async def expire_lease(self, run_id: UUID) -> None:
        """As the reconciler's sweep: a lease that is past gives the run back to the queue."""

        async def ask() -> bool:
            try:
                return await sweep()
            except Unavailable:  # a frozen owner holds the row; its session is ended before the next round
                return False

        async def sweep() -> bool:
            async with self.reconciler() as store, store.transaction() as tx:
                locked = await lock_run(tx, run_id)
                ending = Finalization(
                    RunStatus.FAILED, Reason.ATTEMPTS_EXHAUSTED, "Several attempts failed.", "sweep"
                )
                decision = decide_lease_expired(
                    locked.run,
                    tx.ids.uuid7(),
                    now=locked.now,
                    finalization=ending,
                    message=FinalMessage(tx.ids.uuid7(), "Several attempts failed."),
                )
                if decision is None:
                    return False
                await record(tx, locked.run, decision)
                return True

        await eventually(ask, 20.0, every=0.1)

    @asynccontextmanager
    async def reconciler(self) -> AsyncIterator[Store]:
        store = Store(make_engine(self.database.dsn("reconciler"), size=1), self.runs.ids)
        try:
            yield store
        finally:
            await store.close()

    async def final_messages(self, run_id: UUID) -> list[str]:
        rows = await self.runs.fetch(
            "SELECT text FROM agent.messages WHERE run_id = %s AND author = 'assistant' ORDER BY seq", run_id
        )
        return [text for (text,) in rows]

    async def finalization(self, run_id: UUID) -> tuple[str, str]:
        [(status, reason)] = await self.runs.fetch(
            "SELECT status, reason FROM agent.finalizations WHERE run_id = %s", run_id
        )
        return status, reason

    async def events(self, run_id: UUID) -> list[str]:
        rows = await self.runs.fetch(
            "SELECT type FROM agent.run_events WHERE run_id = %s ORDER BY seq", run_id
        )
        return [kind for (kind,) in rows]

    async def count(self, query: str, *params: Any) -> int:
        [(number,)] = await self.runs.fetch(query, *params)
        return int(number)

    async def violations(self) -> list[Any]:
        """What the store's own checks find, once they exist."""
        try:
            from fencepost_store.integrity import check_invariants
        except ImportError:
            return []
        return list(await check_invariants(self.database.dsn("reconciler")))


@asynccontextmanager
async def benches(database: Database) -> AsyncIterator[Bench]:
    catalog = life_catalog()
    async with (
        opened_runs(database) as runs,
        serving(ScriptedGateway(catalog)) as gateway,
        providing(ScriptedModel()) as model,
    ):
        bench = Bench(database, runs, gateway, model)
        await bench.publish(catalog)
        yield bench

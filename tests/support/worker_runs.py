"""Runs made and claimed through the store's own functions, for tests of the worker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
from fencepost_contracts.graph_core2 import CORE_2
from fencepost_contracts.graphs import CORE
from fencepost_domain.lease import owner_of
from fencepost_runtime.system import SystemIds
from fencepost_store.checkpoints import GroupConnection
from fencepost_store.claims import Claim, claim
from fencepost_store.engine import make_engine
from fencepost_store.runs import NewRun, create_run
from fencepost_store.settings_store import see_principal
from fencepost_store.transaction import Store
from fencepost_worker.engine.langgraph.writer import GroupWriter

from tests.support.postgres import Database

TENANT = UUID("0190b000-0000-7000-8000-000000000001")
USER = "user-1"


@dataclass(slots=True)
class Runs:
    """Creates runs as the api's role and claims them as the worker's."""

    database: Database
    api: Store
    worker: Store
    lease: timedelta
    ids: SystemIds = field(default_factory=SystemIds)
    owner: str = owner_of("slot-test", "boot-1")

    async def queued(
        self,
        text: str = "hello",
        *,
        run_id: UUID | None = None,
        module: str = "life",
        locale: str = "en",
        zone: str | None = "Asia/Shanghai",
        conversation_id: UUID | None = None,
        tenant_id: UUID = TENANT,
        **more: Any,
    ) -> UUID:
        """A queued run of one user's request; each has a conversation of its own unless one is given."""
        new = NewRun(
            id=run_id or self.ids.uuid7(),
            tenant_id=tenant_id,
            user_id=more.pop("user_id", USER),
            roles=("user",),
            module=module,
            conversation_id=conversation_id or self.ids.uuid7(),
            input={"text": text, **more.pop("facts", {})},
            locale=locale,
            zone=zone,
            currency=more.pop("currency", "CNY"),
            route="POST /v1/runs",
            idempotency_key=str(uuid4()),
            request_hash="0" * 64,
            **more,
        )
        async with self.api.transaction(tenant_id) as tx:
            await create_run(tx, new)
            await see_principal(tx, new.user_id, frozenset(new.roles))
        return new.id

    async def claimed(self, run_id: UUID, **more: Any) -> Claim:
        """That run, claimed by `owner`."""
        await self.queued(run_id=run_id, **more)
        return await self.claim(run_id, **{k: v for k, v in more.items() if k == "module"})

    async def claim(self, run_id: UUID, *, module: str = "life", owner: str | None = None) -> Claim:
        async with self.worker.transaction() as tx:
            claims = await claim(
                tx,
                module=module,
                versions=[one.fingerprint() for one in (CORE_2, CORE)],
                owner=owner or self.owner,
                lease=self.lease,
                limit=8,
                nonce=uuid4(),
            )
        found = [one for one in claims if one.run.id == run_id]
        if not found:
            raise LookupError(f"run {run_id} was not claimable")
        return found[0]

    async def fetch(self, query: str, *params: Any) -> list[tuple[Any, ...]]:
        """Rows as the superuser sees them."""
        async with await psycopg.AsyncConnection.connect(self.database.admin, autocommit=True) as connection:
            return await (await connection.execute(query, params)).fetchall()  # type: ignore[arg-type]

    async def run(self, query: str, *params: Any) -> int:
        """A statement as the superuser; its row count."""
        async with await psycopg.AsyncConnection.connect(self.database.admin, autocommit=True) as connection:
            return (await connection.execute(query, params)).rowcount  # type: ignore[arg-type]

    async def status(self, run_id: UUID) -> str:
        [(status,)] = await self.fetch("SELECT status FROM agent.runs WHERE id = %s", run_id)
        return str(status)


@asynccontextmanager
async def opened_runs(database: Database, *, lease: timedelta = timedelta(seconds=5)) -> AsyncIterator[Runs]:
    ids = SystemIds()
    api = Store(make_engine(database.dsn("api"), size=4), ids)
    worker = Store(make_engine(database.dsn("worker"), size=8), ids)
    try:
        yield Runs(database, api, worker, lease, ids)
    finally:
        await api.close()
        await worker.close()


@asynccontextmanager
async def writing(database: Database) -> AsyncIterator[GroupWriter]:
    """A running group writer under the worker's role."""
    writer = GroupWriter(GroupConnection(database.dsn("worker")))
    task = asyncio.ensure_future(writer.run())
    try:
        yield writer
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

"""Relays, publishers that do what brokers do, and the runs they speak of."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta

from fencepost_reconciler.loops.relay_outbox import RelayOutbox
from fencepost_runtime.system import SystemIds
from fencepost_runtime.wake import Delivered, Delivery, Unreachable, WakeMessage, WakePublisher
from fencepost_store.engine import make_engine
from fencepost_store.runs import NewRun
from fencepost_store.transaction import Store

from tests.support.postgres import Database
from tests.support.worker_runs import TENANT, USER, Runs


@asynccontextmanager
async def reconciler_store(database: Database) -> AsyncIterator[Store]:
    store = Store(make_engine(database.dsn("reconciler"), size=4), SystemIds())
    try:
        yield store
    finally:
        await store.close()


class Wrapped:
    """A real publisher, with one habit of a broker's bad days."""

    def __init__(self, inner: WakePublisher) -> None:
        self.inner = inner

    async def publish(self, batch: Sequence[WakeMessage]) -> list[Delivery]:
        return await self.inner.publish(batch)

    async def close(self) -> None:
        await self.inner.close()


class Losing(Wrapped):
    """Says delivered and drops every second one."""

    async def publish(self, batch: Sequence[WakeMessage]) -> list[Delivery]:
        await self.inner.publish(batch[::2])
        return [Delivered() for _ in batch]


class Doubling(Wrapped):
    async def publish(self, batch: Sequence[WakeMessage]) -> list[Delivery]:
        await self.inner.publish(batch)
        return await self.inner.publish(batch)


class Reordering(Wrapped):
    async def publish(self, batch: Sequence[WakeMessage]) -> list[Delivery]:
        return list(reversed(await self.inner.publish(list(reversed(batch)))))


class Forgetful(Wrapped):
    """Delivers and then doesn't know it: the report was lost."""

    async def publish(self, batch: Sequence[WakeMessage]) -> list[Delivery]:
        await self.inner.publish(batch)
        return [Unreachable("the report was lost") for _ in batch]


class Down(Wrapped):
    async def publish(self, batch: Sequence[WakeMessage]) -> list[Delivery]:
        return [Unreachable("no broker") for _ in batch]


class Gated(Wrapped):
    """Delivers, then holds back the report until `gate` is set. `reached`: it is being held."""

    def __init__(self, inner: WakePublisher) -> None:
        super().__init__(inner)
        self.reached = asyncio.Event()
        self.gate = asyncio.Event()

    async def publish(self, batch: Sequence[WakeMessage]) -> list[Delivery]:
        answers = await self.inner.publish(batch)
        self.reached.set()
        await self.gate.wait()
        return answers


def relay(store: Store, publisher: WakePublisher, **more: object) -> RelayOutbox:
    """A relay with a short lease, so that a dead one's rows come back within a test."""
    return RelayOutbox(store, publisher, **{"lease": timedelta(seconds=2), **more})  # type: ignore[arg-type]


def new_run(runs: Runs, module: str) -> NewRun:
    """For a test that holds the creating transaction open itself."""
    ids = [runs.ids.uuid7() for _ in range(3)]
    return NewRun(
        id=ids[0], tenant_id=TENANT, user_id=USER, roles=("user",), module=module, conversation_id=ids[1],
        input={"text": "hello"}, locale="en", zone=None, currency="CNY", route="POST /v1/runs",
        idempotency_key=str(ids[2]), request_hash="0" * 64,
    )  # fmt: skip

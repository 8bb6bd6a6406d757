"""Two workers that were given one slot's name: the later one stays, the earlier one ends and says why."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import fencepost_worker.process
import psycopg
import pytest
from fencepost_domain.ports import Ids
from fencepost_runtime.settings import SettingsError
from fencepost_runtime.system import SystemIds
from fencepost_store.claims import register_worker, renew_worker
from fencepost_store.engine import make_engine
from fencepost_store.transaction import Store
from fencepost_worker.main import serve

from tests.support.eventually import eventually
from tests.support.postgres import Database
from tests.support.scripted_gateway import ScriptedGateway, life_catalog, serving
from tests.support.worker_process import worker_settings

IDS: Ids = SystemIds()


@pytest.fixture
async def store(database: Database) -> AsyncIterator[Store]:
    store = Store(make_engine(database.dsn("worker")), IDS)
    yield store
    await store.close()


async def test_a_boot_whose_slot_was_taken_does_not_take_it_back(store: Store) -> None:
    alive = {"modules": ["life"], "versions": [], "alive_for": timedelta(seconds=30)}

    async def renew(boot: str) -> bool:
        async with store.transaction() as tx:
            return await renew_worker(tx, slot="s", boot_id=boot, **alive)

    async with store.transaction() as tx:
        await register_worker(tx, slot="s", boot_id="first", **alive)
    assert await renew("first")
    async with store.transaction() as tx:
        await register_worker(tx, slot="s", boot_id="second", **alive)
    assert not await renew("first")
    assert await renew("second")


async def test_of_two_workers_with_one_slot_the_earlier_one_ends(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fencepost_worker.process, "REGISTER_EVERY", timedelta(seconds=0.2))
    async with serving(ScriptedGateway(life_catalog())) as gateway:
        stop = asyncio.Event()
        settings = worker_settings(database, gateway.url, worker_slot="shared")
        first = asyncio.ensure_future(serve(settings, asyncio.Event()))
        await eventually(lambda: _is_registered(database))
        second = asyncio.ensure_future(serve(settings, stop))
        with pytest.raises(SettingsError, match="SLOT=shared"):
            await asyncio.wait_for(first, 20)
        assert not second.done()
        stop.set()
        await second


async def _is_registered(database: Database) -> bool:
    async with await psycopg.AsyncConnection.connect(database.admin) as connection:
        cursor = await connection.execute("SELECT count(*) FROM agent.workers")
        row = await cursor.fetchone()
    return bool(row and row[0])

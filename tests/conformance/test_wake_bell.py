"""The bell from a writer to the relay: heard at once, coalesced, and never a reason to wait or fail."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from fencepost_reconciler.loops.relay_outbox import when_rung
from fencepost_runtime.wake import Bell, BellEar, WakeOptions
from psycopg import sql

from tests.conformance.wake_bench import WakeBench
from tests.conformance.wake_proxy import Line, address_of, line_to, through
from tests.support.eventually import eventually
from tests.support.postgres import Database
from tests.support.wakes import reconciler_store, relay
from tests.support.worker_runs import opened_runs

LONG = timedelta(seconds=20)  # a wait that ends sooner was ended by the bell
SOON = timedelta(seconds=0.3)


@pytest.fixture
def options(empty_database: Database) -> WakeOptions:
    url = empty_database.dsn()
    return WakeOptions("postgres", listen_url=url, listen_url_is_direct=True, probe_every=SOON)


@pytest.fixture
async def line(empty_database: Database) -> AsyncIterator[Line]:
    async with line_to(*address_of(empty_database.dsn())) as opened:
        yield opened


@asynccontextmanager
async def running(*parts: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(part) for part in parts]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_ring_is_heard_at_once_and_an_unheard_one_costs_the_interval(options: WakeOptions) -> None:
    bell, ear = Bell(options.listen_url), BellEar(options)
    async with running(bell.run(), ear.run()):
        await ear.ready()
        assert not await ear.rung(timedelta(milliseconds=20))
        bell.ring()
        assert await ear.rung(LONG)


async def test_many_rings_are_few_notifies(options: WakeOptions) -> None:
    bell = Bell(options.listen_url)
    async with (
        await psycopg.AsyncConnection.connect(options.listen_url or "", autocommit=True) as witness,
        running(bell.run()),
    ):
        await witness.execute(sql.SQL("LISTEN {}").format(sql.Identifier("fencepost.outbox")))
        for _ in range(200):
            bell.ring()
            await asyncio.sleep(0)
        heard = [notice async for notice in witness.notifies(timeout=1)]
        assert 1 <= len(heard) < 50


async def test_ringing_into_an_outage_neither_waits_nor_fails(options: WakeOptions, line: Line) -> None:
    options = replace(options, listen_url=through(options.listen_url or "", line))
    bell, ear = Bell(options.listen_url), BellEar(options)
    async with running(bell.run(), ear.run()):
        await ear.ready()
        line.set("refuse")
        for _ in range(100):
            bell.ring()
            await asyncio.sleep(0)
        line.set("open")

        async def rings_again() -> bool:
            bell.ring()
            return await ear.rung(timedelta(milliseconds=100))

        await eventually(rings_again, timeout=20)


@pytest.mark.parametrize("adapter", ["none", "postgres"])
async def test_without_hints_or_an_address_the_bell_is_silent(adapter: Any) -> None:
    bell, ear = Bell(None), BellEar(WakeOptions(adapter))
    async with running(bell.run(), ear.run()):
        await ear.ready()
        bell.ring()
        assert not await ear.rung(timedelta(milliseconds=20))


async def test_a_rung_relay_sends_without_its_interval(database: Database) -> None:
    options = WakeOptions("postgres", listen_url=database.dsn("reconciler"), listen_url_is_direct=True)
    bell, ear = Bell(options.listen_url), BellEar(options)
    async with (
        opened_runs(database) as runs,
        reconciler_store(database) as store,
        WakeBench(options) as bench,
        bench.ear(["life"]) as worker,
        running(bell.run(), ear.run()),
    ):
        await ear.ready()
        waiting = asyncio.ensure_future(when_rung(relay(store, bench.publisher()), ear, LONG)())
        run_id = await runs.queued(module="life")
        bell.ring()
        assert await waiting == {"published": 1}
        await worker.hears(run_id)

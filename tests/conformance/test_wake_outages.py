"""What an outage may cost a wake-up adapter: latency. Not a block, a crash, a spin or a parked row."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest
from fencepost_cli.embedded.broker import Broker, JavaBroker
from fencepost_runtime.wake import (
    Delivered,
    Unreachable,
    WakeMessage,
    WakeOptions,
    WakePublisher,
    kafka_listener,
    make_listener,
)

from tests.conformance.wake_bench import MODULE, Ear, LoopWatch, WakeBench, message
from tests.conformance.wake_proxy import Line, address_of, line_to, through
from tests.support.eventually import eventually
from tests.support.kafka import WakeNames
from tests.support.postgres import Database

pytestmark = pytest.mark.faults

SOON = timedelta(seconds=0.3)  # instead of 5 s, for the tests' sake


@pytest.fixture
def own_broker(kafka_broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """One that may be stopped: the session's, unless that is somebody else's."""
    if kafka_broker.can_stop:
        yield kafka_broker
        return
    broker = JavaBroker(tmp_path_factory.mktemp("own-kafka"))
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture
async def line(empty_database: Database) -> AsyncIterator[Line]:
    async with line_to(*address_of(empty_database.dsn())) as opened:
        yield opened


@pytest.fixture
async def postgres(empty_database: Database, line: Line) -> AsyncIterator[WakeBench]:
    url = through(empty_database.dsn(), line)
    options = WakeOptions("postgres", listen_url=url, listen_url_is_direct=True, probe_every=SOON)
    async with WakeBench(options) as bench:
        yield bench


@pytest.mark.kafka
async def test_ev_7_a_broker_that_is_gone_parks_nothing_and_is_found_again(
    own_broker: Broker, wake_names: WakeNames
) -> None:  # fmt: skip
    bench = WakeBench(_kafka(own_broker.bootstrap, wake_names))
    publisher = bench.publisher()
    async with bench, LoopWatch() as watch, bench.ear() as ear:
        before, during, after = message(), [message(), message()], message()
        assert await publisher.publish([before]) == [Delivered()]
        await ear.hears(before.run_id)
        await asyncio.to_thread(own_broker.stop)
        try:
            for _ in range(3):
                answers = await publisher.publish(during)
                assert all(isinstance(answer, Unreachable) for answer in answers)
        finally:
            await asyncio.to_thread(own_broker.start)

        await eventually(partial(_is_delivered, publisher, during), timeout=30, every=0.2)
        assert await publisher.publish([after]) == [Delivered()]
        await ear.hears(*(sent.run_id for sent in during), after.run_id, within=30)
        assert watch.longest < 1.0


@pytest.mark.kafka
async def test_an_outage_beyond_patience_leaves_no_old_client_behind(
    own_broker: Broker, wake_names: WakeNames, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that was given up must not go on as a member that nobody reads for."""
    monkeypatch.setattr(kafka_listener, "PATIENCE_SECONDS", 0.5)
    bench = WakeBench(replace(_kafka(own_broker.bootstrap, wake_names), probe_every=SOON))
    before = asyncio.all_tasks()
    async with bench, bench.ear() as ear:
        await asyncio.to_thread(own_broker.stop)
        try:
            # What is left: the ear's own task, its listener's, its module's.
            await eventually(lambda: len(asyncio.all_tasks() - before) <= 3, timeout=30)
        finally:
            await asyncio.to_thread(own_broker.start)
        async with asyncio.timeout(40):
            await eventually(lambda: ear.listener.stats.connections == 2, timeout=40)
            await ear.listener.ready()
        sent = message()
        await eventually(partial(_is_delivered, bench.publisher(), [sent]), timeout=20)
        await ear.hears(sent.run_id)
    await eventually(lambda: asyncio.all_tasks() <= before)


@pytest.mark.kafka
async def test_a_broker_that_was_never_there_is_asked_now_and_then(wake_names: WakeNames) -> None:
    """No spin and no block, and after the first time-out the answer is quick."""
    async with line_to("127.0.0.1", 1) as dead, LoopWatch() as watch:
        dead.set("refuse")
        bench = WakeBench(_kafka(f"127.0.0.1:{dead.port}", wake_names))
        ear = Ear(make_listener(bench.options, [MODULE]))
        hearing = asyncio.create_task(ear.listener.run(ear.hints.append, ear.poison.append))
        publisher = bench.publisher()
        began = time.monotonic()
        for _ in range(3):
            [answer] = await publisher.publish([message()])
            assert isinstance(answer, Unreachable)
        lasted = time.monotonic() - began
        assert not hearing.done()
        assert dead.attempts < 25 * lasted
        assert watch.longest < 1.0
        hearing.cancel()
        async with asyncio.timeout(10):
            await asyncio.gather(hearing, return_exceptions=True)


async def test_a_refusing_database_is_found_again(postgres: WakeBench, line: Line) -> None:
    publisher = postgres.publisher()
    async with LoopWatch() as watch, postgres.ear() as ear:
        assert await publisher.publish([message()]) == [Delivered()]
        line.set("refuse")
        tried, began = line.attempts, time.monotonic()
        await eventually(lambda: line.attempts > tried + 3)  # the listener alone, at growing distances
        assert time.monotonic() - began > 0.5
        assert isinstance((await publisher.publish([message()]))[0], Unreachable)

        line.set("open")
        sent = message()
        await eventually(partial(_heard, publisher, ear, sent), timeout=20, every=0.2)
        assert ear.listener.stats.connections == 2
        assert watch.longest < 1.0


async def test_a_black_hole_before_the_database_holds_nobody(postgres: WakeBench, line: Line) -> None:
    publisher = postgres.publisher()
    async with LoopWatch() as watch, postgres.ear() as ear:
        assert await publisher.publish([message()]) == [Delivered()]
        line.set("hang")
        async with asyncio.timeout(8):
            assert isinstance((await publisher.publish([message()]))[0], Unreachable)
        line.cut()
        line.set("open")
        sent = message()
        await eventually(partial(_heard, publisher, ear, sent), timeout=20, every=0.2)
        assert watch.longest < 1.0


async def test_a_dead_silent_line_is_noticed_by_the_probe(postgres: WakeBench, line: Line) -> None:
    """Nobody closes the connection, nothing arrives: only asking tells it from a quiet day."""
    async with postgres.ear() as ear:
        line.set("hang")
        tried = line.attempts
        await eventually(lambda: line.attempts > tried, timeout=15)
        line.set("open")
        await eventually(lambda: ear.listener.stats.connections == 2, timeout=15)


async def test_pg_5_behind_a_transaction_pooler_the_listener_says_so_and_is_silent(
    postgres: WakeBench, line: Line
) -> None:
    """PgBouncer tells a backend id of its own, and LISTEN through it would succeed and hear nothing."""
    line.poses_as_pooler = True
    async with postgres.ear(listen_url_is_direct=False) as ear:
        assert ear.listener.stats.connections == 0  # ready, as `none` is: the scan finds the work
    line.poses_as_pooler = False
    async with postgres.ear(listen_url_is_direct=False) as ear:
        assert ear.listener.stats.connections == 1


def _kafka(bootstrap: str, names: WakeNames) -> WakeOptions:
    options = WakeOptions("kafka", topic_prefix=names.topic_prefix, group_prefix=names.group_prefix)
    return replace(options, kafka_bootstrap=bootstrap, publish_within=timedelta(seconds=2))


async def _is_delivered(publisher: WakePublisher, batch: Sequence[WakeMessage]) -> bool:
    answers = await publisher.publish(batch)
    return all(isinstance(answer, Delivered) for answer in answers)


async def _heard(publisher: WakePublisher, ear: Ear, sent: WakeMessage) -> bool:
    await publisher.publish([sent])
    return sent.run_id in ear.run_ids

"""I09: Kafka down, slow, duplicating, reordering or losing messages changes latency and load only.

Two workers claim by hint or by scan while a relay sends through a real broker that has a bad day. What
must hold: each run is claimed once, whatever was heard.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from fencepost_cli.embedded.broker import Broker
from fencepost_domain.lease import owner_of
from fencepost_runtime.wake import WakeOptions, WakePublisher
from fencepost_store.claims import claim

from tests.conformance.wake_bench import WakeBench
from tests.support.eventually import eventually
from tests.support.kafka import WakeNames
from tests.support.postgres import Database
from tests.support.wakes import Doubling, Down, Forgetful, Losing, Reordering, reconciler_store, relay
from tests.support.worker_runs import Runs, opened_runs

pytestmark = pytest.mark.kafka

MODULE = "life"
SCAN_SECONDS = 0.3  # instead of 1 s
LEASE = timedelta(seconds=60)  # nothing expires within a test


@pytest.fixture
async def runs(database: Database) -> AsyncIterator[Runs]:
    async with opened_runs(database, lease=LEASE) as opened:
        yield opened


@pytest.fixture
async def kafka(kafka_broker: Broker, wake_names: WakeNames) -> AsyncIterator[WakeBench]:
    options = WakeOptions(
        "kafka",
        kafka_bootstrap=kafka_broker.bootstrap,
        topic_prefix=wake_names.topic_prefix,
        group_prefix=wake_names.group_prefix,
        publish_within=timedelta(seconds=1),
    )
    async with WakeBench(options) as bench:
        yield bench


@dataclass
class MiniWorker:
    """Claims when told, and by its scan when not. `claimed` counts what each claim returned."""

    runs: Runs
    slot: str
    noted: asyncio.Event = field(default_factory=asyncio.Event)
    claimed: list[UUID] = field(default_factory=list)
    by_hint: int = 0

    async def run(self) -> None:
        while True:
            was_told = False
            with suppress(TimeoutError):
                async with asyncio.timeout(SCAN_SECONDS):
                    was_told = await self.noted.wait()
            self.noted.clear()
            taken = await self.look()
            self.by_hint += taken if was_told else 0

    async def look(self) -> int:
        async with self.runs.worker.transaction() as tx:
            claims = await claim(
                tx,
                module=MODULE,
                versions=[],
                owner=owner_of(self.slot, "boot-1"),
                lease=LEASE,
                limit=4,
                nonce=uuid4(),
            )
        self.claimed += [one.run.id for one in claims]
        return len(claims)


@asynccontextmanager
async def mesh(runs: Runs, bench: WakeBench, publisher: WakePublisher) -> AsyncIterator[list[MiniWorker]]:
    """A relay and two workers at work."""
    workers = [MiniWorker(runs, slot) for slot in ("slot-a", "slot-b")]
    ears = [bench.ear([MODULE]) for _ in workers]
    async with reconciler_store(runs.database) as store:
        one_relay = relay(store, publisher)

        async def relaying() -> None:
            while True:
                await one_relay.run_once()
                await asyncio.sleep(0.02)

        tasks = [asyncio.create_task(relaying())]
        for worker, ear in zip(workers, ears, strict=True):
            tasks.append(asyncio.create_task(worker.run()))
            note = worker.noted.set
            tasks.append(
                asyncio.create_task(ear.listener.run(lambda _, note=note: note(), ear.poison.append))  # type: ignore[misc]
            )
        async with asyncio.timeout(30):
            await asyncio.gather(*(ear.listener.ready() for ear in ears))
        try:
            yield workers
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def assert_each_claimed_once(runs: Runs, ids: list[UUID], workers: list[MiniWorker]) -> None:
    await eventually(lambda: set(ids) <= {i for w in workers for i in w.claimed}, timeout=20)
    everything = [run_id for worker in workers for run_id in worker.claimed]
    assert sorted(everything) == sorted(ids)
    rows = await runs.fetch(
        "SELECT r.id, r.status, r.attempt, r.revision, count(e.seq)"
        "  FROM agent.runs r JOIN agent.run_events e ON e.run_id = r.id AND e.type = 'run.claimed'"
        " GROUP BY r.id, r.status, r.attempt, r.revision"
    )
    assert {row[1:] for row in rows} == {("running", 1, 1, 1)}
    assert len(rows) == len(ids)


FAULTS: dict[str, Callable[[WakePublisher], WakePublisher]] = {
    "down": Down,
    "losing": Losing,
    "doubling": Doubling,
    "reordering": Reordering,
    "forgetting its reports": Forgetful,
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_i09_a_broker_s_bad_day_changes_latency_and_load_only(
    fault: str, runs: Runs, kafka: WakeBench
) -> None:
    async with mesh(runs, kafka, FAULTS[fault](kafka.publisher())) as workers:
        ids = [await runs.queued(module=MODULE) for _ in range(20)]
        await assert_each_claimed_once(runs, ids, workers)
    if fault == "down":
        assert sum(worker.by_hint for worker in workers) == 0


async def test_i09_a_broker_stopped_in_between_loses_no_run(
    runs: Runs, kafka: WakeBench, kafka_broker: Broker
) -> None:
    """Runs made before, during and after the outage; those during are found by the scan."""
    if not kafka_broker.can_stop:
        pytest.fail("this test stops its broker: unset the variable that names somebody else's")
    async with mesh(runs, kafka, kafka.publisher()) as workers:
        ids = [await runs.queued(module=MODULE) for _ in range(5)]
        await asyncio.to_thread(kafka_broker.stop)
        try:
            ids += [await runs.queued(module=MODULE) for _ in range(5)]
            await assert_each_claimed_once(runs, ids, workers)
        finally:
            await asyncio.to_thread(kafka_broker.start)
        ids += [await runs.queued(module=MODULE) for _ in range(5)]
        await assert_each_claimed_once(runs, ids, workers)

        async def all_sent() -> bool:
            return not await runs.fetch("SELECT 1 FROM agent.outbox WHERE published_at IS NULL")

        await eventually(all_sent, timeout=30)
        assert await runs.fetch("SELECT 1 FROM agent.outbox WHERE parked_at IS NOT NULL") == []


async def test_i09_a_stale_hint_is_dropped_by_the_claim(runs: Runs, kafka: WakeBench) -> None:
    run_id = await runs.queued(module=MODULE)
    worker = MiniWorker(runs, "slot-a")
    assert await worker.look() == 1
    before = await runs.fetch("SELECT to_jsonb(r) FROM agent.runs r WHERE id = %s", run_id)
    async with reconciler_store(runs.database) as store, kafka.ear([MODULE]) as ear:
        assert await relay(store, kafka.publisher()).run_once() == {"published": 1}
        await ear.hears(run_id)
    assert await worker.look() == 0
    assert await runs.fetch("SELECT to_jsonb(r) FROM agent.runs r WHERE id = %s", run_id) == before


async def test_i09_without_hints_the_scan_bounds_latency(runs: Runs, kafka: WakeBench) -> None:
    """The hint is out of reach, so only the poll is tried (and below, only the hint)."""
    worker = MiniWorker(runs, "slot-a")
    task = asyncio.create_task(worker.run())
    ids = [await runs.queued(module=MODULE) for _ in range(3)]
    await assert_each_claimed_once(runs, ids, [worker])
    assert worker.by_hint == 0
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_with_the_scan_out_of_reach_the_hint_alone_starts_a_run(runs: Runs, kafka: WakeBench) -> None:
    worker = MiniWorker(runs, "slot-a")
    async with reconciler_store(runs.database) as store:
        ear = kafka.ear([MODULE])
        hearing = asyncio.create_task(ear.listener.run(lambda _: worker.noted.set(), ear.poison.append))
        await ear.listener.ready()
        run_id = await runs.queued(module=MODULE)
        await relay(store, kafka.publisher()).run_once()
        async with asyncio.timeout(10):
            await worker.noted.wait()
        await worker.look()
        assert worker.claimed == [run_id]
        hearing.cancel()
        await asyncio.gather(hearing, return_exceptions=True)

"""The relay on a real Postgres and a real broker: every row sent, marked after its report, none skipped."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import psycopg
import pytest
from fencepost_cli.embedded.broker import Broker
from fencepost_runtime.wake import WakeOptions
from fencepost_store.runs import create_run
from fencepost_store.transaction import Store

from tests.conformance.wake_bench import WakeBench
from tests.support.eventually import eventually
from tests.support.kafka import WakeNames
from tests.support.postgres import Database
from tests.support.wakes import Forgetful, Gated, new_run, reconciler_store, relay
from tests.support.worker_runs import TENANT, Runs, opened_runs

MODULE = "life"
TOO_LARGE = "x" * 1_500_000  # bytes of a trace context that nobody looked at; the broker's limit is 1 MB
KAFKA = pytest.param("kafka", marks=pytest.mark.kafka)


@pytest.fixture
async def runs(database: Database) -> AsyncIterator[Runs]:
    async with opened_runs(database) as opened:
        yield opened


@pytest.fixture
async def store(database: Database) -> AsyncIterator[Store]:
    async with reconciler_store(database) as opened:
        yield opened


@pytest.fixture
async def kafka(kafka_broker: Broker, wake_names: WakeNames) -> AsyncIterator[WakeBench]:
    options = WakeOptions("kafka", topic_prefix=wake_names.topic_prefix, group_prefix=wake_names.group_prefix)
    async with WakeBench(replace(options, kafka_bootstrap=kafka_broker.bootstrap)) as bench:
        yield bench


async def outbox(runs: Runs, run_id: UUID) -> tuple[bool, bool, int, str | None]:
    """published, parked, attempts, reason of a run's only row."""
    [row] = await runs.fetch(
        "SELECT published_at IS NOT NULL, parked_at IS NOT NULL, attempts, park_reason"
        " FROM agent.outbox WHERE run_id = %s",
        run_id,
    )
    return row


@pytest.fixture(params=[KAFKA, "postgres", "none"])
async def adapter(
    request: pytest.FixtureRequest, database: Database, wake_names: WakeNames
) -> AsyncIterator[WakeBench]:
    """Each adapter, as the reconciler's role."""
    url = database.dsn("reconciler")
    options = WakeOptions(request.param, listen_url=url, listen_url_is_direct=True)
    if request.param == "kafka":
        bootstrap = request.getfixturevalue("kafka_broker").bootstrap
        options = replace(options, kafka_bootstrap=bootstrap, topic_prefix=wake_names.topic_prefix)
    async with WakeBench(options, hears=request.param != "none") as bench:
        yield bench


async def test_a_new_run_is_told_to_who_listens(adapter: WakeBench, runs: Runs, store: Store) -> None:
    async with adapter.ear([MODULE]) as ear:
        run_id = await runs.queued(module=MODULE)
        assert await relay(store, adapter.publisher()).run_once() == {"published": 1}
        assert await outbox(runs, run_id) == (True, False, 1, None)
        if adapter.hears:
            await ear.hears(run_id)
        assert await relay(store, adapter.publisher()).run_once() == {}


@pytest.mark.kafka
async def test_ev_1_a_row_committed_late_is_not_passed_over(
    runs: Runs, store: Store, kafka: WakeBench
) -> None:
    """101 is inserted first and committed last; the relay polls in between."""
    one_relay = relay(store, kafka.publisher())
    async with kafka.ear([MODULE]) as ear:
        early = new_run(runs, MODULE)
        async with runs.api.transaction(TENANT) as slow:
            await create_run(slow, early)
            late_id = await runs.queued(module=MODULE)
            assert await one_relay.run_once() == {"published": 1}
            await ear.hears(late_id)
            assert early.id not in ear.run_ids
        ids = await runs.fetch("SELECT run_id FROM agent.outbox ORDER BY id")
        assert [row[0] for row in ids] == [early.id, late_id]

        assert await one_relay.run_once() == {"published": 1}
        await ear.hears(early.id)


@pytest.mark.kafka
async def test_ev_7_a_row_that_can_never_be_sent_is_parked_and_the_next_goes_out(
    runs: Runs, store: Store, kafka: WakeBench
) -> None:
    large = await runs.queued(module=MODULE, traceparent=TOO_LARGE)
    small = await runs.queued(module=MODULE)
    one_relay = relay(store, kafka.publisher())
    async with kafka.ear([MODULE]) as ear:
        assert await one_relay.run_once() == {"published": 1, "parked": 1}

        await ear.hears(small)
        published, parked, attempts, reason = await outbox(runs, large)
        assert (published, parked, attempts) == (False, True, 1)
        assert "large" in str(reason).lower()
        assert await outbox(runs, small) == (True, False, 1, None)
    assert await one_relay.run_once() == {}  # parked isn't tried again by itself


@pytest.mark.kafka
async def test_ev_7_an_outage_parks_nothing_and_ends_by_itself(
    runs: Runs, store: Store, kafka: WakeBench
) -> None:
    run_id = await runs.queued(module=MODULE)
    nobody = WakeBench(
        replace(kafka.options, kafka_bootstrap="127.0.0.1:1", publish_within=timedelta(seconds=1))
    )
    async with nobody:
        lost = relay(store, nobody.publisher())
        deferred = 0
        while deferred < 3:  # each try is further away than the one before
            deferred += (await lost.run_once()).get("deferred", 0)
    assert await outbox(runs, run_id) == (False, False, 3, None)
    found = relay(store, kafka.publisher())
    await eventually(found.run_once)
    assert await outbox(runs, run_id) == (True, False, 4, None)


async def test_a_row_of_a_later_release_is_parked_by_name(runs: Runs, store: Store) -> None:
    run_id = await runs.queued(module=MODULE)
    await runs.run("UPDATE agent.outbox SET event_type = 'agent.run.teleported.v9'")
    async with WakeBench(WakeOptions("none")) as bench:
        assert await relay(store, bench.publisher()).run_once() == {"parked": 1}
    assert await outbox(runs, run_id) == (False, True, 1, "unknown event type agent.run.teleported.v9")


async def test_a_row_is_not_sent_before_its_time(runs: Runs, store: Store) -> None:
    run_id = await runs.queued(module=MODULE)
    await runs.run("UPDATE agent.outbox SET publish_at = clock_timestamp() + interval '1 hour'")
    async with WakeBench(WakeOptions("none")) as bench:
        one_relay = relay(store, bench.publisher())
        assert await one_relay.run_once() == {}
        await runs.run("UPDATE agent.outbox SET publish_at = clock_timestamp()")
        assert await one_relay.run_once() == {"published": 1}
    assert (await outbox(runs, run_id))[0]


@pytest.mark.kafka
async def test_a_row_is_marked_after_the_report_and_free_of_locks_until_then(
    runs: Runs, store: Store, kafka: WakeBench
) -> None:
    run_id = await runs.queued(module=MODULE)
    publisher = Gated(kafka.publisher())
    async with kafka.ear([MODULE]) as ear:
        sending = asyncio.create_task(relay(store, publisher).run_once())
        await publisher.reached.wait()
        await ear.hears(run_id)
        assert await outbox(runs, run_id) == (False, False, 1, None)  # out, but not yet known to be
        assert await runs.fetch("SELECT 1 FROM agent.outbox WHERE run_id = %s FOR UPDATE NOWAIT", run_id)
        publisher.gate.set()
        assert await sending == {"published": 1}
    assert await outbox(runs, run_id) == (True, False, 1, None)


@pytest.mark.kafka
async def test_what_a_dead_relay_sent_without_marking_is_sent_again(
    runs: Runs, store: Store, kafka: WakeBench
) -> None:
    run_id = await runs.queued(module=MODULE)
    publisher = Gated(kafka.publisher())
    dying = asyncio.create_task(relay(store, publisher, lease=timedelta(seconds=0.5)).run_once())
    await publisher.reached.wait()
    dying.cancel()
    with suppress(asyncio.CancelledError):
        await dying

    other = relay(store, kafka.publisher())
    assert await other.run_once() == {}  # still the dead one's
    async with kafka.ear([MODULE]) as ear:
        await eventually(other.run_once)
        await eventually(lambda: len(ear.hints) == 2)  # the claim drops the second one
        assert ear.run_ids == {run_id}
    assert await outbox(runs, run_id) == (True, False, 2, None)


async def test_a_report_that_comes_late_counts_whoever_holds_the_lease(runs: Runs, store: Store) -> None:
    run_id = await runs.queued(module=MODULE)
    async with WakeBench(WakeOptions("none")) as bench:
        slow = Gated(bench.publisher())
        sending = asyncio.create_task(relay(store, slow, lease=timedelta(seconds=0.1)).run_once())
        await slow.reached.wait()
        taken = Gated(bench.publisher())
        other = relay(store, taken)
        retaken = asyncio.create_task(_until_it_takes(other, taken))
        await taken.reached.wait()
        slow.gate.set()
        assert await sending == {"published": 1}
        taken.gate.set()
        await retaken
    assert await outbox(runs, run_id) == (True, False, 2, None)


async def _until_it_takes(other: object, publisher: Gated) -> None:
    while not publisher.reached.is_set():
        await other.run_once()  # type: ignore[attr-defined]


@pytest.mark.kafka
async def test_two_relays_share_the_rows_and_send_each_once(
    runs: Runs, store: Store, database: Database, kafka: WakeBench
) -> None:
    ids = {await runs.queued(module=MODULE) for _ in range(60)}
    async with reconciler_store(database) as second_store, kafka.ear([MODULE]) as ear:
        relays = [relay(s, kafka.publisher(), batch=7) for s in (store, second_store)]

        async def drain(one: object) -> int:
            sent = 0
            while counts := await one.run_once():  # type: ignore[attr-defined]
                sent += counts["published"]
            return sent

        shares = await asyncio.gather(*(drain(one) for one in relays))
        assert sum(shares) == len(ids)
        assert all(shares)
        await ear.hears(*ids)
        assert len(ear.hints) == len(ids)
    assert await runs.fetch("SELECT 1 FROM agent.outbox WHERE published_at IS NULL OR attempts <> 1") == []


async def test_a_locked_row_holds_up_no_other(runs: Runs, store: Store, database: Database) -> None:
    held, free = [await runs.queued(module=MODULE) for _ in range(2)]
    async with (
        WakeBench(WakeOptions("none")) as bench,
        await psycopg.AsyncConnection.connect(database.admin) as rival,
    ):
        await rival.execute("SELECT 1 FROM agent.outbox WHERE run_id = %s FOR UPDATE", (held,))
        assert await relay(store, bench.publisher()).run_once() == {"published": 1}
        assert (await outbox(runs, free))[0]


async def test_an_unknown_outcome_is_never_taken_for_sent(runs: Runs, store: Store) -> None:
    run_id = await runs.queued(module=MODULE)
    async with WakeBench(WakeOptions("none")) as bench:
        assert await relay(store, Forgetful(bench.publisher())).run_once() == {"deferred": 1}
    assert await outbox(runs, run_id) == (False, False, 1, None)

"""What only one adapter has: Kafka's groups, limits and offsets; Postgres's coalesced NOTIFY."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import psycopg
import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._resource import ResourceType
from fencepost_cli.embedded.broker import Broker
from fencepost_contracts.wake import WakeBatch, WakeType, group_of, topic_of
from fencepost_runtime.wake import Delivered, Hint, Refused, WakeOptions
from psycopg import sql

from tests.conformance.wake_bench import MODULE, WakeBench, message
from tests.support.eventually import eventually
from tests.support.kafka import WakeNames
from tests.support.postgres import Database

POLL_LIMIT = timedelta(seconds=1)
KIND = WakeType.REQUESTED
RUN_LASTS = 1.6  # seconds; the case's 8 s against 5 s, in the same proportion


@pytest.fixture
async def kafka(kafka_broker: Broker, wake_names: WakeNames) -> AsyncIterator[WakeBench]:
    options = WakeOptions(
        "kafka",
        kafka_bootstrap=kafka_broker.bootstrap,
        topic_prefix=wake_names.topic_prefix,
        group_prefix=wake_names.group_prefix,
    )
    async with WakeBench(options) as bench:
        yield bench


@pytest.mark.kafka
async def test_kf_1_a_run_longer_than_the_poll_limit_leaves_the_group_still(kafka: WakeBench) -> None:
    """The handler only notes; the run is a task of its own, so nobody leaves and nothing comes twice."""
    async with (
        kafka.ear(poll_limit=POLL_LIMIT, probe_every=timedelta(seconds=0.3)) as one,
        kafka.ear(poll_limit=POLL_LIMIT, probe_every=timedelta(seconds=0.3)) as two,
    ):
        batch = [message() for _ in range(20)]
        await eventually(lambda: one.listener.stats.rebalances >= 2)  # the second one has its share
        dealt = (one.listener.stats.rebalances, two.listener.stats.rebalances)
        await kafka.publisher().publish(batch)
        await eventually(lambda: len(one.hints) + len(two.hints) == len(batch))
        ran: list[UUID] = []
        await asyncio.gather(*(_run_long(hint, ran) for hint in [*one.hints, *two.hints]))

        assert sorted(ran) == sorted(sent.run_id for sent in batch)
        assert (one.listener.stats.rebalances, two.listener.stats.rebalances) == dealt
        assert len(one.hints) + len(two.hints) == len(batch)


async def _run_long(hint: Hint, ran: list[UUID]) -> None:
    await asyncio.sleep(RUN_LASTS)
    ran.append(hint.run_id)


@pytest.mark.kafka
async def test_kf_1_rebalances_never_move_a_group_backwards(kafka: WakeBench) -> None:
    """Members come and go under load: committed offsets only rise, and every hint is heard."""
    publisher = kafka.publisher()
    sent = [message() for _ in range(300)]
    seen: dict[int, int] = {}
    heard: set[UUID] = set()
    async with kafka.ear() as stays:
        for start in range(0, len(sent), 100):
            async with kafka.ear() as comes:
                await publisher.publish(sent[start : start + 100])
                wanted = {one.run_id for one in sent[start : start + 100]}
                await eventually(lambda: wanted <= heard | stays.run_ids | comes.run_ids, timeout=20)  # noqa: B023
                heard |= comes.run_ids
            for partition, offset in (await asyncio.to_thread(_committed, kafka.options)).items():
                assert offset >= seen.get(partition, 0)
                seen[partition] = offset
    final = await asyncio.to_thread(_committed, kafka.options)
    assert sum(final.values()) == len(sent)  # who leaves politely has committed all that was read


@pytest.mark.kafka
async def test_ev_7_a_broker_that_refuses_a_whole_request_is_asked_record_by_record(kafka: WakeBench) -> None:
    """An operator's limit below ours: the neighbours of the large record must not be parked with it."""
    publisher = kafka.publisher()
    assert await publisher.publish([message()]) == [Delivered()]
    await asyncio.to_thread(_limit_topic, kafka.options, 2_000)
    batch = [message() for _ in range(9)]
    batch[4] = message(detail={"text": "x" * 5_000})

    answers = await publisher.publish(batch)

    assert [isinstance(answer, Refused) and answer.permanent for answer in answers] == [
        index == 4 for index in range(9)
    ]
    assert answers.count(Delivered()) == 8


@pytest.mark.kafka
async def test_a_missing_topic_is_for_an_operator_to_mend_not_a_reason_to_park(kafka: WakeBench) -> None:
    kafka.options = replace(kafka.options, create_topics=False)
    [answer] = await kafka.publisher().publish([message()])
    assert isinstance(answer, Refused)
    assert not answer.permanent


async def test_one_notify_a_tick_and_module_under_its_8000_bytes(empty_database: Database) -> None:
    options = WakeOptions("postgres", listen_url=empty_database.dsn(), listen_url_is_direct=True)
    channel = topic_of(MODULE)
    async with (
        WakeBench(options) as bench,
        await psycopg.AsyncConnection.connect(empty_database.dsn(), autocommit=True) as connection,
    ):
        await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
        publisher = bench.publisher()
        assert await publisher.publish([message() for _ in range(150)]) == [Delivered()] * 150
        assert len([notice async for notice in connection.notifies(timeout=5, stop_after=1)]) == 1

        await publisher.publish([message() for _ in range(1000)])
        notices = [notice async for notice in connection.notifies(timeout=5, stop_after=5)]
        assert sum(len(WakeBatch.model_validate_json(each.payload).runs[KIND]) for each in notices) == 1000
        assert max(len(notice.payload) for notice in notices) < 8_000


def _committed(options: WakeOptions) -> dict[int, int]:
    client = AdminClient({"bootstrap.servers": options.kafka_bootstrap or ""})
    group = group_of(MODULE, options.group_prefix)
    request = ConsumerGroupTopicPartitions(group)
    answer = client.list_consumer_group_offsets([request])[group].result(10)
    partitions: list[TopicPartition] = answer.topic_partitions or []
    return {each.partition: each.offset for each in partitions if each.offset >= 0}


def _limit_topic(options: WakeOptions, size_bytes: int) -> None:
    client = AdminClient({"bootstrap.servers": options.kafka_bootstrap or ""})
    entry = ConfigEntry("max.message.bytes", str(size_bytes), incremental_operation=AlterConfigOpType.SET)
    topic = topic_of(MODULE, options.topic_prefix)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    for future in client.incremental_alter_configs([resource]).values():
        future.result(10)

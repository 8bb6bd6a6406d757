"""Listen to Kafka: one consumer group a module, on the event loop.

A record is read, noted and done within a millisecond, so a run's length has nothing to do with the poll
loop and group membership stays still. Records are taken as bytes: a decoder inside the client would fail
where nobody could skip the record.

Latency and `fetch_wait`: a fetch is answered as soon as one record is there, and the client sends the
next one only when all that was fetched is consumed, so it names every partition again. The wait is thus
only the length of an idle request, not a delay (measured: same latency at 20 and at 500 ms).

The client reconnects by itself in most cases and in some never does (aiokafka issue 876); so when
nothing came for a while we ask for metadata. A client that can't get it gets some patience, since with
its membership it is back sooner than a new one, who waits for the old one's session to end; then it is
thrown away.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, ConsumerRecord, TopicPartition
from aiokafka.errors import CorruptRecordException, KafkaError, RecordTooLargeError
from confluent_kafka import KafkaException
from fencepost_contracts.wake import group_of, topic_of

from fencepost_runtime.wake.kafka_commits import EVERY, Commits
from fencepost_runtime.wake.kafka_topics import make_topics
from fencepost_runtime.wake.options import WakeOptions
from fencepost_runtime.wake.port import (
    HintHandler,
    ListenerStats,
    PoisonHandler,
    count_hint,
    count_poison,
)
from fencepost_runtime.wake.reconnect import Reconnect
from fencepost_runtime.wake.wire import Unreadable, decode, poison

START_SECONDS: Final = 30.0  # joining a group waits for the other members' rebalance
STOP_SECONDS: Final = 4.0  # leaving politely spares the others a session time-out
PROBE_SECONDS: Final = 5.0  # a metadata request that takes longer counts as lost
PATIENCE_SECONDS: Final = 12.0  # two sessions: by then membership is lost anyway
PAUSE_SECONDS: Final = 0.5  # between probes while the broker is gone
SESSION_MS: Final = 6_000  # the least that brokers allow; a killed worker's partitions rest this long
HEARTBEAT_MS: Final = 1_000  # members learn of a rebalance by it: how long a new worker waits for its share
_TROUBLE: Final = (KafkaError, KafkaException, OSError, TimeoutError)


class KafkaListener:
    """Hears every module in `modules`. `run` may be called once."""

    def __init__(self, options: WakeOptions, modules: Sequence[str]) -> None:
        if not options.kafka_bootstrap:
            raise ValueError("the kafka adapter needs a bootstrap address")
        # The client logs each failed try, tens a second in an outage; what matters we log ourselves.
        logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
        self.stats = ListenerStats()
        self._ears = [_ModuleEar(options, module, self.stats) for module in modules]

    async def run(self, on_hint: HintHandler, on_poison: PoisonHandler) -> None:
        async with asyncio.TaskGroup() as group:
            for ear in self._ears:
                group.create_task(ear.run(on_hint, on_poison))

    async def ready(self) -> None:
        await asyncio.gather(*(ear.hears.wait() for ear in self._ears))

    def pause(self) -> None:
        for ear in self._ears:
            ear.pause()

    def resume(self) -> None:
        for ear in self._ears:
            ear.resume()


class _ModuleEar(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka ships no types
    """One module's membership in its group."""

    def __init__(self, options: WakeOptions, module: str, stats: ListenerStats) -> None:
        self.hears = asyncio.Event()
        self._options = options
        self._module = module
        self._topic = topic_of(module, options.topic_prefix)
        self._stats = stats
        self._is_paused = False
        self._commits: Commits | None = None
        self._heard_at = 0.0  # the loop's clock
        self._consumer: AIOKafkaConsumer | None = None
        self._reconnect = Reconnect(f"kafka {self._topic}", options.retry_at_most)

    async def run(self, on_hint: HintHandler, on_poison: PoisonHandler) -> None:
        while True:
            trouble: BaseException
            try:
                await asyncio.to_thread(make_topics, self._options, [self._module])
                await self._join()
                while True:
                    await self._take(on_hint, on_poison)
            except _TROUBLE as error:
                trouble = error
            except asyncio.CancelledError as error:
                if _is_asked_to_end():
                    raise
                trouble = error  # the client lets the end of a task of its own out
            finally:
                self.hears.clear()
                await self._leave()
            await self._reconnect.lost(trouble)

    async def _join(self) -> None:
        self._consumer = AIOKafkaConsumer(
            bootstrap_servers=self._options.kafka_bootstrap,
            group_id=group_of(self._module, self._options.group_prefix),
            auto_offset_reset="earliest",
            enable_auto_commit=False,  # see kafka_commits
            fetch_max_wait_ms=int(self._options.fetch_wait.total_seconds() * 1000),
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=HEARTBEAT_MS,
            max_poll_interval_ms=int(self._options.poll_limit.total_seconds() * 1000),
        )
        self._commits = Commits(self._consumer)
        self._consumer.subscribe([self._topic], listener=self)
        async with asyncio.timeout(START_SECONDS):
            await self._consumer.start()
        self._heard_at = asyncio.get_running_loop().time()
        self._stats.connections += 1
        self._reconnect.connected()
        self.hears.set()

    async def _leave(self) -> None:
        consumer, self._consumer = self._consumer, None
        if consumer is None:
            return
        # In a task, since what the client cancels of its own while it stops comes out as our cancellation.
        leaving = asyncio.create_task(_end(consumer, self._commits))
        await asyncio.wait([leaving], timeout=STOP_SECONDS)
        leaving.cancel()  # the broker forgets the member after its session

    async def _take(self, on_hint: HintHandler, on_poison: PoisonHandler) -> None:
        """Note what comes; when nothing does for a while, make sure that something could."""
        assert self._consumer is not None
        assert self._commits is not None
        self._commits.tick()
        wait = EVERY if self._commits.is_due else self._options.probe_every
        wait_ms = int(wait.total_seconds() * 1000)
        try:
            fetched = await self._consumer.getmany(timeout_ms=wait_ms)
        except (CorruptRecordException, RecordTooLargeError) as error:
            # The client says neither where nor how to go past it: leave out what lies there by now.
            count_poison(self._stats, on_poison, poison(self._topic, None, None, str(error), None))
            await self._consumer.seek_to_end()
            return
        if not fetched and not await self._broker_answers(self._consumer):
            return
        self._heard_at = asyncio.get_running_loop().time()
        self.hears.set()
        for records in fetched.values():
            for record in records:
                self._note(record, on_hint, on_poison)
            self._commits.note_read()

    async def _broker_answers(self, consumer: AIOKafkaConsumer) -> bool:
        """Ask for metadata. Raises what the client said once patience is over."""
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                await consumer.topics()
        except _TROUBLE:
            self.hears.clear()
            if asyncio.get_running_loop().time() - self._heard_at > PATIENCE_SECONDS:
                raise
            await asyncio.sleep(PAUSE_SECONDS)
            return False
        return True

    def _note(self, record: ConsumerRecord, on_hint: HintHandler, on_poison: PoisonHandler) -> None:
        try:
            hint = decode(self._module, record.value, record.headers)
        except Unreadable as error:
            where = (record.topic, record.partition, record.offset)
            count_poison(self._stats, on_poison, poison(*where, str(error), record.value))
        else:
            count_hint(self._stats, on_hint, hint)

    def pause(self) -> None:
        if self._is_paused:
            return
        self._is_paused = True
        if self._consumer is not None:
            self._consumer.pause(*self._consumer.assignment())

    def resume(self) -> None:
        if not self._is_paused:
            return
        self._is_paused = False
        if self._consumer is not None:
            self._consumer.resume(*self._consumer.assignment())

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        """The next owner goes on where we stand; later we may not speak for these any more."""
        if self._commits is not None and self._commits.is_due:
            await self._commits.commit()

    async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        self._stats.rebalances += 1
        # New partitions come unpaused, whatever the old ones were.
        if self._is_paused and self._consumer is not None:
            self._consumer.pause(*assigned)


async def _end(consumer: AIOKafkaConsumer, commits: Commits | None) -> None:
    """Commit, leave the group, close. Whatever fails on the way, nothing of the client goes on living."""
    try:
        if commits is not None:
            await commits.end()
    finally:
        try:
            await consumer.stop()
        except (*_TROUBLE, asyncio.CancelledError):
            # Its fetcher's close raises what it cancelled, and its client isn't closed then (aiokafka 0.14).
            await consumer._client.close()


def _is_asked_to_end() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0

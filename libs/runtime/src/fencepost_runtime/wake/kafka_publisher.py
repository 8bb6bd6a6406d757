"""Publish to Kafka: idempotent producer, acks from all, one answer a message from its delivery report.

The producer (librdkafka) has threads of its own; we call it from one thread of ours, so that neither a
full queue nor a broker that is gone ever holds the event loop. What a message may cost in time is
`publish_within`: librdkafka reports everything by then, at worst as timed out.

Refusals need care: a broker refuses a whole request for one record that is too large, so after a size
refusal each message of the batch is judged by itself before any of them is called hopeless.
"""

import asyncio
import logging
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from fencepost_contracts.wake import topic_of

from fencepost_runtime.logging import get_logger
from fencepost_runtime.wake.kafka_topics import make_topics
from fencepost_runtime.wake.options import WakeOptions
from fencepost_runtime.wake.port import Delivered, Delivery, Refused, Unreachable, WakeMessage
from fencepost_runtime.wake.wire import encode, headers_of

REPORT_GRACE_SECONDS: Final = 1.5  # librdkafka looks for timed-out messages once a second
PROBE_SECONDS: Final = 0.5  # while the broker was gone last time, ask it before queueing more
RECONNECT_MS: Final = 1_000  # its default of 10 s would make a short outage a long one

log = get_logger(__name__)

_TOO_LARGE: Final = frozenset({KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE})
_FOR_GOOD: Final = _TOO_LARGE | {
    KafkaError.INVALID_MSG,
    KafkaError.INVALID_MSG_SIZE,
    KafkaError.INVALID_RECORD,
    KafkaError.TOPIC_EXCEPTION,  # an impossible topic name
    KafkaError._INVALID_ARG,
}
_TILL_MENDED: Final = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.POLICY_VIOLATION,
    }
)
_TOPIC_IS_GONE: Final = frozenset(
    {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION}
)
# After these an idempotent producer doesn't always find its way back (confluent-kafka-dotnet issue 2519),
# so a new one takes over; hints sent twice by that are harmless.
_PRODUCER_IS_LOST: Final = frozenset(
    {
        KafkaError._FATAL,
        KafkaError._INCONSISTENT,
        KafkaError._STATE,
        KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER,
        KafkaError.UNKNOWN_PRODUCER_ID,
        KafkaError.INVALID_PRODUCER_EPOCH,
    }
)


class KafkaPublisher:
    """Connects at once, in the background. One publish at a time; others wait their turn."""

    def __init__(self, options: WakeOptions) -> None:
        if not options.kafka_bootstrap:
            raise ValueError("the kafka adapter needs a bootstrap address")
        self._options = options
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="wake-kafka")
        self._producer: Producer | None = None
        self._made: set[str] = set()  # modules whose topics exist
        self._is_out = False
        # An idempotent producer asks the broker for its id first; the first hint shouldn't wait for that.
        self._thread.submit(self._client)

    async def publish(self, batch: Sequence[WakeMessage]) -> list[Delivery]:
        if not batch:
            return []
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._publish, batch)

    async def close(self) -> None:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._thread, self._drop_producer)
        self._thread.shutdown(wait=False)

    # In the thread, from here on.

    def _publish(self, batch: Sequence[WakeMessage]) -> list[Delivery]:
        missing = self._find_trouble(batch)
        if missing:
            self._note_outage(missing)
            return [Unreachable(missing) for _ in batch]
        errors = self._send(batch)
        for index, error in enumerate(errors):
            if error is not None and error.code() in _TOO_LARGE and len(batch) > 1:
                errors[index] = self._send([batch[index]])[0]
        codes = {error.code() for error in errors if error is not None}
        if codes & _TOPIC_IS_GONE:
            self._made.clear()  # somebody deleted a topic: make it again next time
        if codes & _PRODUCER_IS_LOST:
            self._drop_producer()
        deliveries = [_judge(error) for error in errors]
        outages = [answer.reason for answer in deliveries if isinstance(answer, Unreachable)]
        if outages:
            self._note_outage(outages[0])
        else:
            self._note_return()
        return deliveries

    def _find_trouble(self, batch: Sequence[WakeMessage]) -> str | None:
        """Make topics, and after an outage ask whether it is over; says why not, or None."""
        try:
            if self._is_out:
                self._client().list_topics(timeout=PROBE_SECONDS)
            unmade = {message.module for message in batch} - self._made
            make_topics(self._options, unmade)
            self._made |= unmade
        except KafkaException as error:
            return str(error.args[0].str())
        return None

    def _send(self, batch: Sequence[WakeMessage]) -> list[KafkaError | None]:
        """Send and wait for each report. None is delivered; no report in time is a time-out."""
        producer = self._client()
        reports: dict[int, KafkaError | None] = {}

        def on_delivery(index: int, error: KafkaError | None, _: Message) -> None:
            reports[index] = error

        for index, message in enumerate(batch):
            try:
                producer.produce(
                    topic_of(message.module, self._options.topic_prefix),
                    value=encode(message),
                    key=str(message.run_id).encode(),
                    headers=list(headers_of(message)),
                    on_delivery=partial(on_delivery, index),
                )
            except KafkaException as error:
                reports[index] = error.args[0]
            except ValueError as error:  # no event can be made of it (pydantic's is one), today or tomorrow
                reports[index] = KafkaError(KafkaError._INVALID_ARG, str(error).partition("\n")[0])
            except BufferError:
                reports[index] = KafkaError(KafkaError._QUEUE_FULL)
        deadline = time.monotonic() + self._options.publish_within.total_seconds() + REPORT_GRACE_SECONDS
        while len(reports) < len(batch) and (left := deadline - time.monotonic()) > 0:
            producer.poll(min(left, 0.2))
        return [reports.get(index, KafkaError(KafkaError._TIMED_OUT)) for index in range(len(batch))]

    def _client(self) -> Producer:
        if self._producer is None:
            limit_ms = int(self._options.publish_within.total_seconds() * 1000)
            self._producer = Producer(
                {
                    "bootstrap.servers": self._options.kafka_bootstrap,
                    "client.id": "fencepost-relay",
                    "enable.idempotence": True,
                    "acks": "all",
                    "linger.ms": 0,  # the relay's tick has already gathered what belongs together
                    "message.timeout.ms": limit_ms,
                    # A topic that isn't there is said to be so within the time of one publish.
                    "topic.metadata.propagation.max.ms": int(limit_ms / 2),
                    "reconnect.backoff.ms": RECONNECT_MS // 4,
                    "reconnect.backoff.max.ms": RECONNECT_MS,
                    "socket.nagle.disable": True,
                    "log_level": 2,  # its line for each failed connection says what we say once
                },
                logger=logging.getLogger("librdkafka"),
            )
        return self._producer

    def _drop_producer(self) -> None:
        """Forget what is queued: the outbox still has it."""
        if self._producer is not None:
            self._producer.purge()
            self._producer.flush(PROBE_SECONDS)
            self._producer = None

    def _note_outage(self, reason: str) -> None:
        if not self._is_out:
            log.warning("wake.unreachable", connection="kafka", error=reason)
        self._is_out = True

    def _note_return(self) -> None:
        if self._is_out:
            log.info("wake.reconnected", connection="kafka")
        self._is_out = False


def _judge(error: KafkaError | None) -> Delivery:
    if error is None:
        return Delivered()
    if error.code() in _FOR_GOOD:
        return Refused(error.str(), permanent=True)
    if error.code() in _TILL_MENDED:
        return Refused(error.str(), permanent=False)
    return Unreachable(error.str())

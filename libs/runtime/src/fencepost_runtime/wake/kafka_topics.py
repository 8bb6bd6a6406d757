"""The admin side of Kafka: topics are made if allowed, and a broker can be waited for.

Calls block and belong into a thread.
"""

from collections.abc import Collection
from typing import Final

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from fencepost_contracts.wake import topic_of

from fencepost_runtime.logging import get_logger
from fencepost_runtime.wake.options import WakeOptions

ADMIN_SECONDS: Final = 3.0  # one admin request; over it the broker counts as unreachable

log = get_logger(__name__)

# An operator made the topic, or will: the broker's word on access isn't an outage.
_NOT_OURS_TO_MAKE: Final = frozenset(
    {
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.POLICY_VIOLATION,
    }
)


def make_topics(options: WakeOptions, modules: Collection[str]) -> None:
    """Make the topics of these modules where they don't exist. Raises KafkaException when out of reach."""
    if not options.create_topics or not modules:
        return
    client = _admin(options.kafka_bootstrap or "")
    topics = [
        NewTopic(
            topic_of(module, options.topic_prefix),
            num_partitions=options.partitions,
            replication_factor=options.replication,
            config={"retention.ms": str(int(options.retention.total_seconds() * 1000))},
        )
        for module in modules
    ]
    answers = client.create_topics(topics, operation_timeout=ADMIN_SECONDS, request_timeout=ADMIN_SECONDS)
    for topic, answer in answers.items():
        try:
            answer.result(ADMIN_SECONDS + 1)
        except KafkaException as error:
            reason: KafkaError = error.args[0]
            if reason.code() == KafkaError.TOPIC_ALREADY_EXISTS:
                continue
            if reason.code() not in _NOT_OURS_TO_MAKE:
                raise
            log.warning("wake.topic_not_made", topic=topic, reason=reason.str())
        except TimeoutError as error:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT)) from error


def broker_answers(bootstrap: str, within_seconds: float) -> bool:
    """Whether a broker answers a metadata request in time; for supervisors and `doctor`."""
    try:
        return bool(_admin(bootstrap).list_topics(timeout=within_seconds).brokers)
    except KafkaException:
        return False


def _admin(bootstrap: str) -> AdminClient:
    return AdminClient(
        {
            "bootstrap.servers": bootstrap,
            "log_level": 0,
            "reconnect.backoff.ms": 250,
            "reconnect.backoff.max.ms": 500,
        }
    )

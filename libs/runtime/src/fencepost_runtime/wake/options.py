"""What the adapters may be told. Made from a service's settings; tests make their own."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from fencepost_contracts.wake import GROUP_PREFIX, TOPIC_PREFIX

from fencepost_runtime.settings import WakeSettings


@dataclass(frozen=True, slots=True)
class WakeOptions:
    """Each field says what breaks when it is wrong."""

    adapter: Literal["kafka", "postgres", "none"]
    kafka_bootstrap: str | None = None
    listen_url: str | None = None  # a session of its own: through a transaction pooler nothing is heard
    listen_url_is_direct: bool = False  # False: check for a pooler first, and hear nothing behind one
    topic_prefix: str = TOPIC_PREFIX  # all services must agree, or hints go where nobody listens
    group_prefix: str = GROUP_PREFIX  # two workers in different groups are both woken for each run
    partitions: int = 6  # no more workers of a module than this hear hints at once
    replication: int = -1  # the broker's default; 1 on a cluster loses hints with a node
    retention: timedelta = timedelta(hours=1)  # a hint is worthless once a scan has been
    create_topics: bool = True  # False where access lists forbid it: an operator makes them
    publish_within: timedelta = timedelta(seconds=3)  # over the relay's lease, rows are sent twice
    fetch_wait: timedelta = timedelta(milliseconds=500)  # see kafka_listener: idle cost against latency
    poll_limit: timedelta = timedelta(minutes=5)  # an event loop stuck for longer leaves its groups
    probe_every: timedelta = timedelta(seconds=5)  # how late a dead, silent connection is noticed
    retry_at_most: timedelta = timedelta(seconds=2)  # longest wait between attempts to connect


def options_of(settings: WakeSettings) -> WakeOptions:
    """Read a service's settings; the direct URL goes before the common one."""
    direct: str | None = getattr(settings, "database_direct_url", None)
    pooled: str | None = getattr(settings, "database_url", None)
    return WakeOptions(
        adapter=settings.wake,
        kafka_bootstrap=settings.kafka_bootstrap,
        listen_url=direct or pooled,
        listen_url_is_direct=direct is not None,
        partitions=settings.kafka_partitions,
    )

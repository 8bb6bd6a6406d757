"""The wake-up port: how fast work is noticed, never whether it exists.

A publisher tells that runs became due; a listener turns what it hears into `Hint`s. Everything here may
be lost, doubled, late or out of order without harm: a worker with a free slot looks into the database
each second anyway, and the claim decides what a hint is worth. So no adapter may block, crash or spin
when its server is gone, for however long; when the server is back, it goes on by itself.

A delivery is told per message, because the relay marks an outbox row only after its own report.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol
from uuid import UUID

from fencepost_contracts.wake import WakeType
from pydantic import JsonValue

POISON_KEPT_BYTES: Final = 65_536  # of a record that can't be read; the rest only fills somebody's memory


@dataclass(frozen=True, slots=True)
class WakeMessage:
    """One outbox row on its way. `event_id` is the same each time it is sent.

    traceparent: W3C trace context of who made the work available, or None.
    """

    event_id: UUID
    event_type: WakeType
    module: str
    run_id: UUID
    at: datetime
    traceparent: str | None = None
    detail: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Delivered:
    """The server has it, as safely as it was asked to."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The server, or the client for it, won't take this message.

    permanent: it won't take it tomorrow either (too large), so the row is to be parked. Otherwise an
    operator can mend it (a missing topic, a missing right), and the row is tried again.
    """

    reason: str
    permanent: bool


@dataclass(frozen=True, slots=True)
class Unreachable:
    """Nothing is known: it may have arrived or not. Send it again later; never park it for this."""

    reason: str


Delivery = Delivered | Refused | Unreachable


@dataclass(frozen=True, slots=True)
class Hint:
    """There may be work for this run. A stale one is dropped: the claim finds nothing."""

    module: str
    run_id: UUID
    event_type: WakeType
    traceparent: str | None = None


@dataclass(frozen=True, slots=True)
class PoisonRecord:
    """A record that can't be read, kept for a person and skipped.

    partition, offset: where it lies in Kafka; None in Postgres, which keeps no notifications.
    value: its first POISON_KEPT_BYTES bytes; None for a record without a value.
    """

    topic: str
    partition: int | None
    offset: int | None
    reason: str
    value: bytes | None


HintHandler = Callable[[Hint], None]  # runs on the event loop: notes the wake-up and returns in milliseconds
PoisonHandler = Callable[[PoisonRecord], None]  # the same


@dataclass(slots=True)
class ListenerStats:
    """What happened since the start, for metrics."""

    hints: int = 0
    poison: int = 0
    handler_errors: int = 0
    rebalances: int = 0  # times a group dealt its partitions anew to us; Kafka only
    connections: int = 0  # times a connection was made; over one a module means it was lost in between


class WakePublisher(Protocol):
    async def publish(self, batch: Sequence[WakeMessage]) -> list[Delivery]:
        """Send all, then answer for each, in the order given, within a few seconds whatever happens.

        Raises nothing for a server's state; that is an Unreachable.
        """
        ...

    async def close(self) -> None:
        """Let go of the server. Later calls of publish are not allowed."""
        ...


class WakeListener(Protocol):
    @property
    def stats(self) -> ListenerStats: ...

    async def run(self, on_hint: HintHandler, on_poison: PoisonHandler) -> None:
        """Listen until cancelled. Returns only by that; reconnects by itself."""
        ...

    async def ready(self) -> None:
        """Wait until hints sent from now on are heard for every module."""
        ...

    def pause(self) -> None:
        """Leave hints alone: no slot is free. Membership and connections are kept."""
        ...

    def resume(self) -> None:
        """Hear again. What came in between may be told now or never; the caller scans on its own."""
        ...


def count_hint(stats: ListenerStats, on_hint: HintHandler, hint: Hint) -> None:
    """Hand one hint over; a handler that raises costs a count, not the listener."""
    stats.hints += 1
    try:
        on_hint(hint)
    except Exception:  # a bug in the worker's handler must not end the hearing of all later hints
        stats.handler_errors += 1


def count_poison(stats: ListenerStats, on_poison: PoisonHandler, record: PoisonRecord) -> None:
    """Keep one unreadable record; a handler that raises costs a count, not the listener."""
    stats.poison += 1
    try:
        on_poison(record)
    except Exception:  # the same
        stats.handler_errors += 1

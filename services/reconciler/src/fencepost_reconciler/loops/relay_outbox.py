"""Sends outbox rows as wake-ups, and marks a row only after the broker's report about it.

Take (a lease, committed), publish (no transaction, no lock), record what was said: three steps, and a
crash between any two sends a hint again at worst. Several relays may run; each has its own rows. What is
refused for good is parked with its reason, so the next row goes out at once; an outage parks nothing,
it only makes the distance between tries grow (case EV-7).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID

from fencepost_contracts.wake import WakeType
from fencepost_runtime import telemetry
from fencepost_runtime.failpoints import ahit
from fencepost_runtime.logging import get_logger
from fencepost_runtime.loop import RunOnce
from fencepost_runtime.wake import BellEar, Delivered, Delivery, Refused, WakeMessage, WakePublisher
from fencepost_store import outbox
from fencepost_store.outbox import OutboxRow
from fencepost_store.transaction import Store

EVERY: Final = timedelta(seconds=5)  # with nobody ringing; timed rows and lost rings are seen by due.look
LEASE: Final = timedelta(seconds=15)  # over the longest publish; a dead relay's rows rest this long
BATCH: Final = 500  # some 20 ms of a broker's time

log = get_logger(__name__)


class RelayOutbox:
    """One relay. `owner` is its own alone: a new one each start."""

    def __init__(
        self, store: Store, publisher: WakePublisher, *, batch: int = BATCH, lease: timedelta = LEASE
    ) -> None:
        self._store = store
        self._publisher = publisher
        self._batch = batch
        self._lease = lease
        self._owner = f"relay-{store.ids.uuid7()}"
        self.has_more = False
        self._parked = telemetry.counter("fencepost.outbox.parked", "Rows that the broker refused for good")

    async def run_once(self) -> dict[str, int]:
        """One batch: `published`, `parked`, `deferred`; `more` when a full batch went out.

        Raises Unavailable when the database is not there; what was sent and not marked is sent again.
        """
        async with self._store.transaction() as tx:
            rows = await outbox.take_due(tx, owner=self._owner, lease=self._lease, batch=self._batch)
        self.has_more = len(rows) == self._batch
        if not rows:
            return {}
        await ahit("reconciler.relay.before_publish")
        readable = {row.id: message for row in rows if (message := _message(row)) is not None}
        answers = await self._publisher.publish(list(readable.values()))
        await ahit("reconciler.relay.after_publish")
        said = dict(zip(readable, answers, strict=True))
        return await self._record(rows, said)

    async def _record(self, rows: Sequence[OutboxRow], said: dict[UUID, Delivery]) -> dict[str, int]:
        published: list[UUID] = []
        parked: dict[UUID, str] = {}
        deferred: list[UUID] = []
        for row in rows:
            match said.get(row.id):
                case Delivered():
                    published.append(row.id)
                case None:
                    parked[row.id] = f"unknown event type {row.event_type[:80]}"
                case Refused(reason=reason, permanent=True):
                    parked[row.id] = reason
                case _:
                    deferred.append(row.id)
        async with self._store.transaction() as tx:
            counts = Counter(
                published=await outbox.mark_published(tx, published) if published else 0,
                parked=await outbox.park(tx, parked),
                deferred=await outbox.defer(tx, owner=self._owner, ids=deferred) if deferred else 0,
            )
        await ahit("reconciler.relay.after_mark")
        self._raise_alarm(rows, parked)
        self.has_more = self.has_more and bool(published)
        if self.has_more:
            counts["more"] = 1
        return {name: count for name, count in counts.items() if count}

    def _raise_alarm(self, rows: Sequence[OutboxRow], parked: dict[UUID, str]) -> None:
        for row in rows:
            if reason := parked.get(row.id):
                log.error(
                    "outbox.parked",
                    outbox_id=str(row.id),
                    run_id=str(row.run_id),
                    module=row.module,
                    attempts=row.attempts,
                    reason=reason,
                )
        if parked:
            self._parked.add(len(parked))


def when_rung(relay: RelayOutbox, ear: BellEar, every: timedelta = EVERY) -> RunOnce:
    """A `run_once` that waits for the bell, `every` at most: for `run_every` with no interval of its own."""

    async def run_once() -> dict[str, int]:
        if not relay.has_more:
            await ear.rung(every)
        return await relay.run_once()

    return run_once


def _message(row: OutboxRow) -> WakeMessage | None:
    """The row as a wake-up; None for an event type that this release doesn't know."""
    try:
        kind = WakeType(row.event_type)
    except ValueError:
        return None
    return WakeMessage(row.id, kind, row.module, row.run_id, row.created_at, row.traceparent)

"""The heartbeat: a thread and a connection of its own, so that no busy event loop delays it.

It names runs only while the event loop ticked within a third of the lease: a worker whose loop is stuck
can't finish what it holds, and must not keep others from it (case PG-1).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

import psycopg
from fencepost_domain.ports import Clock
from fencepost_runtime.logging import get_logger
from fencepost_store.claims import Beat
from fencepost_store.engine import DEAD_LINE
from fencepost_store.raw import raw
from psycopg.rows import dict_row

AFTER_FAILURE_SECONDS: Final = 0.25  # a beat that failed is tried again well before the next is due
CONNECT_SECONDS: Final = 2

log = get_logger(__name__)


class Pulse:
    """When the event loop last turned, in monotonic seconds. Written by the loop, read by the thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.last = clock.monotonic()

    async def beat(self, every: timedelta, stop: asyncio.Event) -> None:
        """Tick until `stop`; the loop's own delay is what this measures."""
        while not stop.is_set():
            self.last = self._clock.monotonic()
            try:
                async with asyncio.timeout(every.total_seconds()):
                    await stop.wait()
            except TimeoutError:
                continue

    def is_fresh(self, within: timedelta) -> bool:
        return self._clock.monotonic() - self.last <= within.total_seconds()


class Heartbeat:
    """Renews leases each `every`, and hands the answers to the event loop."""

    def __init__(
        self,
        dsn: str,
        owner: str,
        *,
        lease: timedelta,
        every: timedelta,
        pulse: Pulse,
        clock: Clock,
        named: Callable[[], Mapping[UUID, int]],
        heard: Callable[[float, list[Beat]], None],
    ) -> None:
        self._dsn = dsn
        self._owner = owner
        self._lease = lease
        self._every = every
        self._pulse = pulse
        self._clock = clock
        self._named = named
        self._heard = heard
        self._loop = asyncio.get_running_loop()
        self._stop = threading.Event()
        self._early = threading.Event()
        self._connection: psycopg.Connection[dict[str, Any]] | None = None
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
        self.beats = 0

    def start(self) -> None:
        self._thread.start()

    def early(self) -> None:
        """Beat now: a hint says that a run held here is to be stopped. What it is worth, the beat tells."""
        self._early.set()

    async def stop(self) -> None:
        """End the thread; returns once its last statement is over."""
        self._stop.set()
        self._early.set()
        await asyncio.to_thread(self._thread.join, self._lease.total_seconds())

    def _run(self) -> None:
        delay = self._every.total_seconds()
        while not self._is_over(delay):
            delay = self._every.total_seconds()
            try:
                self._beat()
            except psycopg.Error as error:
                log.warning("heartbeat.failed", error=type(error).__name__)
                self._drop()
                delay = AFTER_FAILURE_SECONDS
            except Exception:  # a fault of ours must not end the renewals of every run held
                log.exception("heartbeat.failed")
                self._drop()
        self._drop()

    def _is_over(self, delay: float) -> bool:
        """Wait for the next beat, or for a reason to beat early."""
        self._early.wait(delay)
        self._early.clear()
        return self._stop.is_set()

    def _beat(self) -> None:
        if not self._pulse.is_fresh(self._lease / 3):
            log.warning("heartbeat.loop_stuck", seconds=round(self._clock.monotonic() - self._pulse.last, 2))
            return
        named = self._named()
        sent_at = self._clock.monotonic()
        beats = self._renew(named)
        self.beats += 1
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._heard, sent_at, beats)

    def _renew(self, named: Mapping[UUID, int]) -> list[Beat]:
        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(
                self._dsn,
                autocommit=True,
                prepare_threshold=None,
                row_factory=dict_row,
                connect_timeout=CONNECT_SECONDS,
                application_name="fencepost-heartbeat",
                **DEAD_LINE,
            )
        params = {
            "owner": self._owner,
            "run_ids": list(named),
            "revisions": list(named.values()),
            "lease": self._lease,
        }
        rows = self._connection.execute(raw("renew_leases"), params).fetchall()
        return [Beat(row["run_id"], row["answer"], row["revision"]) for row in rows]

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

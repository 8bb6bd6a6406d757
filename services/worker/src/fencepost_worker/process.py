"""A worker's parts, run together until it is told to stop, then drained in order.

The front (claims, wake-ups, health) ends first; the background (writer, pulse, heartbeat, registration) goes
on until the last held run is finished or given back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from fencepost_domain.ports import Clock
from fencepost_runtime.beside import LOOK_EVERY, Beside
from fencepost_runtime.health import loop_check, serve_health
from fencepost_runtime.logging import get_logger
from fencepost_runtime.loop import run_every
from fencepost_runtime.settings import SettingsError, WorkerSettings
from fencepost_runtime.wake.bell import Bell
from fencepost_store.claims import register_worker, renew_worker, unregister_worker
from fencepost_store.transaction import Store

from fencepost_worker.binding import Binder
from fencepost_worker.claim import ClaimLoop
from fencepost_worker.deltas import DeltaSender
from fencepost_worker.heartbeat import Heartbeat, Pulse
from fencepost_worker.holding import Holding, Leaving
from fencepost_worker.poison import PoisonKeeper

ALIVE_FOR: Final = timedelta(seconds=30)  # a worker that said nothing for this long serves no version
REGISTER_EVERY: Final = timedelta(seconds=10)
PULSES_PER_LEASE: Final = 9  # the loop ticks this often in a lease; the heartbeat allows a third of one
LAST_SECONDS: Final = 2.0  # of the drain, for giving back what isn't finished
SCANS_MISSED: Final = 5  # then the worker isn't ready

log = get_logger(__name__)


@dataclass(slots=True)
class Worker:
    """Built by main. displaced: another boot registered under this worker's slot."""

    settings: WorkerSettings
    store: Store
    holding: Holding
    claims: ClaimLoop
    deltas: DeltaSender
    binder: Binder
    heartbeat: Heartbeat
    pulse: Pulse
    clock: Clock
    boot_id: str
    modules: Sequence[str]
    bell: Bell
    beside: Beside = field(default_factory=Beside)
    displaced: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, stop: asyncio.Event, writer: asyncio.Future[None]) -> None:
        """Register, work until `stop`, drain, unregister. writer: the group writer, running already."""
        await self.register()
        await self.binder.publish()
        ended = asyncio.Event()
        background: list[asyncio.Future[None]] = [writer, *self._background(ended)]
        self.heartbeat.start()
        front = self._front(stop, ended)
        stopping: asyncio.Future[Any] = asyncio.ensure_future(stop.wait())
        log.info("worker.started", owner=self.claims.owner, modules=list(self.modules))
        try:
            await asyncio.wait([stopping, *front, *background], return_when=asyncio.FIRST_COMPLETED)
            _raise_failed(front + background)
            stop.set()
            await self.drain()
            await self.unregister()
        finally:
            ended.set()
            await self.heartbeat.stop()
            for task in (stopping, *front, *background):
                task.cancel()
            await asyncio.gather(stopping, *front, *background, return_exceptions=True)
        log.info("worker.stopped")

    def _background(self, ended: asyncio.Event) -> list[asyncio.Future[None]]:
        return [
            asyncio.ensure_future(self.deltas.run()),
            asyncio.ensure_future(self.bell.run()),
            asyncio.ensure_future(self.pulse.beat(self.holding.lease / PULSES_PER_LEASE, ended)),
            asyncio.ensure_future(
                run_every(self.stay_registered, REGISTER_EVERY, ended, "register", self.clock)
            ),
            asyncio.ensure_future(run_every(self.beside.look, LOOK_EVERY, ended, "look_beside", self.clock)),
            asyncio.ensure_future(self.until_displaced()),
        ]

    def _front(self, stop: asyncio.Event, ended: asyncio.Event) -> list[asyncio.Future[None]]:
        front: list[asyncio.Future[None]] = [
            asyncio.ensure_future(self.claims.run(stop)),
            asyncio.ensure_future(self._health(ended)),
        ]
        listener = self.claims.listener
        if listener is not None:
            keeper = PoisonKeeper(self.store)
            front.append(asyncio.ensure_future(listener.run(self.claims.on_hint, keeper.note)))
        return front

    async def register(self) -> None:
        """Say what is served here; ends the leases of an older boot of this slot."""
        async with self.store.transaction() as tx:
            ended = await register_worker(
                tx,
                slot=self.settings.worker_slot,
                boot_id=self.boot_id,
                modules=self.modules,
                versions=self.binder.versions,
                alive_for=ALIVE_FOR,
            )
        if ended:
            log.info("worker.freed_older_boot", runs=ended)

    async def stay_registered(self) -> None:
        """Say again what is served; where a later boot has the slot, that one stays and this one ends."""
        async with self.store.transaction() as tx:
            kept = await renew_worker(
                tx,
                slot=self.settings.worker_slot,
                boot_id=self.boot_id,
                modules=self.modules,
                versions=self.binder.versions,
                alive_for=ALIVE_FOR,
            )
        if not kept:
            self.displaced.set()

    async def until_displaced(self) -> None:
        """Ends the worker: two processes of one slot would free each other's runs for ever."""
        await self.displaced.wait()
        raise SettingsError(
            f"FENCEPOST_WORKER_SLOT={self.settings.worker_slot} is used by another worker as well; "
            "a slot's name is one process's at a time. After `fencepost recover`: start it anew"
        )

    async def drain(self) -> None:
        """Let what is held finish within the grace period; then give back the rest."""
        total = self.settings.worker_drain_seconds
        running = [held.task for held in self.holding.runs() if held.task is not None]
        log.info("worker.draining", runs=len(running), seconds=total)
        if running:
            await asyncio.wait(running, timeout=max(total - LAST_SECONDS, 0.0))
        left = [held for held in self.holding.runs() if held.task is not None and not held.task.done()]
        for held in left:
            held.leave(Leaving.DRAIN)
        if left:
            await asyncio.wait([held.task for held in left if held.task is not None], timeout=LAST_SECONDS)

    async def unregister(self) -> None:
        async with self.store.transaction() as tx:
            await unregister_worker(tx, slot=self.settings.worker_slot, boot_id=self.boot_id)

    async def _health(self, ended: asyncio.Event) -> None:
        within = timedelta(seconds=self.settings.scan_seconds * SCANS_MISSED)
        checks = {"claims": loop_check(self.claims.status, within, self.clock)}

        def bound(port: int) -> None:
            log.info("worker.health", port=port)

        await serve_health(
            self.settings.health_host,
            self.settings.worker_health_port,
            checks,
            ended,
            bound,
            self.beside.told,
        )


def _raise_failed(tasks: Sequence[asyncio.Future[None]]) -> None:
    for task in tasks:
        if task.done() and not task.cancelled() and (error := task.exception()) is not None:
            raise error

"""The worker process: claims runs of its modules and drives their graphs under the fence."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

# A worker traces by OpenTelemetry alone; LangSmith's client must never be woken by the environment.
os.environ["LANGSMITH_TRACING"] = "false"
os.environ["LANGCHAIN_TRACING_V2"] = "false"
os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"

from fencepost_contracts.graphs import CORE
from fencepost_contracts.modules import discover_modules, module_dirs
from fencepost_domain.lease import check_lease, owner_of
from fencepost_runtime.health import loop_check, serve_health
from fencepost_runtime.keys import load_secret
from fencepost_runtime.lifecycle import run_service
from fencepost_runtime.logging import get_logger, set_up_logging
from fencepost_runtime.loop import run_every
from fencepost_runtime.secrets import register_secret
from fencepost_runtime.settings import SettingsError, WorkerSettings, load_settings
from fencepost_runtime.system import SystemClock, SystemIds
from fencepost_runtime.wake.adapters import make_listener
from fencepost_runtime.wake.bell import Bell
from fencepost_store.checkpoints import GroupConnection
from fencepost_store.claims import Beat, register_worker, renew_worker, unregister_worker
from fencepost_store.engine import make_engine, prepare_threshold
from fencepost_store.transaction import Store

from fencepost_worker.binding import Binder
from fencepost_worker.claim import ClaimLoop
from fencepost_worker.deltas import DeltaSender
from fencepost_worker.engine.langgraph.adapter import LangGraphEngine
from fencepost_worker.engine.langgraph.saver import FencedSaver
from fencepost_worker.engine.langgraph.writer import GroupWriter
from fencepost_worker.execute import Executor
from fencepost_worker.flow.nodes import CORE_NODES
from fencepost_worker.gateway_client import GatewayClient
from fencepost_worker.heartbeat import Heartbeat, Pulse
from fencepost_worker.holding import Holding, Leaving
from fencepost_worker.models.ledger import ModelLedger
from fencepost_worker.outcome import Recorder
from fencepost_worker.poison import PoisonKeeper
from fencepost_worker.serving import Served

ALIVE_FOR: Final = timedelta(seconds=30)  # a worker that said nothing for this long serves no version
REGISTER_EVERY: Final = timedelta(seconds=10)
PULSES_PER_LEASE: Final = 9  # the loop ticks this often in a lease; the heartbeat allows a third of one
LAST_SECONDS: Final = 2.0  # of the drain, for giving back what isn't finished

log = get_logger(__name__)


@dataclass(slots=True)
class Worker:
    """The parts that `serve` runs together."""

    settings: WorkerSettings
    store: Store
    holding: Holding
    claims: ClaimLoop
    writer: GroupWriter
    bell: Bell
    deltas: DeltaSender
    binder: Binder
    heartbeat: Heartbeat
    pulse: Pulse
    clock: SystemClock
    boot_id: str
    modules: Sequence[str]
    displaced: asyncio.Event = field(default_factory=asyncio.Event)

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
        await self.displaced.wait()
        raise SettingsError(
            f"FENCEPOST_WORKER_SLOT={self.settings.worker_slot} is used by another worker as well; "
            "a slot's name is one process's at a time"
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


def modules_of(settings: WorkerSettings) -> tuple[str, ...]:
    """The modules to serve: those named, else every one found."""
    if settings.worker_modules:
        return settings.worker_modules
    return tuple(folder.name for folder in discover_modules(module_dirs(settings.modules_dir)))


async def serve(settings: WorkerSettings, stop: asyncio.Event) -> None:
    """Run one worker until `stop`, then drain it."""
    lease, beat = timedelta(seconds=settings.lease_seconds), timedelta(seconds=settings.beat_seconds)
    check_lease(lease, beat)
    secret = load_secret(settings.service_secret_file)
    register_secret(secret)
    async with AsyncExitStack() as stack:
        worker = await _build(settings, secret, lease, beat, stack)
        await worker.register()
        await worker.binder.publish()
        ended = asyncio.Event()  # writer, pulse and heartbeat go on while the drain does
        background = [
            asyncio.ensure_future(worker.writer.run()),
            asyncio.ensure_future(worker.bell.run()),
            asyncio.ensure_future(worker.deltas.run()),
            asyncio.ensure_future(worker.pulse.beat(lease / PULSES_PER_LEASE, ended)),
            asyncio.ensure_future(
                run_every(worker.stay_registered, REGISTER_EVERY, ended, "register", worker.clock)
            ),
        ]
        worker.heartbeat.start()
        front = [
            asyncio.ensure_future(worker.claims.run(stop)),
            asyncio.ensure_future(_health(settings, worker, ended)),
            asyncio.ensure_future(worker.until_displaced()),
        ]
        if worker.claims.listener is not None:
            front.append(
                asyncio.ensure_future(
                    worker.claims.listener.run(worker.claims.on_hint, PoisonKeeper(worker.store).note)
                )
            )
        log.info("worker.started", owner=worker.claims.owner, modules=list(worker.modules))
        try:
            await asyncio.wait(
                [asyncio.ensure_future(stop.wait()), *front, *background], return_when="FIRST_COMPLETED"
            )
            _raise_failed(front + background)
            stop.set()
            await worker.drain()
            await worker.unregister()
        finally:
            ended.set()
            await worker.heartbeat.stop()
            for task in (*front, *background):
                task.cancel()
            await asyncio.gather(*front, *background, return_exceptions=True)
    log.info("worker.stopped")


def _raise_failed(tasks: Sequence[asyncio.Future[None]]) -> None:
    for task in tasks:
        if task.done() and not task.cancelled() and (error := task.exception()) is not None:
            raise error


async def _build(
    settings: WorkerSettings, secret: str, lease: timedelta, beat: timedelta, stack: AsyncExitStack
) -> Worker:
    clock, ids = SystemClock(), SystemIds()
    modules = modules_of(settings)
    boot_id = ids.uuid7().hex[-12:]
    owner = owner_of(settings.worker_slot, boot_id)
    bell = Bell(settings.database_url)
    store = Store(
        make_engine(
            settings.database_url,
            size=settings.database_pool_size,
            application="worker",
            prepare=prepare_threshold(settings.database_url, settings.database_direct_url),
        ),
        ids,
        bell.ring,
    )
    stack.push_async_callback(store.close)
    served = Served(settings)
    stack.push_async_callback(served.close)
    gateway = GatewayClient(settings.gateway_url, secret)
    stack.push_async_callback(gateway.close)
    prepare = prepare_threshold(settings.database_url, settings.database_direct_url)
    writer = GroupWriter(GroupConnection(settings.database_url, prepare=prepare))
    deltas = DeltaSender(settings.database_direct_url or settings.database_url)
    holding = Holding(settings.worker_concurrency, lease, clock)
    binder = Binder(store, clock, {CORE.fingerprint(): CORE}, served.manifest, modules)
    engine = LangGraphEngine(FencedSaver(store, writer), {CORE.name: CORE_NODES})
    executor = Executor(
        store,
        ids,
        holding,
        binder,
        engine,
        Recorder(store),
        ModelLedger(store, ids),
        gateway,
        served.model_of,
        deltas,
        settings.model_timeout_seconds,
    )
    pulse = Pulse(clock)
    scan = timedelta(seconds=settings.scan_seconds)
    listener = make_listener(settings, modules)
    claims = ClaimLoop(
        store, clock, holding, executor, owner, modules, binder.versions, lease, scan, listener
    )

    def hear(sent_at: float, beats: list[Beat]) -> None:
        for unknown in holding.hear(sent_at, beats):
            # Claimed by this boot in a claim nobody here knows of: not renewed, so its lease runs out.
            log.warning("run.unclaimed", run_id=str(unknown.run_id), revision=unknown.revision)

    heartbeat = Heartbeat(
        settings.database_url,
        owner,
        lease=lease,
        every=beat,
        pulse=pulse,
        clock=clock,
        named=holding.named,
        heard=hear,
    )
    return Worker(
        settings,
        store,
        holding,
        claims,
        writer,
        bell,
        deltas,
        binder,
        heartbeat,
        pulse,
        clock,
        boot_id,
        modules,
    )


async def _health(settings: WorkerSettings, worker: Worker, stop: asyncio.Event) -> None:
    within = timedelta(seconds=settings.scan_seconds * 5)
    checks = {"claims": loop_check(worker.claims.status, within, worker.clock)}

    def bound(port: int) -> None:
        log.info("worker.health", port=port)

    await serve_health(settings.health_host, settings.worker_health_port, checks, stop, bound)


def main() -> None:
    async def run(stop: asyncio.Event) -> None:
        settings = load_settings(WorkerSettings)
        set_up_logging("worker", settings.log_level, settings.log_format)
        await serve(settings, stop)

    run_service(run)


if __name__ == "__main__":
    main()

"""The worker process: claims runs of its modules and drives their graphs under the fence."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta

# A worker traces by OpenTelemetry alone; LangSmith's client must never be woken by the environment.
os.environ["LANGSMITH_TRACING"] = "false"
os.environ["LANGCHAIN_TRACING_V2"] = "false"
os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"

from fencepost_contracts.graphs import Definition
from fencepost_contracts.modules import ModuleFolder, discover_modules, module_dirs
from fencepost_domain.errors import Invalid
from fencepost_domain.lease import check_lease, owner_of
from fencepost_runtime.artifacts import ArtifactStore, open_artifacts
from fencepost_runtime.beside import beside_of
from fencepost_runtime.keys import load_secret
from fencepost_runtime.lifecycle import run_service
from fencepost_runtime.logging import get_logger, set_up_logging
from fencepost_runtime.secrets import register_secret
from fencepost_runtime.settings import SettingsError, WorkerSettings, load_settings
from fencepost_runtime.system import SystemClock, SystemIds
from fencepost_runtime.wake.adapters import make_listener
from fencepost_runtime.wake.bell import Bell
from fencepost_store.checkpoints import GroupConnection
from fencepost_store.claims import Beat
from fencepost_store.engine import make_engine, prepare_threshold
from fencepost_store.transaction import Store

from fencepost_worker.binding import Binder
from fencepost_worker.claim import ClaimLoop
from fencepost_worker.deltas import DeltaSender
from fencepost_worker.draining import Drain
from fencepost_worker.engine.langgraph.adapter import LangGraphEngine
from fencepost_worker.engine.langgraph.brought.compiled import Ready
from fencepost_worker.engine.langgraph.brought.engine import BroughtEngine
from fencepost_worker.engine.langgraph.brought.serve import take_up
from fencepost_worker.engine.langgraph.saver import FencedSaver
from fencepost_worker.engine.langgraph.writer import GroupWriter
from fencepost_worker.engine.port import RoutedEngine
from fencepost_worker.execute import Executor
from fencepost_worker.flow.nodes import DEFINITIONS, NODES
from fencepost_worker.gate_hooks import FilesAsTheyWere, SecretsAtHand
from fencepost_worker.gateway_client import GatewayClient
from fencepost_worker.heartbeat import Heartbeat, Pulse
from fencepost_worker.holding import Holding
from fencepost_worker.models.ledger import ModelLedger
from fencepost_worker.models.meter import Meter
from fencepost_worker.outcome import Recorder
from fencepost_worker.process import Worker
from fencepost_worker.recovery import Gate
from fencepost_worker.serving import Served

log = get_logger(__name__)


@dataclass(slots=True)
class Outside:
    """What a worker reaches beyond itself; closed in reverse when it ends."""

    store: Store
    served: Served
    gateway: GatewayClient
    writer: GroupWriter
    deltas: DeltaSender
    bell: Bell
    meter: Meter
    artifacts: ArtifactStore | None


def modules_of(settings: WorkerSettings) -> tuple[str, ...]:
    """The modules to serve: those named, else every one found."""
    if settings.worker_modules:
        return settings.worker_modules
    return tuple(folder.name for folder in _folders(settings))


def _folders(settings: WorkerSettings) -> list[ModuleFolder]:
    return discover_modules(module_dirs(settings.modules_dir))


@dataclass(frozen=True, slots=True)
class Serving:
    """What this worker serves. brought: graphs of authors, in the place of ours for their modules.

    refused: modules that it doesn't serve, since their graphs can't be.
    """

    modules: tuple[str, ...]
    brought: Sequence[Ready]
    refused: Sequence[str] = ()

    def definitions(self) -> dict[str, Definition]:
        """By fingerprint, the newest of each kind first."""
        graphs: list[Definition] = [*DEFINITIONS, *(one.definition for one in self.brought)]
        return {one.fingerprint(): one for one in graphs}

    def lacks(self) -> dict[str, str]:
        """As readiness tells it."""
        return {f"graph of {module}": "refused" for module in self.refused}


async def serve(settings: WorkerSettings, stop: asyncio.Event) -> None:
    """Run one worker until `stop`, then drain it."""
    check_lease(timedelta(seconds=settings.lease_seconds), timedelta(seconds=settings.beat_seconds))
    async with AsyncExitStack() as stack:
        outside = _reach(settings, stack)
        serving = await _serving(settings, outside)
        worker = _wire(settings, outside, serving)
        await worker.run(stop, asyncio.ensure_future(outside.writer.run()))


async def _serving(settings: WorkerSettings, outside: Outside) -> Serving:
    """Raises SettingsError where no module is left whose graph can be served."""
    wanted = modules_of(settings)
    folders = [folder for folder in _folders(settings) if folder.name in wanted]
    ready, refused = await take_up(folders, outside.store, outside.writer)
    names = sorted({error.module for error in refused})
    modules = tuple(name for name in wanted if name not in names)
    if not modules:
        raise SettingsError("no module can be served: " + "; ".join(map(str, refused)))
    return Serving(modules, ready, names)


def _reach(settings: WorkerSettings, stack: AsyncExitStack) -> Outside:
    secret = load_secret(settings.service_secret_file)
    register_secret(secret)
    prepare = prepare_threshold(settings.database_url, settings.database_direct_url)
    engine = make_engine(
        settings.database_url,
        size=settings.database_pool_size,
        application="worker",
        prepare=prepare,
        generic_plans=True,
    )
    bell = Bell(settings.database_url)
    store = Store(engine, SystemIds(), bell.ring)
    served = Served(settings)
    gateway = GatewayClient(settings.gateway_url, secret)
    for close in (store.close, served.close, gateway.close):
        stack.push_async_callback(close)
    writer = GroupWriter(GroupConnection(settings.database_url, prepare=prepare), store.ids, bell.ring)
    deltas = DeltaSender(settings.database_direct_url or settings.database_url)
    meter = meter_of(settings)
    artifacts = open_artifacts(settings, served.secrets, store.ids, SystemClock())
    return Outside(store, served, gateway, writer, deltas, bell, meter, artifacts)


def meter_of(settings: WorkerSettings) -> Meter:
    """Raises SettingsError for a price table that can't be read."""
    meter = Meter(settings.model_prices_file)
    try:
        log.info("worker.prices", version=meter.prices.version, currency=meter.prices.currency)
    except Invalid as error:
        raise SettingsError(f"FENCEPOST_MODEL_PRICES_FILE: {error}") from error
    return meter


def _wire(settings: WorkerSettings, outside: Outside, serving: Serving) -> Worker:
    clock = SystemClock()
    store, modules = outside.store, serving.modules
    boot_id = store.ids.uuid7().hex[-12:]
    owner = owner_of(settings.worker_slot, boot_id)
    lease = timedelta(seconds=settings.lease_seconds)
    holding = Holding(settings.worker_concurrency, lease, clock)
    binder = Binder(store, clock, serving.definitions(), outside.served.manifest, modules)
    claims = ClaimLoop(
        store,
        clock,
        holding,
        _executor(settings, outside, holding, binder, serving),
        owner,
        modules,
        binder.versions,
        lease,
        timedelta(seconds=settings.scan_seconds),
        make_listener(settings, modules),
    )
    pulse = Pulse(clock)
    heartbeat = _heartbeat(settings, owner, holding, pulse, clock)
    claims.stop_asked = heartbeat.early
    return Worker(
        settings,
        store,
        holding,
        claims,
        outside.deltas,
        binder,
        heartbeat,
        pulse,
        clock,
        boot_id,
        modules,
        outside.bell,
        beside_of(outside.artifacts, outside.served.secrets, serving.lacks()),
    )


def _executor(
    settings: WorkerSettings, outside: Outside, holding: Holding, binder: Binder, serving: Serving
) -> Executor:
    store = outside.store
    recorder = Recorder(store, outside.writer)
    saver = FencedSaver(store, outside.writer)
    own = LangGraphEngine(saver, NODES, direct=settings.engine_direct)
    engine = RoutedEngine(own, BroughtEngine(serving.brought))
    return Executor(
        store,
        store.ids,
        holding,
        binder,
        Gate(store, *_hooks(settings, outside)),
        engine,
        recorder,
        Drain(recorder, outside.gateway.cancel),
        ModelLedger(store, store.ids, outside.meter),
        outside.gateway,
        outside.served.model_of,
        outside.deltas,
        settings.model_timeout_seconds,
        outside.served.substitute,
    )


def _hooks(settings: WorkerSettings, outside: Outside) -> tuple[SecretsAtHand, FilesAsTheyWere]:
    """What the gate asks: the model's key where it is kept elsewhere, and the run's files."""
    secrets = outside.served.secrets
    references = (settings.model_key_from,) if settings.model_key_from else ()
    return SecretsAtHand(secrets, references), FilesAsTheyWere(outside.store, outside.artifacts)


def _heartbeat(
    settings: WorkerSettings, owner: str, holding: Holding, pulse: Pulse, clock: SystemClock
) -> Heartbeat:
    def hear(sent_at: float, beats: list[Beat]) -> None:
        for unknown in holding.hear(sent_at, beats):
            # Claimed by this boot in a claim nobody here knows of: not renewed, so its lease runs out.
            log.warning("run.unclaimed", run_id=str(unknown.run_id), revision=unknown.revision)

    return Heartbeat(
        settings.database_url,
        owner,
        lease=holding.lease,
        every=timedelta(seconds=settings.beat_seconds),
        pulse=pulse,
        clock=clock,
        named=holding.named,
        heard=hear,
    )


def main() -> None:
    async def run(stop: asyncio.Event) -> None:
        settings = load_settings(WorkerSettings)
        set_up_logging("worker", settings.log_level, settings.log_format)
        await serve(settings, stop)

    run_service(run)


if __name__ == "__main__":
    main()

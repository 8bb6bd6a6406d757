"""The tool-gateway's process: settings, contracts, database, HTTP. The only way out to the world."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any, Final

from fencepost_contracts.loader import ContractRefused
from fencepost_contracts.modules import module_dirs
from fencepost_domain.errors import FencepostError
from fencepost_domain.ports import Clock
from fencepost_runtime.artifacts import open_artifacts
from fencepost_runtime.beside import LOOK_EVERY, beside_of
from fencepost_runtime.health import Check
from fencepost_runtime.keys import load_key_ring, load_secret
from fencepost_runtime.lifecycle import run_service, run_until_stopped, until_stopped
from fencepost_runtime.logging import get_logger, set_up_logging
from fencepost_runtime.loop import run_every
from fencepost_runtime.secret_sources import make_secrets
from fencepost_runtime.secrets import register_secret
from fencepost_runtime.server import serve_http
from fencepost_runtime.settings import GatewaySettings, SettingsError, load_settings
from fencepost_runtime.system import SystemClock, SystemIds
from fencepost_runtime.telemetry import set_up_telemetry
from fencepost_runtime.wake.bell import TASKS, Bell
from fencepost_store.catalogs import unsafe_durability
from fencepost_store.engine import make_engine, prepare_threshold
from fencepost_store.schema import schema_is_current
from fencepost_store.transaction import Store

from fencepost_tool_gateway.app import make_app
from fencepost_tool_gateway.catalog import Catalogs
from fencepost_tool_gateway.files import Shelf
from fencepost_tool_gateway.gateway import Gateway
from fencepost_tool_gateway.outside import drained
from fencepost_tool_gateway.secrets import named_secrets
from fencepost_tool_gateway.world import OutsideWorld, make_outside

log = get_logger(__name__)
RELOAD_EVERY: Final = timedelta(seconds=2)  # how soon a changed contract is published

STOP_SECONDS: Final = 10.0  # what is being sent may still end by itself; then its outcome is unknown


class UnsafeDurability(FencepostError):
    """The server may forget what it said it committed."""

    code = "unsafe_durability"


class SchemaNotReady(FencepostError):
    """The database is not at this release's schema."""

    code = "schema_not_ready"


async def check_durability(store: Store) -> None:
    """Raises UnsafeDurability while fsync, full_page_writes or synchronous_commit is off."""
    async with store.transaction() as tx:
        off = await unsafe_durability(tx)
    if off:
        raise UnsafeDurability(f"{', '.join(off)} off: a crash of the server would undo what was promised")


async def serve(settings: GatewaySettings, stop: asyncio.Event) -> None:
    """Run until `stop`. Raises SettingsError for contracts or a server that must not be worked with."""
    clock, ids, bell = SystemClock(), SystemIds(), Bell(settings.database_url, payload=TASKS)
    secret = load_secret(settings.service_secret_file)
    register_secret(secret)
    keys = load_key_ring(settings.token_keys_file)
    sources = make_secrets(settings, clock)
    outside = make_outside(settings, named_secrets(settings, sources))
    outside.tasks.callback_url, outside.tasks.keys = settings.callback_url, keys
    artifacts = open_artifacts(settings, sources, ids, clock)
    shelf, beside = Shelf(artifacts, settings.max_artifact_bytes), beside_of(artifacts, sources)
    catalogs = _load(settings, outside, shelf)
    engine = make_engine(
        settings.database_url,
        size=settings.database_pool_size,
        application="fencepost-gateway",
        prepare=prepare_threshold(settings.database_url, settings.database_direct_url),
        generic_plans=True,
    )
    store = Store(engine, ids)
    try:
        await _check_server(settings, store)
        await catalogs.follow(store)
        new = await catalogs.publish(store)
        outside.servers.folders.update(catalogs.folders())
        gateway = Gateway(store, catalogs, keys, ids, str(ids.uuid7()), ring=bell.ring)
        log.info("gateway.ready", catalogs_new=new, boot=gateway.boot, port=settings.gateway_port)
        app = make_app(gateway, secret, _checks(settings, store), beside)
        await run_until_stopped(
            stop,
            serve_http(app, settings.gateway_host, settings.gateway_port, stop, _announce),
            until_stopped(bell.run(), stop),
            run_every(beside.look, LOOK_EVERY, stop, "look_beside", clock),
            *_loops(catalogs, store, stop, clock),
        )
        if left := await drained(gateway, STOP_SECONDS):
            log.warning("gateway.left_sending", attempts=left)
    finally:
        await catalogs.executor.close()
        await sources.close()
        await store.close()


def _load(settings: GatewaySettings, outside: OutsideWorld, shelf: Shelf) -> Catalogs:
    """The modules' contracts and code. Raises SettingsError for what must not be worked with."""
    catalogs = Catalogs(
        module_dirs(settings.modules_dir), outside=outside.executors, pinning=outside.pinning, shelf=shelf
    )
    try:
        catalogs.load()
    except ContractRefused as error:
        raise SettingsError(str(error)) from None
    return catalogs


def _loops(
    catalogs: Catalogs, store: Store, stop: asyncio.Event, clock: Clock
) -> list[Coroutine[Any, Any, None]]:
    """Contracts that changed, pins that were decided, sources that say something else."""
    return [
        run_every(lambda: catalogs.reload(store), RELOAD_EVERY, stop, "reload_contracts", clock),
        run_every(lambda: catalogs.follow(store), RELOAD_EVERY, stop, "follow_pins", clock),
        run_every(lambda: catalogs.look(store), RELOAD_EVERY, stop, "look_at_sources", clock),
    ]


def _announce(port: int) -> None:
    log.info("gateway.listening", port=port)


async def _check_server(settings: GatewaySettings, store: Store) -> None:
    if settings.allow_unsafe_durability:
        log.warning("gateway.durability_not_checked")
        return
    try:
        await check_durability(store)
    except UnsafeDurability as error:
        raise SettingsError(f"FENCEPOST_DATABASE_URL: {error}") from None


def _checks(settings: GatewaySettings, store: Store) -> dict[str, Check]:
    async def database() -> None:
        if not await schema_is_current(store.engine):
            raise SchemaNotReady

    checks: dict[str, Check] = {"database": database}
    if not settings.allow_unsafe_durability:
        checks["durability"] = lambda: check_durability(store)
    return checks


async def run(stop: asyncio.Event) -> None:
    settings = load_settings(GatewaySettings)
    set_up_logging("gateway", settings.log_level, settings.log_format)
    flush = set_up_telemetry("gateway")
    try:
        await serve(settings, stop)
    finally:
        flush()


def main() -> None:
    run_service(run)


if __name__ == "__main__":
    main()

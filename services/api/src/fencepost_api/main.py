"""The api process: settings, parts, server. `python -m fencepost_api.main`."""

from __future__ import annotations

import asyncio
from secrets import token_bytes
from typing import Final

from fencepost_domain.ports import Clock, Ids
from fencepost_runtime.artifacts import ArtifactStore, open_artifacts
from fencepost_runtime.beside import LOOK_EVERY, beside_of
from fencepost_runtime.keys import KEY_BYTES, KeyRing, load_key_ring
from fencepost_runtime.lifecycle import run_service, run_until_stopped, until_stopped
from fencepost_runtime.logging import get_logger, set_up_logging
from fencepost_runtime.loop import run_every
from fencepost_runtime.secret_sources import make_secrets
from fencepost_runtime.server import serve_http
from fencepost_runtime.settings import ApiSettings, load_settings
from fencepost_runtime.signing import load_signer
from fencepost_runtime.system import SystemClock, SystemIds
from fencepost_runtime.telemetry import set_up_telemetry
from fencepost_runtime.wake.bell import Bell
from fencepost_store.engine import make_engine, prepare_threshold
from fencepost_store.transaction import Store

from fencepost_api.app import build_app
from fencepost_api.auth import make_verifier
from fencepost_api.context import Api, Limits
from fencepost_api.memo import Memo
from fencepost_api.streams.deltas import Listener
from fencepost_api.streams.feed_hub import FeedHub
from fencepost_api.streams.hub import RunHub
from fencepost_api.tickets import Tickets

log = get_logger(__name__)
SEEN_SECONDS: Final = 60.0  # how old the note of a person's roles may be before it is written again
MODULES_SECONDS: Final = 5.0  # how long a module just published may stay unknown


def build_api(
    settings: ApiSettings,
    clock: Clock,
    stop: asyncio.Event,
    limits: Limits | None = None,
    bell: Bell | None = None,
    artifacts: ArtifactStore | None = None,
    ids: Ids | None = None,
) -> Api:
    """The parts by settings. Raises KeyFileError for a key file that can't be used."""
    ids = ids or SystemIds()
    engine = make_engine(
        settings.database_url,
        size=settings.database_pool_size,
        application="fencepost-api",
        prepare=prepare_threshold(settings.database_url, settings.database_direct_url),
    )
    store = Store(engine, ids, bell.ring if bell else None)
    runs = RunHub(store, clock)
    return Api(
        store=store,
        clock=clock,
        ids=ids,
        verifier=make_verifier(settings, clock),
        tickets=Tickets(_ticket_keys(settings), clock),
        runs=runs,
        feed=FeedHub(store, clock, runs.on_move),
        seen=Memo(clock, SEEN_SECONDS),
        modules=Memo(clock, MODULES_SECONDS),
        stop=stop,
        artifacts=artifacts,
        limits=limits
        or Limits(body_bytes=settings.max_body_bytes, artifact_bytes=settings.max_artifact_bytes),
        cors_origins=settings.cors_origins,
        signer=load_signer(settings.export_key_file) if settings.export_key_file else None,
        public_url=settings.public_url,
    )


def _ticket_keys(settings: ApiSettings) -> KeyRing:
    if settings.ticket_keys_file:
        return load_key_ring(settings.ticket_keys_file)
    return KeyRing("boot", {"boot": token_bytes(KEY_BYTES)})


async def close_streams(api: Api) -> None:
    """Streams end at once when the process is to: a drain must not wait for them."""
    await api.stop.wait()
    api.runs.close()
    api.feed.close()


async def serve(settings: ApiSettings, stop: asyncio.Event) -> None:
    """Serve until `stop`."""
    bell, clock, ids = Bell(settings.database_url), SystemClock(), SystemIds()
    secrets = make_secrets(settings, clock)
    artifacts = open_artifacts(settings, secrets, ids, clock)
    api = build_api(settings, clock, stop, bell=bell, artifacts=artifacts, ids=ids)
    api.beside = beside_of(artifacts, secrets)
    listener = Listener(settings.database_direct_url or settings.database_url, api.runs)
    app = build_app(api, listener)
    try:
        await run_until_stopped(
            stop,
            close_streams(api),
            until_stopped(bell.run(), stop),
            api.runs.run(stop),
            api.feed.run(stop),
            listener.run(stop),
            run_every(api.beside.look, LOOK_EVERY, stop, "look_beside", clock),
            serve_http(
                app,
                settings.api_host,
                settings.api_port,
                stop,
                on_bound=lambda port: log.info("api.listening", host=settings.api_host, port=port),
                loop="uvloop",
                http="httptools",
                ws="none",
            ),
        )
    finally:
        await api.store.close()
        await secrets.close()


def main() -> None:
    async def run(stop: asyncio.Event) -> None:
        settings = load_settings(ApiSettings)
        set_up_logging("api", settings.log_level, settings.log_format)
        flush = set_up_telemetry("api")
        try:
            await serve(settings, stop)
        finally:
            flush()

    run_service(run)


if __name__ == "__main__":
    main()

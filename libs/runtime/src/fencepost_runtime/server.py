"""uvicorn under our own lifecycle: run_service owns the signals, the server only hears `stop`."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Final

import uvicorn

from fencepost_runtime.sockets import bind

SHUTDOWN_SECONDS: Final = 3  # requests in work may end; streams must watch `stop` and end at once


class ServerNotStarted(Exception):
    """The application refused to start; its own log lines say why."""


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve_http(
    app: Any,
    host: str,
    port: int,
    stop: asyncio.Event,
    on_bound: Callable[[int], None] | None = None,
    **options: Any,
) -> None:
    """Serve `app` until `stop`, then drain for 3 s at most. Port 0 takes a free one, told to `on_bound`.

    `options` go to uvicorn.Config. Raises OSError when the port is taken, ServerNotStarted.
    """
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        **options,
    )
    with bind(host, port) as listener:
        if on_bound:
            on_bound(listener.getsockname()[1])
        server = _Server(config)
        stopping = asyncio.ensure_future(stop.wait())
        stopping.add_done_callback(lambda _: setattr(server, "should_exit", True))
        try:
            # Not as a task: uvicorn may raise SystemExit, which would leave a task through the loop.
            await server.serve(sockets=[listener])
        except SystemExit:
            raise ServerNotStarted from None
        finally:
            stopping.cancel()
    if not server.started:
        raise ServerNotStarted

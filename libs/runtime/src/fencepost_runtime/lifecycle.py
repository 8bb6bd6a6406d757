"""How a service starts and ends: one event loop, one stop event, no orphans.

The first SIGTERM or SIGINT asks to stop, the second one ends at once. A service started by the embedded
supervisor holds the read end of a pipe (FENCEPOST_PARENT_FD): when the supervisor is gone, however it
went, the pipe reports the end of file, and the service stops by itself.
"""

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any

import uvloop

from fencepost_runtime.keys import KeyFileError
from fencepost_runtime.parent import EXIT_MISCONFIGURED, take_parent_fd, watch_parent
from fencepost_runtime.settings import SettingsError

Main = Callable[[asyncio.Event], Awaitable[None]]


def run_service(main: Main) -> None:
    """Run `main(stop)` on uvloop until it returns, then exit: 0, 78 for settings, 1 for what it raised.

    `main` must return soon after `stop` is set. Call this as the last line of a service's main().
    """
    parent = take_parent_fd()
    try:
        uvloop.run(_run(main, parent))
    except (SettingsError, KeyFileError) as error:
        sys.stderr.write(f"fencepost: {error}\n")
        raise SystemExit(EXIT_MISCONFIGURED) from None


async def _run(main: Main, parent: int | None) -> None:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()

    def on_signal(number: int) -> None:
        if stop.is_set():
            os._exit(128 + number)
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal, number)
    if parent is not None:
        watch_parent(parent)
    # What was imported lives for ever: keeping it out of collections makes each one shorter.
    gc.collect()
    gc.freeze()
    # A long log read as values has no cycles in it: looking for some every 700 objects took half of the time.
    gc.set_threshold(20_000, 25, 10)
    await main(stop)


async def run_until_stopped(stop: asyncio.Event, *tasks: Coroutine[Any, Any, None]) -> None:
    """Run the parts of a service together until `stop`; if one raises, the others are cancelled.

    Parts that watch `stop` themselves end by themselves; what still runs 10 s later is cancelled.
    """
    running = [asyncio.ensure_future(task) for task in tasks]
    stopping = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait([*running, stopping], return_when=asyncio.FIRST_COMPLETED)
        failed = any(task.done() and not task.cancelled() and task.exception() for task in running)
        stop.set()
        if not failed:
            await asyncio.wait(running, timeout=10)
    finally:
        for task in (*running, stopping):
            task.cancel()
        results = await asyncio.gather(*running, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException) and not isinstance(result, asyncio.CancelledError):
            raise result


async def until_stopped(endless: Coroutine[Any, Any, None], stop: asyncio.Event) -> None:
    """Run a part that knows no end of its own until `stop`."""
    running = asyncio.ensure_future(endless)
    await stop.wait()
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running

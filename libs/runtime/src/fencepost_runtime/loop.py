"""Background loops: each repeats one `run_once`, and no failure of it ends the loop."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Protocol

from fencepost_runtime.logging import get_logger
from fencepost_runtime.telemetry import counter

LONGEST_BACKOFF: Final = timedelta(seconds=5)  # how late a sweep resumes after an outage, however long it was

log = get_logger(__name__)

Counts = Mapping[str, int] | int | None
RunOnce = Callable[[], Awaitable[Counts]]


class Monotonic(Protocol):
    def monotonic(self) -> float: ...


@dataclass(slots=True)
class LoopStatus:
    """What health looks at. Times are the loop's clock's monotonic seconds."""

    name: str
    last_success: float | None = None
    failures_in_a_row: int = 0


async def run_every(
    run_once: RunOnce,
    interval: timedelta,
    stop: asyncio.Event,
    name: str,
    clock: Monotonic,
    status: LoopStatus | None = None,
) -> None:
    """Call `run_once` every `interval` until `stop`; at once again while it returns a "more" count.

    An exception is logged with its traceback and counted; the next try waits twice as long, 5 s at most.
    Cancellation goes through.
    """
    status = status or LoopStatus(name)
    failed = counter("fencepost.loop.failures", "Exceptions that a background loop survived")
    while not stop.is_set():
        try:
            counts = await run_once()
        except Exception:
            status.failures_in_a_row += 1
            failed.add(1, {"loop": name})
            log.exception("loop.failed", loop=name, failures=status.failures_in_a_row)
            await wait_or_stop(stop, _backoff(interval, status.failures_in_a_row))
            continue
        status.failures_in_a_row = 0
        status.last_success = clock.monotonic()
        if _report(name, counts):
            await asyncio.sleep(0)
        else:
            await wait_or_stop(stop, interval)


async def wait_or_stop(stop: asyncio.Event, delay: timedelta) -> bool:
    """Wait `delay`, or less if `stop` is set meanwhile; says whether it is."""
    with suppress(TimeoutError):
        async with asyncio.timeout(delay.total_seconds()):
            await stop.wait()
    return stop.is_set()


def _backoff(interval: timedelta, failures: int) -> timedelta:
    return min(max(interval, timedelta(milliseconds=100)) * 2.0 ** min(failures, 16), LONGEST_BACKOFF)


def _report(name: str, counts: Counts) -> bool:
    """Log what was done, if anything; says whether there is more to do at once."""
    if not counts:
        return False
    named = {"count": counts} if isinstance(counts, int) else dict(counts)
    more = bool(named.pop("more", 0))
    done = {key: value for key, value in named.items() if value}
    if done:
        log.info("loop.did", loop=name, **done)
    return more

"""A loop outlives its failures, ends with stop, and health sees how it does."""

import asyncio
import json
from datetime import timedelta

import httpx
import pytest
from fencepost_runtime.health import loop_check, run_checks, serve_health
from fencepost_runtime.lifecycle import run_until_stopped
from fencepost_runtime.loop import LoopStatus, run_every
from fencepost_runtime.system import SystemClock, SystemIds

SOON = timedelta(milliseconds=1)


async def test_a_failing_tick_is_survived_and_seen() -> None:
    stop, status, results = asyncio.Event(), LoopStatus("sweep"), iter([ValueError(), {"expired": 2}, None])

    async def tick() -> dict[str, int] | None:
        match next(results):
            case ValueError() as error:
                raise error
            case None:
                stop.set()
                return None
            case counts:
                assert status.failures_in_a_row == 1
                return counts

    await run_every(tick, SOON, stop, "sweep", SystemClock(), status)
    assert status.failures_in_a_row == 0
    assert status.last_success is not None


async def test_more_to_do_is_done_without_waiting() -> None:
    stop, ticks = asyncio.Event(), iter(range(3))

    async def tick() -> dict[str, int]:
        if next(ticks) == 2:
            stop.set()
        return {"more": 1}

    await asyncio.wait_for(run_every(tick, timedelta(hours=1), stop, "relay", SystemClock()), 30)


async def test_cancellation_goes_through() -> None:
    async def tick() -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await run_every(tick, SOON, asyncio.Event(), "sweep", SystemClock())


async def test_a_stalled_loop_is_not_ready() -> None:
    status, clock = LoopStatus("sweep"), SystemClock()
    check = {"sweep": loop_check(status, timedelta(seconds=1), clock)}
    assert await run_checks(check) == {"sweep": "LoopStalled"}
    status.last_success = clock.monotonic()
    assert await run_checks(check) == {"sweep": "ok"}
    status.last_success -= 2
    assert await run_checks(check) == {"sweep": "LoopStalled"}


async def test_health_answers_probes_and_quotes_no_exception() -> None:
    stop, port = asyncio.Event(), asyncio.get_running_loop().create_future()

    async def broken() -> None:
        raise ConnectionError("postgresql://user:password@db")

    checks = {"database": broken}
    server = asyncio.ensure_future(serve_health("127.0.0.1", 0, checks, stop, port.set_result))
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{await port}", trust_env=False) as client:
        assert (await client.get("/healthz")).status_code == 200
        answer = await client.get("/readyz")
        assert (await client.get("/other")).status_code == 404
        assert (await client.post("/healthz")).status_code == 405
    assert answer.status_code == 503
    assert json.loads(answer.text)["checks"] == {"database": "ConnectionError"}
    stop.set()
    await server


async def test_one_failed_part_ends_the_service_with_its_error() -> None:
    ended = asyncio.Event()

    async def fails() -> None:
        raise ValueError("part")

    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    with pytest.raises(ValueError, match="part"):
        await run_until_stopped(asyncio.Event(), fails(), waits())
    assert ended.is_set()


def test_ids_are_version_seven_and_sorted() -> None:
    ids = SystemIds()
    made = [ids.uuid7() for _ in range(100)]
    assert {one.version for one in made} == {7}
    assert made == sorted(made)

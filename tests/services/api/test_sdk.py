"""The SDK's clients against a served api: what they promise to callers holds."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from fencepost.aio import AsyncClient
from fencepost.client import Client
from fencepost.errors import ApiError

from tests.support.api import Served, a_key
from tests.support.lives import Lives


def connected(served: Served) -> Client:
    return Client(served.base, served.signer.token())


async def test_a_client_creates_waits_approves_and_reads_the_log(served: Served, lives: Lives) -> None:
    def start() -> Any:
        with connected(served) as client:
            first = client.runs.create("hello", idempotency_key="k", module="life", currency="EUR")
            again = client.runs.create("hello", idempotency_key="k", module="life", currency="EUR")
            assert first.id == again.id
            return first

    run = await asyncio.to_thread(start)
    [held] = await lives.claim()
    await lives.prepared(held)
    asked = await lives.ask(held)

    def approve() -> Any:
        with connected(served) as client:
            waiting = client.runs.wait(run.id, 5)
            assert waiting.interrupt.id == str(asked.interrupt_id)
            decided = client.interrupts.approve(asked.interrupt_id, idempotency_key="k2", note="go")
            assert decided.resolution.decision == "approve"
            assert [item.id for item in client.runs.list(status="queued")] == [run.id]
            return list(client.runs.events(run.id))

    log = await asyncio.to_thread(approve)
    assert [event.seq for event in log] == list(range(1, len(log) + 1))


async def test_refusals_are_typed(served: Served) -> None:
    async with AsyncClient(served.base, served.signer.token()) as client:
        with pytest.raises(ApiError) as missing:
            await client.get_run("01970000-0000-7000-8000-000000000001")
        assert (missing.value.status, missing.value.code) == (404, "not_found")
        with pytest.raises(ApiError) as invalid:
            await client.create_run(" ", idempotency_key="k")
        assert invalid.value.errors[0]["pointer"] == "/input/text"
        assert "; /input/text: " in str(invalid.value), "a program's log must say which value it was"


async def test_a_stream_is_read_to_its_end_over_cuts(served: Served, lives: Lives) -> None:
    run_id = await lives.queued()
    seen: list[tuple[str, str | None]] = []

    async def read() -> None:
        async with AsyncClient(served.base, served.signer.token()) as client:
            async for event in client.stream(run_id):
                seen.append((event.type, event.data.get("status")))

    reading = asyncio.create_task(read())
    while not seen:
        await asyncio.sleep(0.01)
    cut = list(served.api.runs.watches.values())
    for watch in cut:
        for follower in watch.streams:  # as if the process let go of its streams: the client comes back
            follower.watch.gone = True
            follower.woken.set()
    while any(
        watch in cut for watch in served.api.runs.watches.values()
    ):  # a new one is the client come back
        await asyncio.sleep(0.01)
    await served.as_().post(f"/v1/runs/{run_id}/pause", headers=a_key())
    await served.as_().post(f"/v1/runs/{run_id}/cancel", headers=a_key())
    async with asyncio.timeout(10):
        await reading
    assert [told for told in seen if told[0] != "error"] == [
        ("run.status", "queued"),
        ("run.status", "paused"),
        ("run.status", "cancelling"),
        ("message.completed", None),
        ("run.finished", "cancelled"),
    ]


async def test_a_405_names_every_method_of_its_path(served: Served) -> None:
    answer = await served.as_().delete("/v1/runs")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, POST")
    assert (await served.as_().head("/healthz")).status_code == 200

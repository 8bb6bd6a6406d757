"""The chaos run's own instruments: a seed is a schedule, the line does what it says, the reckoning finds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from tests.chaos.load import Told
from tests.chaos.proxy import Line, line_to
from tests.chaos.reckoning import Reckoning, judge_effects
from tests.chaos.run import POINTS
from tests.chaos.schedule import KINDS, WITH_CLOCKS, WITH_KAFKA, draw
from tests.chaos.stage import Stage
from tests.faults.provider import answer_to, unpaired

MINUTES = 60.0


def test_a_seed_is_a_schedule() -> None:
    assert draw(7, 300, POINTS) == draw(7, 300, POINTS) != draw(8, 300, POINTS)
    assert len(draw(7, 60 * MINUTES, POINTS)) > 500


def test_every_kind_of_fault_is_drawn_and_can_be_done() -> None:
    kinds = {**KINDS, **WITH_KAFKA, **WITH_CLOCKS}
    drawn = draw(7, 60 * MINUTES, POINTS, kafka=True, clocks=True)
    assert {fault.kind for fault in drawn} == set(kinds)
    assert all(hasattr(Stage, f"_{kind.replace('.', '_')}") for kind in kinds)


def test_what_the_load_reaches_is_armed_and_nothing_that_needs_a_scene_of_its_own() -> None:
    assert {name.partition(".")[0] for name in POINTS} == {"api", "worker", "gateway", "reconciler"}
    assert {"worker.checkpoint.after_commit", "gateway.business.before_commit"} <= set(POINTS)
    assert not {"api.repair.before_commit", "api.handoff.before_commit"} & set(POINTS)


# ── the line ────────────────────────────────────────────────────────────────────────────────────────


async def closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()


@asynccontextmanager
async def echo_behind_a_line() -> AsyncIterator[Line]:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(100):
                writer.write(data)
        await closed(writer)

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with line_to(lambda: ("127.0.0.1", port)) as line:
        yield line
    server.close()


async def said(reader: asyncio.StreamReader, seconds: float = 5.0) -> bytes:
    return await asyncio.wait_for(reader.read(100), seconds)


async def test_a_line_carries_hangs_slows_and_cuts() -> None:
    async with echo_behind_a_line() as line:
        reader, writer = await asyncio.open_connection("127.0.0.1", line.port)
        writer.write(b"one")
        assert await said(reader) == b"one"
        line.set("hang")
        writer.write(b"two")
        with pytest.raises(TimeoutError):
            await said(reader, 0.2)
        line.set("open")
        assert await said(reader) == b"two"
        line.delay = 0.2
        began = asyncio.get_running_loop().time()
        writer.write(b"three")
        assert await said(reader) == b"three"
        assert asyncio.get_running_loop().time() - began > 0.3
        line.cut()
        with pytest.raises(ConnectionResetError):
            await said(reader)
        await closed(writer)


async def test_a_line_refuses_and_takes_up_again() -> None:
    async with echo_behind_a_line() as line:
        line.set("refuse")
        reader, writer = await asyncio.open_connection("127.0.0.1", line.port)
        with pytest.raises(ConnectionResetError):
            await said(reader)
        await closed(writer)
        line.set("open")
        reader, writer = await asyncio.open_connection("127.0.0.1", line.port)
        writer.write(b"again")
        assert await said(reader) == b"again"
        await closed(writer)


# ── the reckoning ───────────────────────────────────────────────────────────────────────────────────


def test_the_reckoning_finds_what_is_doubled_lost_and_unwanted() -> None:
    told = Told(runs=["once", "twice", "lost", "unasked"], approved={"once", "twice", "lost"})
    effects = {
        "once": {"status": "succeeded", "rows": 1},
        "twice": {"status": "succeeded", "rows": 2},
        "lost": {"status": "succeeded", "rows": 0},
        "unasked": {"status": "cancelled", "rows": 1},
    }
    firings = [
        {"reminder_id": "a", "fired": 1},
        {"reminder_id": "b", "fired": 2},
        {"reminder_id": "c", "fired": 0},
    ]
    found = Reckoning()
    judge_effects(found, told, effects, firings)
    assert found.faults == [
        "duplicates: twice",
        "duplicates: reminder b fired",
        "lost: lost",
        "lost: reminder c never fired",
        "effects without an approval: unasked",
    ]


def test_an_unpaired_call_in_a_request_is_found() -> None:
    call = {"role": "assistant", "tool_calls": [{"id": "c1"}, {"id": "c2"}]}
    first, second = ({"role": "tool", "tool_call_id": name} for name in ("c1", "c2"))
    assert unpaired({"messages": [call, first, second]}) == []
    assert unpaired({"messages": [call, first]}) == ["c2"]
    assert unpaired({"messages": [call, first, {"role": "user"}, second]}) == ["c2", "c2 answers nothing"]


def test_the_provider_answers_by_what_is_said() -> None:
    offered = [{"function": {"name": "life__create_reminder"}}]
    user = {"role": "user", "content": "remind me tomorrow at 9 to call Bob (7)"}
    chunks = answer_to({"messages": [{"role": "system", "content": ""}, user], "tools": offered})
    assert b"call Bob" in b"".join(chunks)

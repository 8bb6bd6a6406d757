"""Leases in one process: the heartbeat's thread, trust, cancel, pause (I04, I22, PG-1)."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from fencepost_domain.errors import FenceLost
from fencepost_runtime.settings import SettingsError, WorkerSettings, load_settings
from fencepost_runtime.system import SystemClock
from fencepost_store.checkpoints import NewCheckpoint, RunWrites
from fencepost_store.claims import Beat
from fencepost_worker.deltas import DeltaSender
from fencepost_worker.heartbeat import Heartbeat, Pulse
from fencepost_worker.holding import Holding, Leaving

from tests.services.worker.bench import Bench
from tests.support.eventually import eventually
from tests.support.scripted_model import DONE, call, finish, say, text_answer, tool_answer
from tests.support.worker_process import secret_file
from tests.support.worker_runs import writing

LEASE, BEAT = timedelta(seconds=1.2), timedelta(seconds=0.3)


def test_pg1_a_beat_as_long_as_the_lease_is_refused_at_start() -> None:
    fields = {
        "database_url": "postgresql://x",
        "worker_slot": "s",
        "service_secret_file": secret_file(),
        "lease_seconds": 30.0,
        "beat_seconds": 30.0,
    }
    with pytest.raises(SettingsError, match="three beats"):
        load_settings(WorkerSettings, **fields)


def after(
    monkeypatch: pytest.MonkeyPatch, owner: type, name: str, seen: Callable[..., bool]
) -> asyncio.Event:
    """Set once a method of the worker's has returned and `seen`, asked with its arguments, holds."""
    happened, method = asyncio.Event(), getattr(owner, name)

    def watched(*given: Any) -> Any:
        answer = method(*given)
        if seen(*given):
            happened.set()
        return answer

    monkeypatch.setattr(owner, name, watched)
    return happened


class Beating:
    """A held run with its heartbeat, as the process wires them."""

    def __init__(self, bench: Bench) -> None:
        self.clock = SystemClock()
        self.holding = Holding(4, LEASE, self.clock)
        self.pulse = Pulse(self.clock)
        self.stop = asyncio.Event()
        self.heartbeat = Heartbeat(
            bench.database.dsn("worker"),
            bench.runs.owner,
            lease=LEASE,
            every=BEAT,
            pulse=self.pulse,
            clock=self.clock,
            named=self.named,
            heard=self.heard,
        )
        self.unknown: list[Beat] = []

    def named(self) -> Mapping[UUID, int]:
        return self.holding.named()

    def heard(self, sent_at: float, beats: list[Beat]) -> None:
        self.unknown += self.holding.hear(sent_at, beats)

    async def __aenter__(self) -> Beating:
        self.ticking = asyncio.ensure_future(self.pulse.beat(LEASE / 9, self.stop))
        self.heartbeat.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.stop.set()
        await self.ticking
        await self.heartbeat.stop()


async def expired(bench: Bench) -> bool:
    [(past,)] = await bench.runs.fetch("SELECT lease_expires_at < clock_timestamp() FROM agent.runs")
    return bool(past)


def stuck_until_swept(bench: Bench, run_id: UUID) -> None:
    """Hold the event loop until the sweep, in a thread, gave the run back: its lease passes meanwhile."""
    sweep = threading.Thread(target=lambda: asyncio.run(bench.expire_lease(run_id)))
    sweep.start()
    sweep.join()


async def test_pg1_a_stuck_event_loop_loses_its_lease_and_notices(bench: Bench) -> None:
    """The heartbeat keeps nothing alive that a stuck loop can't finish; its next write is refused."""
    run_id = await bench.runs.queued("hi")
    bench.runs.lease = LEASE
    async with Beating(bench) as beating:
        held = beating.holding.add(await bench.runs.claim(run_id), beating.clock.monotonic())
        await eventually(lambda: beating.heartbeat.beats >= 3)
        assert not await expired(bench)
        assert held.is_trusted()

        stuck_until_swept(bench, run_id)  # a loop that is free again would be renewed at once
        assert not held.is_trusted()
        await bench.runs.claim(run_id, owner="slot-other:boot-2")
        await eventually(lambda: held.leaving is Leaving.TAKEN)
        with pytest.raises(FenceLost):
            await held.trusted()
        async with writing(bench.database) as writer:
            with pytest.raises(FenceLost):
                await writer.write(RunWrites(held.fence, NewCheckpoint("", "c", None, "msgpack", b"", "{}")))


async def test_a_lease_that_is_past_but_not_taken_is_renewed_and_trusted_again(bench: Bench) -> None:
    run_id = await bench.runs.queued("hi")
    bench.runs.lease = LEASE
    async with Beating(bench) as beating:
        held = beating.holding.add(await bench.runs.claim(run_id), beating.clock.monotonic())
        time.sleep(LEASE.total_seconds() * 1.7)  # noqa: ASYNC251
        waiting = asyncio.ensure_future(held.trusted())
        await asyncio.sleep(0)
        assert not waiting.done()
        await asyncio.wait_for(waiting, 30)
        assert not await expired(bench)


async def test_a_run_held_in_the_database_but_nowhere_here_is_told_twice_before_it_counts(
    bench: Bench,
) -> None:
    run_id = await bench.runs.queued("hi")
    async with Beating(bench) as beating:
        await bench.runs.claim(run_id)
        await eventually(lambda: beating.unknown)
    assert beating.unknown[0].run_id == run_id
    assert beating.heartbeat.beats >= 2


@pytest.mark.transcript
async def test_i22_a_cancelled_run_aborts_its_model_stream_and_ends_under_the_drain_fence(
    bench: Bench,
) -> None:
    bench.model.hold = asyncio.Event()
    bench.model.answer(tool_answer("life.create_reminder", {"title": "x", "at": "y"}))
    async with bench.working():
        run_id = await bench.runs.queued("remind me")
        await eventually(lambda: bench.model.requests)
        await bench.cancel(run_id)
        assert await bench.runs.status(run_id) == "cancelling"
        assert await bench.ended(run_id) == "cancelled"
    assert bench.gateway.prepared == []
    assert await bench.finalization(run_id) == ("cancelled", "user_cancelled")
    [(state, code, late)] = await bench.runs.fetch(
        "SELECT state, error->>'code', late FROM agent.model_calls"
    )
    assert (state, code, late) == ("failed", "aborted", True)
    [message] = await bench.final_messages(run_id)
    assert "Nothing was done." in message
    assert await bench.violations() == []


@pytest.mark.parametrize(
    "half",
    [
        [say("Half an"), say(" answer"), finish(), DONE],
        [call("respond", '{"text": "Half an', id="c1"), call(None, ' answer"}'), finish("tool_calls"), DONE],
    ],
    ids=["plain", "by respond"],
)
async def test_what_a_model_had_said_when_it_was_cut_off_is_kept(
    bench: Bench, half: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The person read half an answer: the ledger keeps it, beside the fact that nobody acted on it."""
    pieces = after(monkeypatch, DeltaSender, "add", lambda sender, piece: bool(piece.get("text")))
    bench.model.hold = asyncio.Event()
    bench.model.answer(half)
    async with bench.working():
        run_id = await bench.runs.queued("hi")
        await asyncio.wait_for(pieces.wait(), 60)
        await bench.cancel(run_id)
        assert await bench.ended(run_id) == "cancelled"
    [(error,)] = await bench.runs.fetch("SELECT error FROM agent.model_calls")
    assert error["code"] == "aborted" and error["partial"] == "Half an"
    assert "observation.late" in await bench.events(run_id)
    [message] = await bench.final_messages(run_id)
    assert "Half" not in message


async def test_a_cancel_while_the_gateway_commits_waits_for_nothing_it_cannot_know(bench: Bench) -> None:
    bench.model.answer(tool_answer("life.create_reminder", {"title": "x", "at": "y"}))
    bench.gateway.commit_gate = asyncio.Event()
    async with bench.working():
        run_id = await bench.runs.queued("remind me")
        interrupt = await bench.asked(run_id)
        await bench.resolve(run_id, interrupt["id"], {"decision": "approve"})
        await eventually(lambda: any("/" in fence for fence in bench.gateway.fences[1:]))
        await bench.cancel(run_id)
        assert await bench.ended(run_id) == "cancelled"
        bench.gateway.commit_gate.set()
    assert len(await bench.final_messages(run_id)) == 1


async def test_a_pause_is_taken_at_the_next_boundary_and_a_resume_goes_on(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = after(monkeypatch, Holding, "_hear_one", lambda holding, held, *rest: held.is_pausing)
    bench.model.hold = asyncio.Event()
    bench.model.answer(text_answer("Hello."))
    async with bench.working():
        run_id = await bench.runs.queued("hi")
        await eventually(lambda: bench.model.requests)
        await bench.pause(run_id)
        assert await bench.runs.status(run_id) == "running"
        await asyncio.wait_for(told.wait(), 60)  # a beat tells the worker
        bench.model.hold.set()
        await bench.reaches(run_id, "paused")
        await bench.resume(run_id)
        assert await bench.ended(run_id) == "succeeded"
    assert len(bench.model.requests) == 1
    assert await bench.final_messages(run_id) == ["Hello."]


async def test_a_claim_takes_no_more_than_the_free_slots(bench: Bench) -> None:
    bench.model.hold = asyncio.Event()
    bench.model.answer(*[text_answer("Hello.")] * 5)
    async with bench.working(worker_concurrency=2):
        runs = [await bench.runs.queued("hi") for _ in range(5)]
        await eventually(lambda: len(bench.model.requests) == 2)
        assert await bench.count("SELECT count(*) FROM agent.runs WHERE status = 'running'") == 2
        bench.model.hold.set()
        for run_id in runs:
            assert await bench.ended(run_id) == "succeeded"


async def test_i04_two_workers_never_hold_the_same_run(bench: Bench) -> None:
    bench.model.answer(*[text_answer("Hello.")] * 20)
    async with bench.working(), bench.working():
        runs = [await bench.runs.queued("hi") for _ in range(20)]
        for run_id in runs:
            assert await bench.ended(run_id) == "succeeded"
    assert len(bench.model.requests) == 20
    rows = await bench.runs.fetch("SELECT revision, attempt FROM agent.runs")
    assert rows == [(2, 1)] * 20


async def test_deltas_are_told_while_the_answer_is_written(bench: Bench) -> None:
    import json

    bench.model.answer(text_answer("Hello there."))
    async with await psycopg.AsyncConnection.connect(bench.database.dsn("api"), autocommit=True) as listener:
        await listener.execute("LISTEN fencepost_deltas")
        async with bench.working():
            run_id = await bench.runs.queued("hi")
            await bench.ended(run_id)
            heard = [
                piece
                async for notice in listener.notifies(timeout=1.0)
                for piece in json.loads(notice.payload)
            ]
    assert "".join(piece["text"] for piece in heard) == "Hello there."
    [(message_id,)] = await bench.runs.fetch("SELECT id FROM agent.messages WHERE author = 'assistant'")
    assert {(p["run_id"], p["message_id"], p["attempt"]) for p in heard} == {
        (str(run_id), str(message_id), 1)
    }

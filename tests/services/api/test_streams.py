"""Streams: each event once and in order, on any replica, after any cut (cases SS-1, SS-3, EV-1)."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from uuid import UUID

import httpx
import psycopg
import pytest
from fencepost_domain.decision import Finalization, FinalMessage
from fencepost_domain.endings import decide_finalize
from fencepost_domain.vocabulary import Reason, RunStatus
from fencepost_store.claims import Claim
from fencepost_store.record import record
from fencepost_store.runs import lock_run

from tests.services.api.conftest import QUICK
from tests.support.api import Served, SseReader, a_key, saying, serving, streaming
from tests.support.eventually import eventually
from tests.support.lives import OTHER_TENANT, TENANT, USER, Lives
from tests.support.postgres import Database

NASTY = "line one\nevent: approved\rdata: {}\r\n\r\nid: 99\u2028\u2029\x85 end"


async def paused_and_resumed(client: httpx.AsyncClient, run_id: UUID, times: int) -> None:
    """Two events a time, each shown by a stream."""
    for _ in range(times):
        assert (await client.post(f"/v1/runs/{run_id}/pause")).status_code == 202
        assert (await client.post(f"/v1/runs/{run_id}/resume")).status_code == 202


async def finish(lives: Lives, held: Claim, text: str) -> None:
    """The worker ends its run with a message."""
    finalization = Finalization(RunStatus.SUCCEEDED, Reason.ACCEPTANCE_MET, "done", "worker")
    async with lives.worker.transaction() as tx:
        locked = await lock_run(tx, held.run.id)
        message = FinalMessage(tx.ids.uuid7(), text)
        decision = decide_finalize(locked.run, held.fence, finalization=finalization, message=message)
        await record(tx, locked.run, decision)


async def notify(lives: Lives, *items: dict[str, object]) -> None:
    """As a worker tells deltas: outside any transaction, under its own role."""
    dsn = lives.database.dsn("worker")
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
        await connection.execute("SELECT pg_notify('fencepost_deltas', %s)", (json.dumps(items),))


async def test_a_stream_tells_history_then_life_and_ends_with_the_run(served: Served, lives: Lives) -> None:
    run_id = await lives.queued()
    async with streaming(served.as_(), f"/v1/runs/{run_id}/stream") as stream:
        first = await stream.next()
        assert first is not None and (first.event, first.id) == ("run.status", "1")
        assert first.data["status"] == "queued" and stream.retry == 1000
        [held] = await lives.claim()
        claimed = await stream.next()
        assert claimed is not None and (claimed.data["status"], claimed.id) == ("running", "2")
        await finish(lives, held, "done, see you")
        rest = await stream.rest()

    assert [e.event for e in rest] == ["message.completed", "run.finished"]
    assert rest[0].data["text"] == "done, see you"
    assert rest[1].data["finalization"]["reason"] == "acceptance_met"
    assert [int(e.id or 0) for e in rest] == [3, 4]
    again = await served.as_().get(f"/v1/runs/{run_id}/stream", headers={"Last-Event-ID": "4"})
    assert (again.status_code, again.content) == (204, b"")


async def test_ss1_a_cut_stream_goes_on_where_it_was_on_another_replica(
    served: Served, lives: Lives, database: Database, tmp_path: Path
) -> None:
    run_id = await lives.queued()
    ann = served.as_()
    await paused_and_resumed(ann, run_id, 10)
    async with streaming(ann, f"/v1/runs/{run_id}/stream") as stream:
        seen = await stream.until(lambda event: event.id == "12")
    assert [int(e.id or 0) for e in seen] == list(range(1, 13))

    async with serving(database.dsn("api"), tmp_path, QUICK, served.signer) as replica:
        headers = {"Last-Event-ID": "12"}
        async with streaming(replica.as_(), f"/v1/runs/{run_id}/stream", headers=headers) as stream:
            more = await stream.until(lambda event: event.id == "21")
            await paused_and_resumed(ann, run_id, 1)  # through the first replica
            late = await stream.until(lambda event: event.id == "23")

    assert [int(e.id or 0) for e in [*more, *late]] == list(range(13, 24))


@pytest.mark.parametrize("last", ["99", "abc", "-1", "1.5", "9" * 40, "ééé".encode().decode("latin-1")])
async def test_ss1_a_foreign_or_malformed_id_gets_one_resync(served: Served, lives: Lives, last: str) -> None:
    run_id = await lives.queued()
    headers = [(b"Last-Event-ID", last.encode("latin-1"))]
    async with streaming(served.as_(), f"/v1/runs/{run_id}/stream", headers=headers) as stream:
        resync = await stream.next()
        assert resync is not None and (resync.event, resync.id) == ("resync", None)
        assert resync.data["run"]["id"] == str(run_id)
        await paused_and_resumed(served.as_(), run_id, 1)
        after = await stream.until(lambda event: event.id == "3")
    assert [e.event for e in after] == ["run.status", "run.status"]


async def test_ss1_a_finished_run_says_its_last_word_after_a_resync(served: Served, lives: Lives) -> None:
    held = await lives.claimed()
    await finish(lives, held, "done")
    headers = {"Last-Event-ID": "77"}
    async with streaming(served.as_(), f"/v1/runs/{held.run.id}/stream", headers=headers) as stream:
        told = await stream.rest()
    assert [(e.event, e.id) for e in told] == [("resync", None), ("run.finished", "4")]


async def test_ss1_events_pruned_before_the_id_are_a_resync(served: Served, lives: Lives) -> None:
    run_id = await lives.queued()
    await paused_and_resumed(served.as_(), run_id, 3)
    await lives.sql(
        "SET session_replication_role = replica; "
        f"DELETE FROM agent.run_events WHERE run_id = '{run_id}' AND seq <= 4"
    )
    async with streaming(served.as_(), f"/v1/runs/{run_id}/stream", headers={"Last-Event-ID": "2"}) as stream:
        told = await stream.next()
        assert told is not None and told.event == "resync"
        await paused_and_resumed(served.as_(), run_id, 1)
        assert [e.id for e in await stream.until(lambda event: event.id == "9")] == ["8", "9"]


async def test_ss3_text_writes_no_protocol_line(served: Served, lives: Lives) -> None:
    held = await lives.claimed(text=NASTY)
    await finish(lives, held, NASTY)
    ann = served.as_()
    raw = (await ann.get(f"/v1/runs/{held.run.id}/stream")).content
    assert b"\nevent: approved" not in raw and b"\nid: 99" not in raw
    assert "\u2028".encode() not in raw and "\x85".encode() not in raw
    async with streaming(ann, f"/v1/runs/{held.run.id}/stream") as stream:
        told = await stream.rest()
    assert [e.event for e in told] == ["run.status", "run.status", "message.completed", "run.finished"]
    assert told[2].data["text"] == NASTY


async def test_ss3_a_stream_is_not_held_back_and_is_kept_alive(served: Served, lives: Lives) -> None:
    run_id = await lives.queued()
    ann = served.as_()
    async with ann.stream(
        "GET", f"/v1/runs/{run_id}/stream", headers={"Accept-Encoding": "gzip, br"}
    ) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["x-accel-buffering"] == "no"
        assert "no-store" in response.headers["cache-control"]
        assert "content-encoding" not in response.headers
        stream = SseReader(response)
        await stream.next()
        with pytest.raises(TimeoutError):
            await stream.next(timeout=2.0)
    assert len(stream.comments) >= 2  # one each 0.3 s here; 15 s by default
    assert stream.last_id == "1"  # a comment carries no id


async def test_deltas_reach_the_streams_of_their_run_and_tenant_only(served: Served, lives: Lives) -> None:
    held, other = await lives.claimed(), await lives.claimed()
    base = {"run_id": str(held.run.id), "tenant_id": str(TENANT), "message_id": "m1"}
    await eventually(lambda: served.api.store and listening(lives))
    async with (
        streaming(served.as_(), f"/v1/runs/{held.run.id}/stream", headers={"Last-Event-ID": "2"}) as stream,
        streaming(served.as_(), f"/v1/runs/{other.run.id}/stream", headers={"Last-Event-ID": "2"}) as aside,
    ):
        await eventually(lambda: len(served.api.runs.watches) == 2)
        await notify(lives, {**base, "attempt": 1, "n": 0, "text": "好\u2028"})
        await notify(lives, {**base, "tenant_id": str(OTHER_TENANT), "attempt": 1, "n": 1, "text": "leak"})
        await notify(lives, {"nonsense": True})
        await notify(lives, {**base, "attempt": 2, "n": 0, "text": "again"})
        await notify(lives, {**base, "attempt": 1, "n": 2, "text": "zombie"})
        await notify(lives, {**base, "attempt": 2, "n": 1, "text": " end"})
        told = await stream.until(lambda event: event.data.get("n") == 1)
        with pytest.raises(TimeoutError):
            await aside.next(timeout=0.3)

    assert [(e.event, e.data.get("text"), e.id) for e in told] == [
        ("message.delta", "好\u2028", None),
        ("message.reset", None, None),
        ("message.delta", "again", None),
        ("message.delta", " end", None),
    ]


async def listening(lives: Lives) -> bool:
    rows = await lives.sql(
        "SELECT 1 AS one FROM pg_stat_activity WHERE application_name = 'fencepost-api-listen' "
        "AND datname = current_database() AND query LIKE 'LISTEN fencepost_events'"
    )
    return bool(rows)


async def test_streams_end_at_once_when_the_process_is_to_stop(served: Served, lives: Lives) -> None:
    run_id = await lives.queued()
    async with (
        streaming(served.as_(), f"/v1/runs/{run_id}/stream") as stream,
        streaming(served.as_(), "/v1/feed") as feed,
    ):
        await stream.next()
        await eventually(lambda: bool(served.api.feed.followers))
        served.api.stop.set()
        async with asyncio.timeout(10):
            assert await stream.rest() == [] and await feed.rest() == []


async def test_a_stream_ends_with_the_token_it_was_opened_with(served: Served, lives: Lives) -> None:
    run_id = await lives.queued()
    short = served.signer.token(exp=int(time.time()) + 2)
    async with streaming(served.as_(token=short), f"/v1/runs/{run_id}/stream") as stream:
        assert await stream.next()
        async with asyncio.timeout(20):
            assert await stream.rest() == []


async def test_streams_outlive_a_lost_database_connection(served: Served, lives: Lives) -> None:
    run_id = await lives.queued()
    async with streaming(served.as_(), f"/v1/runs/{run_id}/stream") as stream:
        await stream.next()
        await lives.sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE usename = 'fencepost_api' AND datname = current_database()"
        )
        await lives.pause(run_id)
        told = await stream.next(timeout=10)
    assert told is not None and told.data["status"] == "paused"


async def test_a_run_may_be_created_with_its_stream(served: Served, lives: Lives) -> None:
    headers = {**a_key(), "Accept": "text/event-stream"}
    async with served.as_().stream(
        "POST", "/v1/runs", json=saying(module="life"), headers=headers
    ) as response:
        assert response.status_code == 201
        assert response.headers["location"].startswith("/v1/runs/")
        stream = SseReader(response)
        first = await stream.next()
        assert first is not None and first.id == "1"
        [held] = await lives.claim()
        await finish(lives, held, "hello yourself")
        assert (await stream.rest())[-1].event == "run.finished"


async def test_many_streams_share_one_look_at_the_table(served: Served, lives: Lives) -> None:
    runs = [await lives.queued() for _ in range(20)]
    ann = served.as_()
    ann._transport = httpx.AsyncHTTPTransport(limits=httpx.Limits(max_connections=None))  # type: ignore[attr-defined]
    readers = [asyncio.create_task(first_two(ann, run_id)) for run_id in runs for _ in range(5)]
    await eventually(lambda: sum(len(w.streams) for w in served.api.runs.watches.values()) == 100)
    for run_id in runs:
        await lives.pause(run_id)
    told = await asyncio.gather(*readers)
    assert told == [["queued", "paused"]] * 100
    await eventually(lambda: not served.api.runs.watches)


async def first_two(client: httpx.AsyncClient, run_id: UUID) -> list[str]:
    async with streaming(client, f"/v1/runs/{run_id}/stream") as stream:
        return [event.data["status"] for event in await stream.until(lambda event: event.id == "2")]


# ── the feed ────────────────────────────────────────────────────────────────────────────────────────


async def test_the_feed_tells_the_callers_things_and_resumes(served: Served, lives: Lives) -> None:
    async with streaming(served.as_(), "/v1/feed") as feed:
        await eventually(lambda: bool(served.api.feed.followers))
        assert await eventually(lambda: first_mark(feed))
        held, interrupt = await lives.waiting()
        await lives.queued(user="somebody-else")
        await lives.queued(tenant=OTHER_TENANT)
        told = await feed.until(lambda event: event.event == "interrupt.opened")
        mark = told[-1].id
    assert {e.data["run_id"] for e in told if "run_id" in e.data} == {str(held.run.id)}
    assert told[-1].data["interrupt_id"] == str(interrupt)
    assert "message.created" in {e.event for e in told}

    await lives.resolve(interrupt)
    async with streaming(served.as_(), "/v1/feed", headers={"Last-Event-ID": mark or ""}) as feed:
        more = await feed.until(lambda event: event.event == "interrupt.closed")
    assert "interrupt.opened" not in {e.event for e in more}


async def first_mark(feed: SseReader) -> bool:
    """A feed marks its place before anything happens, so that nothing is missed by an early cut."""
    try:
        await feed.next(timeout=0.2)
    except TimeoutError:
        return feed.last_id is not None
    return True


@pytest.mark.parametrize("last", ["abc", "1", "1.2.3", "99999999999999999999.1.1", "1.1.99999999999"])
async def test_a_feed_id_that_is_malformed_or_too_old_is_a_resync(served: Served, last: str) -> None:
    async with streaming(served.as_(), "/v1/feed", headers={"Last-Event-ID": last}) as feed:
        told = await feed.next()
    assert told is not None and told.event == "resync"


async def test_ev1_a_line_committed_late_is_not_jumped_over(served: Served, lives: Lives) -> None:
    insert = (
        "INSERT INTO agent.feed (tenant_id, user_id, kind, data) "
        f"VALUES ('{TENANT}', '{USER}', 'message.created', '{{\"n\": %s}}')"
    )
    async with streaming(served.as_(), "/v1/feed") as feed:
        await eventually(lambda: first_mark(feed))
        early = await psycopg.AsyncConnection.connect(lives.database.admin)
        async with early:
            await early.execute(insert % 101)  # has its id, isn't committed
            await lives.sql(insert % 102)
            with pytest.raises(TimeoutError):
                await feed.next(timeout=1.5)
            await early.commit()
        told = [await feed.next(), await feed.next()]
    assert [event.data["n"] for event in told if event] == [101, 102]


async def test_ev1_sixteen_writers_of_one_run_leave_no_gap(served: Served, lives: Lives) -> None:
    run_id = await lives.queued()
    ann = served.as_()
    async with streaming(ann, f"/v1/runs/{run_id}/stream") as stream:
        await asyncio.gather(*(lives.append(run_id) for _ in range(16)), paused_and_resumed(ann, run_id, 3))
        log = (await ann.get(f"/v1/runs/{run_id}/events?limit=200")).json()["items"]
        shown = [e["seq"] for e in log if e["type"].startswith("run.")]
        told = await stream.until(lambda event: event.id == str(shown[-1]))
    assert [e["seq"] for e in log] == list(range(1, 24))
    assert [int(e.id or 0) for e in told] == shown

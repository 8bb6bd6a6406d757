"""Conversation state on real Postgres: nothing is lost between writers, and any instant can be read again."""

from __future__ import annotations

import asyncio
import random
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from fencepost_domain.errors import Conflict
from fencepost_domain.state import KEPT, Change, Operation
from fencepost_store.engine import make_engine
from fencepost_store.state import Written, lock_state, present_state, state_at, state_events, write_state
from fencepost_store.transaction import Store

from tests.support.lives import OTHER_TENANT, TENANT, Lives

WRITERS = 200
SET, ADD, APPEND, PUT, DELETE = (
    Operation.SET, Operation.INCREMENT, Operation.APPEND, Operation.PUT, Operation.DELETE
)  # fmt: skip


async def conversation_of(lives: Lives) -> tuple[UUID, UUID]:
    run_id = await lives.queued()
    [row] = await lives.sql("SELECT conversation_id FROM agent.runs WHERE id = %s", run_id)
    return row["conversation_id"], run_id


async def write(
    store: Store, conversation: UUID, *changes: Change, run_id: UUID | None = None
) -> list[Written]:
    async def work(tx: Any) -> list[Written]:
        head = await lock_state(tx, conversation, TENANT)
        return await write_state(tx, head, changes, source="test", run_id=run_id, trace_id="0" * 32)

    return await store.run(TENANT, work)


async def now(lives: Lives, conversation: UUID) -> dict[str, Any]:
    async with lives.api.transaction(TENANT) as tx:
        return dict((await present_state(tx, conversation)).values)


async def test_200_writers_at_once_lose_no_update(lives: Lives) -> None:
    """Each reads, adds and appends; the numbers are all there, and every old value is the one before."""
    conversation, run_id = await conversation_of(lives)
    engines = [make_engine(lives.database.dsn("gateway"), size=4, application=f"w{n}") for n in range(4)]
    stores = [Store(engine, lives.ids) for engine in engines]
    connected = asyncio.Semaphore(16)  # as many as there are connections: the others wait here, not in a pool

    async def writer(number: int) -> None:
        changes = (Change("count", ADD, 1), Change("seen", PUT, number, f"w{number}"))
        async with connected:
            await write(stores[number % 4], conversation, *changes, run_id=run_id)

    await asyncio.gather(*(writer(number) for number in range(WRITERS)))
    for store in stores:
        await store.close()

    state = await now(lives, conversation)
    assert state["count"] == WRITERS
    assert sorted(state["seen"].values()) == list(range(WRITERS))
    rows = await lives.sql(
        "SELECT seq, key, old_value, new_value FROM agent.state_events"
        " WHERE conversation_id = %s ORDER BY seq",
        conversation,
    )
    assert [row["seq"] for row in rows] == list(range(1, 2 * WRITERS + 1))
    counts = [(row["old_value"], row["new_value"]) for row in rows if row["key"] == "count"]
    assert counts == [(n or None, n + 1) for n in range(WRITERS)]
    assert await lives.violations() == []


async def test_each_operation_says_what_was_and_what_is(lives: Lives) -> None:
    conversation, _ = await conversation_of(lives)
    steps = [
        (Change("step", SET, "draft"), None, "draft"),
        (Change("step", SET, None), "draft", None),
        (Change("step", DELETE), None, None),
        (Change("n", ADD, 2), None, 2),
        (Change("n", ADD, 0.5), 2, 2.5),
        (Change("spent", SET, "10.10"), None, "10.10"),
        (Change("spent", ADD, "0.05"), "10.10", "10.15"),
        (Change("names", APPEND, "ann"), None, ["ann"]),
        (Change("names", APPEND, "bo"), ["ann"], ["ann", "bo"]),
        (Change("by_id", PUT, {"x": 1}, "a"), None, {"a": {"x": 1}}),
        (Change("by_id", PUT, None, "a"), {"a": {"x": 1}}, {}),
    ]
    for change, old, new in steps:
        [written] = await write(lives.gateway, conversation, change)
        assert (written.changed.old, written.changed.new) == (old, new), change
    async with lives.api.transaction(TENANT) as tx:
        rows = await state_events(tx, conversation, 0, 100)
        steps_only = await state_events(tx, conversation, 0, 100, key="step")
    told = [(row["existed"], row["exists"]) for row in steps_only]
    assert told == [(False, True), (True, True), (True, False)]
    assert {row["source"] for row in rows} == {"test"} and rows[0]["trace_id"] == "0" * 32
    assert await now(lives, conversation) == {
        "n": 2.5, "spent": "10.15", "names": ["ann", "bo"], "by_id": {}
    }  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        Change("Bad Key", SET, 1),
        Change("text", ADD, 1),
        Change("text", APPEND, 1),
        Change("text", PUT, 1, "a"),
        Change("by", PUT, 1, ""),
        Change("by", PUT, 1, "m" * 200),
        Change("n", ADD, "lots"),
        Change("n", ADD, True),
        Change("big", SET, "x" * 20_000),
    ],
)
async def test_a_change_that_cannot_be_made_changes_nothing(lives: Lives, change: Change) -> None:
    conversation, _ = await conversation_of(lives)
    await write(lives.gateway, conversation, Change("text", SET, "words"))
    with pytest.raises(Conflict) as refused:
        await write(lives.gateway, conversation, Change("other", SET, 1), change)
    assert refused.value.code == "state_refused"
    assert await now(lives, conversation) == {"text": "words"}


async def test_a_list_keeps_its_newest_and_the_log_keeps_all(lives: Lives) -> None:
    conversation, _ = await conversation_of(lives)
    await write(lives.gateway, conversation, *(Change("l", APPEND, n) for n in range(KEPT + 5)))
    assert (await now(lives, conversation))["l"] == list(range(5, KEPT + 5))
    async with lives.api.transaction(TENANT) as tx:
        assert len(await state_events(tx, conversation, 0, 500)) == KEPT + 5


async def test_any_instant_is_read_as_it_was(lives: Lives) -> None:
    """1,300 random changes; every recorded instant, and one between, is what a fold of the events says."""
    conversation, _ = await conversation_of(lives)
    chance = random.Random(8)
    keys = [f"k{n}" for n in range(12)]
    for _ in range(130):
        some = [
            Change(key, DELETE) if chance.random() < 0.15 else Change(key, SET, chance.randint(0, 9))
            for key in chance.choices(keys, k=10)
        ]
        await write(lives.gateway, conversation, *some)
    events = await lives.sql(
        "SELECT seq, key, new_value, new_value IS NOT NULL AS exists, at FROM agent.state_events"
        " WHERE conversation_id = %s ORDER BY seq",
        conversation,
    )
    [kept] = await lives.sql(
        "SELECT count(*) AS n FROM agent.state_snapshots WHERE conversation_id = %s", conversation
    )
    assert kept["n"] == 2  # one each 500 changes
    for place in [0, 1, *chance.sample(range(len(events)), 40), len(events) - 1]:
        instant = events[place]["at"]
        folded: dict[str, Any] = {}
        for event in events:
            if event["at"] > instant:
                break
            if event["exists"]:
                folded[event["key"]] = event["new_value"]
            else:
                folded.pop(event["key"], None)
        async with lives.api.transaction(TENANT) as tx:
            found = await state_at(tx, conversation, instant)
            before = await state_at(tx, conversation, instant - timedelta(microseconds=1))
        assert dict(found.values) == folded
        assert before.seq < found.seq and found.seq - found.snapshot_seq <= 500
    async with lives.api.transaction(TENANT) as tx:
        assert dict((await state_at(tx, conversation, events[0]["at"] - timedelta(days=1))).values) == {}
        last = await state_at(tx, conversation, events[-1]["at"])
    assert dict(last.values) == await now(lives, conversation)
    assert await lives.violations() == []


async def test_a_slow_conversation_is_kept_more_often(lives: Lives) -> None:
    """Five changes in over an hour are kept; five in a moment aren't."""
    slow, _ = await conversation_of(lives)
    quick, _ = await conversation_of(lives)
    for conversation in (slow, quick):
        await write(lives.gateway, conversation, Change("n", SET, 0))
        if conversation == slow:
            await lives.age("agent.state_heads", "snapshot_at", "conversation_id = %s", slow, by="2 hours")
        for number in range(4):
            await write(lives.gateway, conversation, Change("n", SET, number))
    rows = await lives.sql("SELECT conversation_id, seq, body FROM agent.state_snapshots")
    assert [(row["conversation_id"], row["seq"], row["body"]) for row in rows] == [(slow, 5, {"n": 3})]


async def test_a_clock_that_goes_back_keeps_the_order(lives: Lives) -> None:
    """The head remembers the last instant: a later change is never recorded before an earlier one."""
    conversation, _ = await conversation_of(lives)
    await write(lives.gateway, conversation, Change("n", SET, 1))
    await lives.age("agent.state_heads", "at", "conversation_id = %s", conversation, by="-1 hour")
    await write(lives.gateway, conversation, Change("n", SET, 2))
    await write(lives.gateway, conversation, Change("n", SET, 3))
    rows = await lives.sql("SELECT at FROM agent.state_events ORDER BY seq")
    assert rows[0]["at"] < rows[1]["at"] <= rows[2]["at"]


async def test_i27_state_is_the_tenants_own(lives: Lives) -> None:
    """Neither the head, nor events, nor an instant of another tenant's conversation is seen."""
    conversation, _ = await conversation_of(lives)
    await write(lives.gateway, conversation, Change("n", SET, 1))
    async with lives.api.transaction(OTHER_TENANT) as tx:
        assert dict((await present_state(tx, conversation)).values) == {}
        assert await state_events(tx, conversation, 0, 10) == []
        [instant] = await lives.sql("SELECT clock_timestamp() AS now")
        assert dict((await state_at(tx, conversation, instant["now"])).values) == {}


@pytest.mark.parametrize("table", ["state_events", "state_snapshots"])
async def test_history_is_append_only(lives: Lives, table: str) -> None:
    conversation, _ = await conversation_of(lives)
    await write(lives.gateway, conversation, *(Change("n", SET, n) for n in range(501)))
    for change in (f"UPDATE agent.{table} SET at = now()", f"DELETE FROM agent.{table}"):
        with pytest.raises(psycopg.Error):
            await lives.sql(change)

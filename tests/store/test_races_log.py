"""Appends, creations and hints under concurrency (cases EV-4, I01, I02)."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import pytest
from fencepost_domain.decision import Decision, NewEvent
from fencepost_domain.errors import FencepostError
from fencepost_domain.vocabulary import Ev
from fencepost_store.engine import make_engine
from fencepost_store.record import record
from fencepost_store.runs import create_run, lock_run
from fencepost_store.transaction import Store

from tests.support.lives import TENANT, Lives
from tests.support.races import LOCK_RUN, holding
from tests.support.wakes import new_run
from tests.support.worker_runs import TENANT as OF_RUNS
from tests.support.worker_runs import opened_runs

WRITERS = 16


async def appends_from_everywhere_make_one_chain(lives: Lives) -> None:
    """EV-4: 16 appends at once by api, worker and gateway, all behind the same row; 1 to 17 without a gap."""
    run_id = await lives.queued()
    stores = {
        name: Store(make_engine(lives.database.dsn(name), size=6), lives.ids)
        for name in ("api", "worker", "gateway")
    }

    async def append(number: int) -> int:
        async with list(stores.values())[number % len(stores)].transaction(TENANT) as tx:
            locked = await lock_run(tx, run_id)
            event = NewEvent(tx.ids.uuid7(), Ev.TOOL_REFUSED, {"number": number}, "test")
            return (await record(tx, locked.run, Decision(None, events=(event,)))).event_seq

    try:
        async with holding(lives.database, LOCK_RUN, run_id) as row:
            writers = await row.stop_all([append(number) for number in range(WRITERS)])
        numbers = await asyncio.gather(*writers, return_exceptions=True)
    finally:
        for store in stores.values():
            await store.close()
    assert [number for number in numbers if isinstance(number, BaseException)] == []
    assert sorted(numbers) == list(range(2, WRITERS + 2))  # type: ignore[type-var]
    parents = await lives.sql("SELECT DISTINCT prev_hash FROM agent.run_events WHERE run_id = %s", run_id)
    assert len(parents) == WRITERS + 1, "each parent was used once"
    assert await lives.violations() == []


async def test_ev_4_appends_from_everywhere_make_one_chain(lives: Lives) -> None:
    await appends_from_everywhere_make_one_chain(lives)


async def twins_get_the_same_run(lives: Lives) -> None:
    """I02: six creations at once under one key."""
    key, conversation = str(uuid4()), lives.ids.uuid7()

    async def create() -> object:
        return await lives.queued(key=key, conversation_id=conversation)

    made = await asyncio.gather(*(create() for _ in range(6)), return_exceptions=True)
    assert [one for one in made if isinstance(one, FencepostError)] == []
    assert len(set(made)) == 1
    assert len(await lives.sql("SELECT 1 AS one FROM agent.runs")) == 1
    assert await lives.violations() == []


async def test_i02_twins_get_the_same_run(lives: Lives) -> None:
    await twins_get_the_same_run(lives)


async def test_i01_runs_that_begin_one_conversation_at_once_are_all_made(lives: Lives) -> None:
    """Each but the first waits for the conversation another makes, and for its place behind the others."""
    conversation = lives.ids.uuid7()
    made = await asyncio.gather(*(lives.queued(conversation_id=conversation) for _ in range(6)))
    said = await lives.sql("SELECT run_id, seq FROM agent.messages ORDER BY seq")
    assert [one["seq"] for one in said] == [1, 2, 3, 4, 5, 6]
    assert {one["run_id"] for one in said} == set(made)
    assert await lives.violations() == []


class Crash(BaseException):
    """The process is gone."""


async def a_run_and_its_hint_stand_or_fall_together(lives: Lives) -> None:
    """I01: the process dies just after the commit of the creation, and just before another's."""
    async with opened_runs(lives.database) as runs:
        await runs.queued(module="life")
        with pytest.raises(Crash):
            async with lives.api.transaction(OF_RUNS) as tx:
                await create_run(tx, new_run(runs, "life"))
                raise Crash
    assert await lives.violations() == []
    assert len(await lives.sql("SELECT 1 AS one FROM agent.runs")) == 1
    assert len(await lives.sql("SELECT 1 AS one FROM agent.outbox")) == 1


async def test_i01_a_run_and_its_hint_stand_or_fall_together(lives: Lives) -> None:
    await a_run_and_its_hint_stand_or_fall_together(lives)


async def work_that_becomes_due_is_told(lives: Lives) -> None:
    """02 §3: whatever queues a run writes its hint in the same transaction."""
    _, interrupt_id = await lives.waiting()
    await lives.sql("UPDATE agent.outbox SET created_at = created_at - interval '1 hour'")
    await lives.resolve(interrupt_id)
    assert await lives.violations() == []


async def test_i08_work_that_becomes_due_is_told(lives: Lives) -> None:
    await work_that_becomes_due_is_told(lives)

"""EV-3: a message counts as received in the transaction of its effect, so it takes effect once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from uuid import UUID, uuid4

import pytest
from fencepost_domain.errors import Unavailable
from fencepost_runtime.system import SystemIds
from fencepost_store.engine import make_engine
from fencepost_store.inbox import keep_poison, receive_once
from fencepost_store.runs import create_run
from fencepost_store.transaction import Store

from tests.conformance.wake_proxy import Line, address_of, line_to, through
from tests.support.postgres import Database
from tests.support.wakes import new_run
from tests.support.worker_runs import TENANT, Runs, opened_runs

CONSUMER = "tasks"


class Crash(BaseException):
    """The process is gone: nothing after it runs."""


@pytest.fixture
async def runs(database: Database) -> AsyncIterator[Runs]:
    async with opened_runs(database) as opened:
        yield opened


async def take_effect(store: Store, runs: Runs, event_id: UUID, *, crash: bool = False) -> bool:
    """A consumer whose effect is a new run. Says whether it acted."""
    async with store.transaction(TENANT) as tx:
        if not await receive_once(tx, consumer=CONSUMER, event_id=event_id):
            return False
        await create_run(tx, new_run(runs, "life"))
        if crash:
            raise Crash
        return True


async def effects(runs: Runs) -> int:
    [(count,)] = await runs.fetch("SELECT count(*) FROM agent.runs")
    return int(count)


async def test_ev_3_a_crash_after_the_inbox_row_leaves_the_message_to_be_taken_again(runs: Runs) -> None:
    event_id = uuid4()
    with pytest.raises(Crash):
        await take_effect(runs.api, runs, event_id, crash=True)
    assert await effects(runs) == 0

    assert await take_effect(runs.api, runs, event_id)
    assert not await take_effect(runs.api, runs, event_id)
    assert await effects(runs) == 1


async def test_ev_3_concurrent_twins_take_effect_once(runs: Runs) -> None:
    event_id = uuid4()
    acted = await asyncio.gather(*(take_effect(runs.api, runs, event_id) for _ in range(4)))
    assert sorted(acted) == [False, False, False, True]
    assert await effects(runs) == 1


async def test_ev_3_messages_that_come_while_the_database_is_down_take_effect_once(
    runs: Runs, database: Database
) -> None:
    """Each is tried until its transaction commits; only then would its offset be committed."""
    async with line_to(*address_of(database.admin)) as line:
        store = Store(make_engine(through(database.dsn("api"), line), size=2), SystemIds())
        line.set("refuse")
        events = [uuid4() for _ in range(3)]
        consumer = asyncio.create_task(_consume(store, runs, [*events, *events], line))
        await asyncio.wait([consumer], timeout=0.5)
        assert not consumer.done()
        assert await effects(runs) == 0

        line.set("open")
        await consumer
        assert await effects(runs) == len(events)
        await store.close()


async def _consume(store: Store, runs: Runs, events: list[UUID], line: Line) -> None:
    for event_id in events:
        while True:
            with suppress(Unavailable):
                await take_effect(store, runs, event_id)
                break
            await asyncio.sleep(0.02)


async def test_another_consumer_has_an_inbox_of_its_own(runs: Runs) -> None:
    event_id = uuid4()
    async with runs.worker.transaction() as tx:
        assert await receive_once(tx, consumer="tasks", event_id=event_id)
        assert await receive_once(tx, consumer="external", event_id=event_id)
        assert not await receive_once(tx, consumer="tasks", event_id=event_id)


@pytest.mark.parametrize("place", [(0, 7), (None, None)])
async def test_a_poison_record_is_kept_once(runs: Runs, place: tuple[int | None, int | None]) -> None:
    partition, offset = place
    record = {"topic": "fencepost.wakeup.life", "partition": partition, "offset": offset, "reason": "no JSON"}
    for first in (True, False):
        async with runs.worker.transaction() as tx:
            assert await keep_poison(tx, **record, value=b"\xff\xfe\x00") is first  # type: ignore[arg-type]
    async with runs.worker.transaction() as tx:
        assert await keep_poison(tx, **{**record, "offset": 8 if offset else None}, value=None)  # type: ignore[arg-type]
    rows = await runs.fetch("SELECT reason, bytes FROM agent.poison_records ORDER BY id")
    assert rows == [("no JSON", b"\xff\xfe\x00"), ("no JSON", b"")]

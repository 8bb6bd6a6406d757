"""The group writer: one statement for many runs, each under its own fence, and what a lost answer means."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from fencepost_domain.errors import FenceLost, Unavailable
from fencepost_domain.fence import Fence
from fencepost_store.checkpoints import GroupConnection, NewCheckpoint, NewWrite, RunWrites
from fencepost_worker.engine.langgraph.saver import FencedSaver
from fencepost_worker.engine.langgraph.writer import GroupWriter
from langgraph.checkpoint.conformance.test_utils import (
    generate_checkpoint,
    generate_config,
    generate_metadata,
)

from tests.support.eventually import eventually
from tests.support.postgres import Database
from tests.support.worker_runs import Runs, opened_runs, writing

BLOCKED = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"


@pytest.fixture
async def runs(database: Database) -> AsyncIterator[Runs]:
    async with opened_runs(database, lease=timedelta(seconds=30)) as opened:
        yield opened


def checkpoint(name: str, metadata: str = "{}") -> NewCheckpoint:
    return NewCheckpoint("", name, None, "msgpack", b"\x80", metadata)


async def stored(runs: Runs, run_id: UUID) -> list[str]:
    rows = await runs.fetch(
        "SELECT checkpoint_id FROM langgraph.checkpoints WHERE run_id = %s ORDER BY 1", run_id
    )
    return [name for (name,) in rows]


async def take_over(runs: Runs, run_id: UUID) -> None:
    """End the lease and give the run to another owner, as sweep and claim would."""
    await runs.run("UPDATE agent.runs SET lease_expires_at = clock_timestamp() WHERE id = %s", run_id)
    await runs.run(
        "UPDATE agent.runs SET status = 'queued', revision = revision + 1, lease_owner = NULL,"
        " lease_expires_at = NULL, claim_nonce = NULL WHERE id = %s",
        run_id,
    )
    await runs.claim(run_id, owner="slot-other:boot-2")


async def test_many_runs_are_one_statement(runs: Runs, database: Database) -> None:
    claims = [await runs.claimed(uuid4()) for _ in range(6)]
    async with writing(database) as writer, asyncio.TaskGroup() as group:
        for one in claims:
            group.create_task(writer.write(RunWrites(one.fence, checkpoint("c1"))))
    assert writer.stats.items == 6
    assert writer.stats.statements < 6
    for one in claims:
        assert await stored(runs, one.run.id) == ["c1"]
    progress = await runs.fetch("SELECT progress FROM agent.runs")
    assert [p for (p,) in progress] == [1] * 6


async def test_i05_a_lost_fence_refuses_its_own_run_only(runs: Runs, database: Database) -> None:
    lost, kept = await runs.claimed(uuid4()), await runs.claimed(uuid4())
    await take_over(runs, lost.run.id)
    writes = (NewWrite("", "c1", "task", 0, "channel", "", "msgpack", b"\x01"),)
    async with writing(database) as writer:
        results = await asyncio.gather(
            writer.write(RunWrites(lost.fence, checkpoint("c1"), writes)),
            writer.write(RunWrites(kept.fence, checkpoint("c1"))),
            return_exceptions=True,
        )
    assert isinstance(results[0], FenceLost)
    assert results[1] is None
    assert await stored(runs, lost.run.id) == []
    assert await runs.fetch("SELECT 1 FROM langgraph.writes") == []
    assert await stored(runs, kept.run.id) == ["c1"]


@pytest.mark.parametrize("wrong", ["owner", "revision", "lease"])
async def test_i05_every_part_of_the_fence_counts(runs: Runs, database: Database, wrong: str) -> None:
    one = await runs.claimed(uuid4())
    fence = one.fence
    if wrong == "owner":
        fence = Fence(fence.run_id, "slot-test:boot-0", fence.revision)
    elif wrong == "revision":
        fence = Fence(fence.run_id, fence.owner, fence.revision + 1)
    else:
        await runs.run("UPDATE agent.runs SET lease_expires_at = clock_timestamp()")
    async with writing(database) as writer:
        with pytest.raises(FenceLost):
            await writer.write(RunWrites(fence, checkpoint("c1")))
    assert await stored(runs, one.run.id) == []


async def test_i07_a_write_behind_a_take_over_is_refused(runs: Runs, database: Database) -> None:
    """The row is held by the take-over; the write is busy, waits, and is refused when that commits."""
    one, other = await runs.claimed(uuid4()), await runs.claimed(uuid4())
    async with (
        writing(database) as writer,
        await psycopg.AsyncConnection.connect(database.admin) as rival,
    ):
        await rival.execute("SELECT 1 FROM agent.runs WHERE id = %s FOR NO KEY UPDATE", (one.run.id,))
        waiting = asyncio.ensure_future(writer.write(RunWrites(one.fence, checkpoint("c1"))))
        await eventually(lambda: writer.stats.busy >= 1)
        await rival.execute(
            "UPDATE agent.runs SET status = 'queued', revision = revision + 1, lease_owner = NULL,"
            " lease_expires_at = NULL, claim_nonce = NULL WHERE id = %s",
            (one.run.id,),
        )
        await rival.commit()
        with pytest.raises(FenceLost):
            await waiting
        await writer.write(RunWrites(other.fence, checkpoint("c1")))  # the others go on
    assert await stored(runs, one.run.id) == []
    assert await stored(runs, other.run.id) == ["c1"]


async def test_i07_a_write_that_has_the_row_first_makes_the_take_over_wait(
    runs: Runs, database: Database
) -> None:
    one = await runs.claimed(uuid4())
    async with await psycopg.AsyncConnection.connect(database.dsn("worker")) as first:
        await first.execute("SELECT 1 FROM agent.runs WHERE id = %s FOR NO KEY UPDATE", (one.run.id,))
        await first.execute(
            "INSERT INTO langgraph.checkpoints"
            " (run_id, thread_id, checkpoint_id, tenant_id, revision, serde, body)"
            " VALUES (%(id)s, %(id)s, 'c1', %(tenant)s, 1, 'msgpack', '')",
            {"id": one.run.id, "tenant": one.run.tenant_id},
        )
        taking = asyncio.ensure_future(take_over(runs, one.run.id))
        blocked = f"{BLOCKED} AND query LIKE 'UPDATE agent.runs%%'"
        await eventually(lambda: runs.fetch(blocked))
        assert not taking.done()
        await first.commit()
        await taking
    assert await stored(runs, one.run.id) == ["c1"]


async def test_a_busy_run_is_sent_by_itself_the_third_time_and_waits(runs: Runs, database: Database) -> None:
    one = await runs.claimed(uuid4())
    async with (
        writing(database) as writer,
        await psycopg.AsyncConnection.connect(database.admin) as rival,
    ):
        await rival.execute("SELECT 1 FROM agent.runs WHERE id = %s FOR NO KEY UPDATE", (one.run.id,))
        waiting = asyncio.ensure_future(writer.write(RunWrites(one.fence, checkpoint("c1"))))
        blocked = f"{BLOCKED} AND application_name = 'fencepost-writer'"
        await eventually(lambda: runs.fetch(blocked))
        await rival.rollback()
        await waiting
    assert writer.stats.busy >= 2
    assert await stored(runs, one.run.id) == ["c1"]


async def test_bad_data_of_one_run_does_not_hold_back_the_others(runs: Runs, database: Database) -> None:
    bad, good = await runs.claimed(uuid4()), await runs.claimed(uuid4())
    async with writing(database) as writer:
        results = await asyncio.gather(
            writer.write(RunWrites(bad.fence, checkpoint("c1", "{not json"))),
            writer.write(RunWrites(good.fence, checkpoint("c1"))),
            return_exceptions=True,
        )
    assert results[0] is not None
    assert results[1] is None
    assert await stored(runs, good.run.id) == ["c1"]


class ForgetfulConnection(GroupConnection):
    """Commits, and loses the answer: `times` times."""

    times = 1

    async def write(self, group: Sequence[RunWrites], *, wait: bool = False) -> Any:
        answers = await super().write(group, wait=wait)
        if self.times:
            self.times -= 1
            await self.drop()
            raise Unavailable("the answer was lost")
        return answers


async def test_a_lost_answer_is_asked_for_and_found(runs: Runs, database: Database) -> None:
    one = await runs.claimed(uuid4())
    writer = GroupWriter(ForgetfulConnection(database.dsn("worker")))
    task = asyncio.ensure_future(writer.run())
    await writer.write(RunWrites(one.fence, checkpoint("c1")))
    task.cancel()
    assert await stored(runs, one.run.id) == ["c1"]
    assert await runs.fetch("SELECT progress FROM agent.runs") == [(1,)]


async def test_a_lost_answer_is_found_even_when_the_run_was_taken_meanwhile(
    runs: Runs, database: Database
) -> None:
    """It was written while the fence held: it is part of the history taken over, not a refusal."""
    one = await runs.claimed(uuid4())
    connection = GroupConnection(database.dsn("worker"))
    rows = RunWrites(one.fence, checkpoint("c1"))
    assert await connection.write([rows]) == {one.run.id: "written"}
    await take_over(runs, one.run.id)
    assert await connection.write([rows]) == {one.run.id: "written"}
    assert await connection.write([RunWrites(one.fence, checkpoint("c2"))]) == {one.run.id: "lost"}
    await connection.drop()


async def test_a_broken_connection_is_replaced_and_nothing_is_written_twice(
    runs: Runs, database: Database
) -> None:
    one = await runs.claimed(uuid4())
    async with writing(database) as writer:
        await writer.write(RunWrites(one.fence, checkpoint("c1")))
        await runs.fetch(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'fencepost-writer'"
        )
        await writer.write(RunWrites(one.fence, checkpoint("c2")))
    assert await stored(runs, one.run.id) == ["c1", "c2"]


async def test_ordinary_writes_are_dropped_with_their_checkpoint_and_kept_for_slow_siblings(
    runs: Runs, database: Database
) -> None:
    one = await runs.claimed(uuid4())
    async with writing(database) as writer:
        saver = FencedSaver(runs.worker, writer)
        saver.open_run(one.fence, fresh=True)
        config = generate_config(str(one.run.id))
        first = await saver.aput(config, generate_checkpoint(), generate_metadata(), {})
        await saver.aput_writes(first, [("ch", 1)], "task-1")
        second = await saver.aput(first, generate_checkpoint(), generate_metadata(), {})
        assert await runs.fetch("SELECT 1 FROM langgraph.writes") == []
        await saver.aput_writes(second, [("ch", 2)], "task-2")  # its sibling is slow
        await eventually(lambda: runs.fetch("SELECT 1 FROM langgraph.writes WHERE task_id = 'task-2'"))


async def test_i04_one_lease_a_run_and_a_revision_that_only_rises_with_the_status(runs: Runs) -> None:
    one = await runs.claimed(uuid4())
    assert await runs.fetch("SELECT revision, lease_owner FROM agent.runs") == [(1, runs.owner)]
    with pytest.raises(LookupError):
        await runs.claim(one.run.id, owner="slot-other:boot-2")
    for wrong in (
        "revision = revision + 1",
        "status = 'queued'",
        "status = 'queued', revision = revision + 2",
    ):
        with pytest.raises(psycopg.Error):
            await runs.run(f"UPDATE agent.runs SET {wrong}")
    await take_over(runs, one.run.id)
    assert await runs.fetch("SELECT revision, lease_owner FROM agent.runs") == [(3, "slot-other:boot-2")]

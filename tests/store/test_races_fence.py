"""A write with a lost fence changes nothing, and a write that was first is part of the history (I05, I07).

The same fence is judged in Python on the locked row and stands once more, whole, in the SQL of the write.
Each part of it is shown here against the SQL alone: the decision was right when it was made, and is recorded
after the fence was lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from fencepost_domain.decision import Decision, NewEvent
from fencepost_domain.errors import FenceLost
from fencepost_domain.fence import FenceKind
from fencepost_domain.run import check_fence
from fencepost_domain.vocabulary import Ev
from fencepost_reconciler.loops.expire_leases import settle as expire_lease
from fencepost_store import model_calls
from fencepost_store.checkpoints import GroupConnection, NewCheckpoint, RunWrites
from fencepost_store.claims import Claim
from fencepost_store.record import record
from fencepost_store.runs import lock_run, lock_run_if_free
from fencepost_store.sweeps import Candidate

from tests.support.lives import LEASE, OWNER, RIVAL, Lives
from tests.support.races import holder_of, holding

LOCK_BUDGET = "SELECT FROM agent.budgets WHERE root_run_id = %s FOR NO KEY UPDATE"


async def take_over(lives: Lives, held: Claim) -> bool:
    """The sweep's step as it does it: SKIP LOCKED, judged on the locked row. Says whether it took the run."""
    async with lives.reconciler.transaction() as tx:
        locked = await lock_run_if_free(tx, held.run.id)
        if locked is None:
            return False
        return await expire_lease(tx, locked, Candidate(held.run.id, held.run.id)) is not None


async def past(lives: Lives, held: Claim) -> None:
    await lives.age("agent.runs", "lease_expires_at", "id = %s", held.run.id)


# ── how a fence is lost: each leaves exactly one part of it wrong; returns the fence that still stands ──────


async def _status(lives: Lives, held: Claim) -> Claim:
    """Cancelled: owner and lease are kept, and the owner was told the new revision, to drain under."""
    await lives.cancel(held.run.id)
    return replace(held, run=replace(held.run, revision=held.run.revision + 1))


async def _owner(lives: Lives, held: Claim) -> Claim:
    """Somebody else's run, under a revision that is right."""
    return replace(held, run=replace(held.run, lease_owner=RIVAL))


async def _revision(lives: Lives, held: Claim) -> Claim:
    """Taken from this worker and claimed by the same one again: another task of it is at work."""
    await past(lives, held)
    assert await take_over(lives, held)
    assert len(await lives.claim(owner=OWNER, lease=LEASE)) == 1
    return held


async def _expiry(lives: Lives, held: Claim) -> Claim:
    await past(lives, held)
    return held


LOSSES: Mapping[str, Callable[[Lives, Claim], Awaitable[Claim]]] = {
    "status": _status,
    "owner": _owner,
    "revision": _revision,
    "expiry": _expiry,
}


async def everything(lives: Lives) -> list[dict[str, Any]]:
    """What a refused write must leave as it was."""
    return await lives.sql(
        "SELECT to_jsonb(r) AS row FROM agent.runs r UNION ALL SELECT to_jsonb(e) FROM agent.run_events e"
        " UNION ALL SELECT to_jsonb(c) FROM langgraph.checkpoints c UNION ALL"
        " SELECT to_jsonb(m) FROM agent.model_calls m UNION ALL"
        " SELECT to_jsonb(a) FROM agent.effect_attempts a ORDER BY 1"
    )


async def record_refuses_a_lost_fence(lives: Lives, part: str) -> None:
    lost = await LOSSES[part](lives, await lives.claimed())
    before = await everything(lives)
    event = NewEvent(lives.ids.uuid7(), Ev.NODE_FAILED, {"node": "x"}, "worker:zombie")
    decision = Decision(None, events=(event,), fence=lost.fence, fence_kind=FenceKind.RECORD)
    with pytest.raises(FenceLost):
        async with lives.worker.transaction() as tx:
            await record(tx, lost.run, decision)
    assert await everything(lives) == before


async def group_writer_refuses_a_lost_fence(lives: Lives, part: str) -> None:
    lost = await LOSSES[part](lives, await lives.claimed())
    before = await everything(lives)
    new = NewCheckpoint("", "1f0-zombie", None, "msgpack", b"late", "{}")
    connection = GroupConnection(lives.database.dsn("worker"))
    try:
        answers = await connection.write([RunWrites(lost.fence, new)])
    finally:
        await connection.drop()
    assert answers == {lost.run.id: "lost"}
    assert await everything(lives) == before


@pytest.mark.parametrize("part", LOSSES)
async def test_i05_record_refuses_a_lost_fence(lives: Lives, part: str) -> None:
    await record_refuses_a_lost_fence(lives, part)


@pytest.mark.parametrize("part", LOSSES)
async def test_i05_the_group_writer_refuses_a_lost_fence(lives: Lives, part: str) -> None:
    await group_writer_refuses_a_lost_fence(lives, part)


@pytest.mark.parametrize("part", LOSSES)
async def test_i05_the_domain_refuses_a_lost_fence(lives: Lives, part: str) -> None:
    lost = await LOSSES[part](lives, await lives.claimed())
    async with lives.worker.transaction() as tx:
        locked = await lock_run(tx, lost.run.id)
        with pytest.raises(FenceLost):
            check_fence(locked.run, lost.fence, FenceKind.RECORD, locked.now)


# ── two transactions, both orders ───────────────────────────────────────────────────────────────────────


def a_call(lives: Lives) -> model_calls.NewCall:
    return model_calls.NewCall(
        lives.ids.uuid7(), "call", "planner", "offline", "offline", "0" * 64, timedelta(minutes=1), 10
    )


async def open_call(lives: Lives, held: Claim) -> model_calls.Opened:
    """A model call is a start: fenced, and written before it is sent."""
    async with lives.worker.transaction() as tx:
        return await model_calls.open_call(tx, held.fence, a_call(lives))


async def test_i07_a_write_that_took_the_row_first_makes_the_take_over_wait(lives: Lives) -> None:
    """The worker passed its fence and is stopped before its write; its lease passes; the sweep comes."""
    held = await lives.claimed()
    async with holding(lives.database, LOCK_BUDGET, held.run.id) as budget:
        opening = await budget.stops(open_call(lives, held))
        # The superuser can't age the row (the worker holds it), and needn't: a sweep that got the row would
        # answer, whatever it then decides.
        async with lives.reconciler.transaction() as tx:
            assert await lock_run_if_free(tx, held.run.id) is None, (
                "the run was free in the middle of a write"
            )
    assert (await opening).attempt == 1
    await past(lives, held)
    assert await take_over(lives, held)


async def test_i07_a_write_that_takes_the_row_after_the_take_over_is_refused(lives: Lives) -> None:
    held = await lives.lost()
    async with lives.reconciler.transaction() as tx:
        locked = await lock_run(tx, held.run.id)
        assert await expire_lease(tx, locked, Candidate(held.run.id, held.run.id)) == "expired"
        opening = await (await holder_of(tx, lives.database)).stops(open_call(lives, held))
    with pytest.raises(FenceLost):
        await opening
    assert await lives.sql("SELECT 1 AS one FROM agent.model_calls") == []


async def test_i07_a_finalization_that_waits_behind_the_take_over_is_refused(lives: Lives) -> None:
    held = await lives.lost()
    async with lives.reconciler.transaction() as tx:
        locked = await lock_run(tx, held.run.id)
        await expire_lease(tx, locked, Candidate(held.run.id, held.run.id))
        ending = await (await holder_of(tx, lives.database)).stops(lives.finalize(held))
    with pytest.raises(FenceLost):
        await ending
    assert await lives.status(held.run.id) == "queued"
    assert await lives.violations() == []


async def test_a_lease_that_passes_during_the_lock_wait_is_judged_after_it(lives: Lives) -> None:
    """The fence is compared above the lock: what was true before the wait isn't asked."""
    held = await lives.claimed(lease=timedelta(milliseconds=300))
    async with holding(
        lives.database, "SELECT FROM agent.runs WHERE id = %s FOR NO KEY UPDATE", held.run.id
    ) as row:
        ending = await row.stops(lives.finalize(held))
        await lives.sql("SELECT pg_sleep(0.35)")  # the database's own clock has to pass the lease
    with pytest.raises(FenceLost):
        await ending


async def test_a_zombie_and_its_successor_that_write_together_leave_one_history(lives: Lives) -> None:
    zombie = await lives.lost()
    assert await take_over(lives, zombie)
    [owner] = await lives.claim(owner=RIVAL)
    async with holding(
        lives.database, "SELECT FROM agent.runs WHERE id = %s FOR NO KEY UPDATE", zombie.run.id
    ) as row:
        both = await row.stop_all([lives.finalize(zombie), lives.finalize(owner)])
    late, ended = await asyncio.gather(*both, return_exceptions=True)
    assert isinstance(late, FenceLost)
    assert not isinstance(ended, BaseException)
    assert (await lives.event_types(zombie.run.id)).count("run.finalized") == 1
    assert await lives.violations() == []

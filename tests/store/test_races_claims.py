"""Claims against each other, against the sweep and inside a conversation (I04, I08, design 02 §2, §9)."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from fencepost_domain.errors import FenceLost
from fencepost_domain.lease import owner_of
from fencepost_reconciler.loops.expire_leases import settle as expire_lease
from fencepost_store.claims import heartbeat, register_worker
from fencepost_store.runs import lock_run
from fencepost_store.sweeps import Candidate

from tests.support.lives import OWNER, RIVAL, TENANT, Lives
from tests.support.races import holding


async def expire(lives: Lives, run_id: object) -> str | None:
    """The reconciler's step for one run, from its lock on."""
    async with lives.reconciler.transaction() as tx:
        locked = await lock_run(tx, run_id)  # type: ignore[arg-type]
        return await expire_lease(tx, locked, Candidate(locked.run.id, locked.run.id))


async def test_i04_sixteen_claims_at_once_give_a_run_to_one(lives: Lives) -> None:
    runs = {await lives.queued() for _ in range(4)}
    claims = await asyncio.gather(
        *(lives.claim(owner=owner_of(f"slot-{number}", "boot"), limit=4) for number in range(16))
    )
    claimed = [one.run.id for each in claims for one in each]
    assert sorted(claimed) == sorted(runs)
    assert await lives.violations() == []


async def test_a_claim_passes_over_a_run_that_another_writes(lives: Lives) -> None:
    run_id, other = await lives.queued(), await lives.queued()
    async with holding(lives.database, "SELECT FROM agent.runs WHERE id = %s FOR NO KEY UPDATE", run_id):
        assert [one.run.id for one in await lives.claim()] == [other]
    assert [one.run.id for one in await lives.claim(owner=RIVAL)] == [run_id]


async def test_a_claim_that_waits_for_the_conversation_does_not_take_it_from_its_holder(lives: Lives) -> None:
    """Two runs of one conversation, two workers: the second sees the first's hold and claims nothing."""
    conversation = lives.ids.uuid7()
    await lives.queued(conversation_id=conversation)
    async with lives.worker.transaction() as tx:
        await tx.connection.exec_driver_sql("SELECT 1")
        first = await lives.claim()
        await lives.queued(conversation_id=conversation)
        assert len(first) == 1
        assert await lives.claim(owner=RIVAL) == []


async def test_i08_a_run_that_comes_back_to_its_conversation_waits_for_the_holder_only(lives: Lives) -> None:
    """The older one waits for a person, the newer takes the conversation and loses its lease; then the person
    answers. The newer still holds the conversation, so it must be claimable before the older one."""
    conversation = lives.ids.uuid7()
    older, interrupt_id = await lives.waiting(conversation_id=conversation)
    newer = await lives.claimed(conversation_id=conversation)
    await lives.age("agent.runs", "lease_expires_at", "id = %s", newer.run.id)
    assert await expire(lives, newer.run.id) == "expired"
    await lives.resolve(interrupt_id)

    claims = await lives.claim()
    assert [one.run.id for one in claims] == [newer.run.id]
    await lives.finalize(claims[0])
    assert [one.run.id for one in await lives.claim()] == [older.run.id]
    assert await lives.violations() == []


async def test_a_heartbeat_that_races_the_sweep_renews_or_hears_that_it_is_taken(lives: Lives) -> None:
    held = await lives.lost()

    async def beat() -> list[str]:
        async with lives.worker.transaction() as tx:
            named = {held.run.id: held.run.revision}
            answers = await heartbeat(tx, owner=OWNER, held=named, lease=timedelta(seconds=30))
            return [one.answer for one in answers]

    async with holding(lives.database, "SELECT FROM agent.runs WHERE id = %s FOR NO KEY UPDATE", held.run.id):
        assert await beat() == ["skipped"]
    assert await beat() == ["held"]
    assert await expire(lives, held.run.id) is None
    await lives.age("agent.runs", "lease_expires_at", "id = %s", held.run.id)
    assert await expire(lives, held.run.id) == "expired"
    assert await beat() == ["taken"]


async def test_i04_a_restarted_slot_ends_only_its_own_older_leases(lives: Lives) -> None:
    """slot-1 must not free what slot-10 or slot-1:x of another name holds."""
    owners = [owner_of("slot-1", "boot-1"), owner_of("slot-10", "boot-1"), owner_of("slot-1", "boot-2")]
    held = [await lives.claimed(owner=owner) for owner in owners]
    async with lives.worker.transaction() as tx:
        ended = await register_worker(
            tx, slot="slot-1", boot_id="boot-2", modules=["life"], versions=[], alive_for=timedelta(seconds=9)
        )
    assert ended == 1
    assert [await expire(lives, one.run.id) for one in held] == ["expired", None, None]
    with pytest.raises(FenceLost):
        await lives.finalize(held[0])
    await lives.finalize(held[1])
    assert await lives.violations() == []


async def test_a_claim_that_races_a_cancel_takes_nothing_that_was_stopped(lives: Lives) -> None:
    run_id = await lives.queued()
    async with lives.api.transaction(TENANT) as tx:
        await lock_run(tx, run_id)
        assert await lives.claim() == []
    await lives.cancel(run_id)
    assert await lives.claim() == []
    assert await lives.status(run_id) == "cancelled"


async def test_a_run_paused_while_it_waits_for_a_tool_lets_its_conversation_go(lives: Lives) -> None:
    """A tool's wait keeps the conversation, a pause may last a week: the next run must not wait for it."""
    conversation = lives.ids.uuid7()
    held = await lives.claimed(conversation_id=conversation)
    await lives.park_on_tool(held)
    await lives.pause(held.run.id)
    following = await lives.queued(conversation_id=conversation)
    assert [one.run.id for one in await lives.claim()] == [following]
    assert await lives.violations() == []

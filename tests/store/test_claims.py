"""Claims and heartbeats: who is served, in which turn, under which name (design 02 §2, §9)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from math import ceil
from uuid import UUID, uuid4

import pytest
from fencepost_domain.errors import Conflict
from fencepost_domain.waits import decide_defer
from fencepost_store.claims import (
    Claim,
    bind,
    claimed_by_nonce,
    heartbeat,
    register_worker,
    unregister_worker,
)
from fencepost_store.record import record
from fencepost_store.runs import lock_run

from tests.support.lives import AT_ONCE, LEASE, MODULE, OWNER, RIVAL, Lives


async def beat(lives: Lives, held: dict[UUID, int], owner: str = OWNER) -> dict[UUID, tuple[str, int]]:
    async with lives.worker.transaction() as tx:
        beats = await heartbeat(tx, owner=owner, held=held, lease=LEASE)
    return {one.run_id: (one.answer, one.revision) for one in beats}


# ── who is served ───────────────────────────────────────────────────────────────────────────────────


async def test_a_claim_takes_what_is_due_of_its_module_and_no_more_than_its_slots(lives: Lives) -> None:
    runs = [await lives.queued() for _ in range(3)]
    await lives.queued(module="work")
    await lives.sql("UPDATE agent.runs SET available_at = now() + interval '1 hour' WHERE id = %s", runs[0])
    assert [one.run.id for one in await lives.claim(limit=1)] == [runs[1]]
    assert [one.run.id for one in await lives.claim(limit=8)] == [runs[2]]
    assert await lives.claim(limit=0) == []


async def test_a_claim_takes_only_versions_that_it_serves(lives: Lives) -> None:
    """I16: a bound run is claimed by who serves its version; one that isn't bound by anybody."""
    bound, free = await lives.queued(), await lives.queued()
    await lives.sql("UPDATE agent.runs SET graph_version = 'g1' WHERE id = %s", bound)
    assert [one.run.id for one in await lives.claim(versions=["g2"])] == [free]
    assert [one.run.id for one in await lives.claim(versions=["g2", "g1"])] == [bound]


@pytest.mark.parametrize("batch", [1, 3, 8])
async def test_a_tenant_with_one_run_is_served_within_its_turn(lives: Lives, batch: int) -> None:
    """02 §2: within ⌈tenants with due work / batch⌉ claims, however much another tenant has queued."""
    small = [UUID(int=(0x0190B000 << 96) | number) for number in range(1, 5)]
    for _ in range(20):
        await lives.queued()
    alone = [await lives.queued(tenant=tenant) for tenant in small]
    served: list[UUID] = []
    for _ in range(ceil((len(small) + 1) / batch)):
        served += [one.run.id for one in await lives.claim(limit=batch)]
    assert set(alone) <= set(served)


async def test_a_batch_is_filled_up_when_only_one_tenant_has_work(lives: Lives) -> None:
    for _ in range(6):
        await lives.queued()
    assert len(await lives.claim(limit=6)) == 6


async def test_inside_a_tenant_priority_goes_first_and_waiting_ages_it(lives: Lives) -> None:
    old, plain, urgent = await lives.queued(), await lives.queued(), await lives.queued(priority=5)
    await lives.sql("UPDATE agent.runs SET rank = rank - interval '1 hour' WHERE id = %s", old)
    assert [(await lives.claim(limit=1))[0].run.id for _ in range(3)] == [old, urgent, plain]


# ── conversations ───────────────────────────────────────────────────────────────────────────────────


async def test_one_run_of_a_conversation_at_a_time_in_their_order(lives: Lives) -> None:
    conversation = lives.ids.uuid7()
    runs = [await lives.queued(conversation_id=conversation) for _ in range(3)]
    for run_id in runs:
        [held] = await lives.claim()
        assert held.run.id == run_id
        assert await lives.claim(owner=RIVAL) == []
        await lives.finalize(held)
    assert await lives.violations() == []


async def test_who_lets_go_of_a_conversation_tells_the_next(lives: Lives) -> None:
    conversation = lives.ids.uuid7()
    held = await lives.claimed(conversation_id=conversation)
    following = await lives.queued(conversation_id=conversation)
    await lives.sql("DELETE FROM agent.outbox")
    await lives.finalize(held)
    hints = await lives.sql("SELECT run_id, event_type FROM agent.outbox")
    assert hints == [{"run_id": following, "event_type": "agent.run.resumable.v1"}]


async def test_a_run_that_waits_for_a_person_does_not_hold_its_conversation(lives: Lives) -> None:
    conversation = lives.ids.uuid7()
    await lives.waiting(conversation_id=conversation)
    following = await lives.queued(conversation_id=conversation)
    assert [one.run.id for one in await lives.claim()] == [following]


async def test_a_deferred_run_keeps_its_conversation(lives: Lives) -> None:
    conversation = lives.ids.uuid7()
    held = await lives.claimed(conversation_id=conversation)
    await lives.queued(conversation_id=conversation)
    await defer(lives, held, timedelta(hours=1))
    assert await lives.claim() == [], "a later sentence must not overtake an earlier one that is tried again"
    await lives.sql("UPDATE agent.runs SET available_at = now() WHERE id = %s", held.run.id)
    [again] = await lives.claim()
    assert (again.run.id, again.run.attempt) == (held.run.id, 2)


async def defer(lives: Lives, held: Claim, wait: timedelta) -> None:
    async with lives.worker.transaction() as tx:
        locked = await lock_run(tx, held.run.id)
        decision = decide_defer(
            locked.run, held.fence, tx.ids.uuid7(), wait=wait, reason="busy", detail="", now=locked.now
        )
        await record(tx, locked.run, decision)


# ── what a claim is, and a lost answer ──────────────────────────────────────────────────────────────


async def test_a_claim_is_one_change_with_its_event_and_says_all_that_is_needed(lives: Lives) -> None:
    run_id = await lives.queued(text="hi", metadata={"k": "v"}, budget={"actions": 3})
    [held] = await lives.claim()
    assert (held.run.id, held.run.revision, held.run.attempt, held.run.lease_owner) == (run_id, 1, 1, OWNER)
    assert (held.input, held.metadata, held.budget) == ({"text": "hi"}, {"k": "v"}, {"actions": 3})
    assert (held.root_run_id, held.run.graph_version, held.catalog_fp) == (run_id, "", None)
    assert held.run.lease_expires_at is not None
    assert held.run.lease_expires_at - held.now == LEASE
    assert await lives.event_types(run_id) == ["run.requested", "run.claimed"]
    [payload] = await lives.sql(
        "SELECT convert_from(payload, 'UTF8') AS text FROM agent.run_event_payloads WHERE seq = 2"
    )
    assert payload["text"] == '{"attempt":1,"owner":"slot-1:boot-1"}'
    assert await lives.violations() == []


async def test_a_claim_whose_answer_was_lost_is_found_by_its_nonce(lives: Lives) -> None:
    nonce = uuid4()
    await lives.queued()
    [held] = await lives.claim(nonce=nonce)

    async def asked(owner: str, by: UUID) -> Sequence[Claim]:
        async with lives.worker.transaction() as tx:
            return await claimed_by_nonce(tx, owner=owner, nonce=by)

    [found] = await asked(OWNER, nonce)
    assert (found.run, found.input, found.root_run_id) == (held.run, held.input, held.root_run_id)
    assert await asked(OWNER, uuid4()) == [], "it did not commit: claim again"
    assert await asked(RIVAL, nonce) == []
    await lives.finalize(held)
    assert await asked(OWNER, nonce) == []


async def test_i16_a_run_is_bound_once(lives: Lives) -> None:
    held = await lives.claimed()

    async def bound_to(version: str) -> None:
        async with lives.worker.transaction() as tx:
            locked = await lock_run(tx, held.run.id)
            fingerprints = {"graph_version": version, "manifest_fp": "m", "catalog_fp": "c"}
            await bind(tx, locked.run, held.fence, event_id=tx.ids.uuid7(), **fingerprints)

    await bound_to("g1")
    with pytest.raises(Conflict) as refused:
        await bound_to("g2")
    assert refused.value.code == "already_bound"
    assert (await lives.run(held.run.id))["graph_version"] == "g1"
    assert "run.bound" in await lives.event_types(held.run.id)


# ── heartbeats ──────────────────────────────────────────────────────────────────────────────────────


async def test_a_beat_renews_and_answers_for_each_run(lives: Lives) -> None:
    for _ in range(4):
        await lives.queued()
    kept, paused, stopped, forgotten = await lives.claim()
    gone = uuid4()
    await lives.pause(paused.run.id)
    await lives.cancel(stopped.run.id)
    named = {one.run.id: one.run.revision for one in (kept, paused, stopped)} | {gone: 1}
    assert await beat(lives, named) == {
        kept.run.id: ("held", 1),
        paused.run.id: ("pause", 1),
        stopped.run.id: ("stop", 2),
        gone: ("taken", 1),
        forgotten.run.id: ("unclaimed", 1),
    }
    assert await beat(lives, {kept.run.id: 1}, owner=RIVAL) == {kept.run.id: ("taken", 1)}


async def test_a_lease_past_but_not_taken_is_renewed(lives: Lives) -> None:
    """An outage is nobody's fault: owner and revision count, not expiry."""
    lost = await lives.lost()
    assert await beat(lives, {lost.run.id: 1}) == {lost.run.id: ("held", 1)}
    await lives.finalize(lost)


async def test_renewals_stay_hot(lives: Lives) -> None:
    """No index mentions a lease: a beat writes no index entry (checked on a table that was vacuumed)."""
    held = await lives.claimed()
    await lives.sql("VACUUM agent.runs")
    for _ in range(5):
        await beat(lives, {held.run.id: 1})
    await lives.sql("SELECT pg_stat_force_next_flush()")
    indexes = await lives.sql(
        "SELECT indexdef FROM pg_indexes WHERE schemaname = 'agent' AND tablename = 'runs'"
        " AND indexdef ~ 'lease_|event_head|event_seq|progress|wakes|claim_nonce'"
    )
    assert indexes == []


async def test_a_worker_says_what_it_serves_and_takes_it_back(lives: Lives) -> None:
    async def register(boot: str) -> int:
        async with lives.worker.transaction() as tx:
            return await register_worker(
                tx, slot="slot-1", boot_id=boot, modules=[MODULE], versions=["g1"], alive_for=LEASE
            )

    held = await lives.claimed()
    assert await register("boot-1") == 0, "its own leases stay"
    assert await register("boot-2") == 1, "an older boot is dead: its leases end now"
    assert await beat(lives, {held.run.id: 1}) == {held.run.id: ("held", 1)}, "not taken yet: still renewable"
    async with lives.worker.transaction() as tx:
        await unregister_worker(tx, slot="slot-1", boot_id="boot-1")
        await unregister_worker(tx, slot="slot-2", boot_id="boot-2")
    assert [row["boot_id"] for row in await lives.sql("SELECT boot_id FROM agent.workers")] == ["boot-2"]


async def test_i04_a_lost_claim_counts_when_nothing_was_done(lives: Lives) -> None:
    """02 §2: an attempt counts only without progress since the last counted one; used up, the run fails."""
    from fencepost_reconciler.loops.expire_leases import settle
    from fencepost_store.sweeps import Candidate

    run_id = await lives.queued()
    attempts = []
    for _ in range(5):
        [held] = await lives.claim(lease=AT_ONCE)
        attempts.append(held.run.attempt)
        async with lives.reconciler.transaction() as tx:
            last = await settle(tx, await lock_run(tx, run_id), Candidate(run_id, run_id))
    assert (attempts, last) == ([1, 2, 3, 4, 5], "exhausted")
    assert await lives.status(run_id) == "failed"
    assert await lives.violations() == []

"""A run comes back from an owner that went silent, and only then (case WF-2, design 02 §2)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from fencepost_domain.endings import decide_lease_expired
from fencepost_domain.errors import Conflict, FenceLost, Unavailable
from fencepost_domain.vocabulary import RunStatus
from fencepost_reconciler.endings import exhausted, message_of
from fencepost_reconciler.grace import Grace
from fencepost_reconciler.loops.expire_leases import ExpireLeases
from fencepost_store import sweeps
from fencepost_store.claims import register_worker
from fencepost_store.record import record
from fencepost_store.runs import lock_run
from fencepost_store.transaction import Store

from tests.support.lives import AT_ONCE, MODULE, RIVAL, Lives, counts


class HeldClock:
    """Monotonic time that a test moves."""

    def __init__(self) -> None:
        self.at = 100.0

    def monotonic(self) -> float:
        return self.at


def granted(lives: Lives) -> tuple[ExpireLeases, HeldClock]:
    """A sweep whose grace after its start is over."""
    clock = HeldClock()
    grace = Grace(timedelta(seconds=5), clock)  # type: ignore[arg-type]
    grace.answered()
    for _ in range(3):
        clock.at += 2.5
        grace.answered()
    return ExpireLeases(lives.reconciler, grace), clock


async def test_a_run_whose_lease_is_past_is_queued_for_another(lives: Lives) -> None:
    lost = await lives.lost()
    sweep, _ = granted(lives)
    assert counts(await sweep.run_once()) == {"expired": 1}
    row = await lives.run(lost.run.id)
    assert (row["status"], row["revision"], row["lease_owner"], row["next_counts"]) == (
        "queued",
        2,
        None,
        True,
    )
    assert (await lives.event_types(lost.run.id))[-1] == "run.lease_expired"
    hints = await lives.sql(
        "SELECT event_type FROM agent.outbox WHERE run_id = %s ORDER BY created_at", lost.run.id
    )
    assert [hint["event_type"] for hint in hints] == ["agent.run.requested.v1", "agent.run.resumable.v1"]
    with pytest.raises(FenceLost):
        await lives.finalize(lost)
    [again] = await lives.claim(owner=RIVAL)
    assert (again.run.id, again.run.attempt, again.run.revision) == (lost.run.id, 2, 3)
    assert await lives.violations() == []


async def test_a_lease_that_holds_is_left_alone(lives: Lives) -> None:
    await lives.claimed()
    sweep, _ = granted(lives)
    assert counts(await sweep.run_once()) == {}


async def test_progress_excuses_one_lost_lease_not_every_later_one(lives: Lives) -> None:
    lost = await lives.lost()
    await lives.sql("UPDATE agent.runs SET progress = progress + 1 WHERE id = %s", lost.run.id)
    sweep, _ = granted(lives)
    seen = []
    for _ in range(lost.run.max_attempts):
        assert counts(await sweep.run_once()) == {"expired": 1}
        [again] = await lives.claim()
        seen.append(again.run.attempt)
        await lives.age("agent.runs", "lease_expires_at", "id = %s", lost.run.id)
    assert seen == list(range(1, lost.run.max_attempts + 1))
    assert counts(await sweep.run_once()) == {"exhausted": 1}
    assert await lives.violations() == []


async def test_a_claim_after_progress_counts_no_attempt(lives: Lives) -> None:
    lost = await lives.lost()
    await lives.sql("UPDATE agent.runs SET progress = progress + 1 WHERE id = %s", lost.run.id)
    sweep, _ = granted(lives)
    await sweep.run_once()
    [again] = await lives.claim()
    assert again.run.attempt == 1


async def test_attempts_used_up_end_the_run_with_its_open_effects(lives: Lives) -> None:
    lost = await lives.lost(locale="zh-CN")
    action = await lives.prepared(lost)
    await lives.opened(action)
    await lives.sql("UPDATE agent.runs SET attempt = max_attempts WHERE id = %s", lost.run.id)
    sweep, _ = granted(lives)
    assert counts(await sweep.run_once()) == {"exhausted": 1}
    [end] = await lives.sql("SELECT * FROM agent.finalizations WHERE run_id = %s", lost.run.id)
    assert (end["status"], end["reason"]) == ("failed", "attempts_exhausted")
    assert [effect["tool"] for effect in end["unconfirmed_effects"]] == ["create_reminder"]
    assert "尚未确认：create_reminder" in end["explanation"]
    [message] = await lives.sql("SELECT text FROM agent.messages WHERE author = 'assistant'")
    assert message["text"] == end["explanation"]


@pytest.mark.parametrize("rival", ["completes", "is claimed by another"])
async def test_wf2_a_decision_on_a_stale_list_writes_nothing(lives: Lives, rival: str) -> None:
    """Listed with its lease past; then the old worker ends it, or another has it: zero rows, no event."""
    lost = await lives.claimed()
    await lives.age("agent.runs", "lease_expires_at", "id = %s", lost.run.id)
    async with lives.reconciler.transaction() as tx:
        [candidate] = await sweeps.find_expired_leases(tx, sweeps.FIRST, 10)
        seen = await lock_run(tx, candidate.run_id)
        finalization = await exhausted(tx, seen.run)
        stale = decide_lease_expired(
            seen.run,
            tx.ids.uuid7(),
            now=seen.now,
            finalization=finalization,
            message=message_of(tx, finalization),
        )
    assert stale is not None
    if rival == "completes":
        await lives.sql(
            "UPDATE agent.runs SET lease_expires_at = clock_timestamp() + interval '9 s' WHERE id = %s",
            lost.run.id,
        )  # its heartbeat came: a lease past but not taken is renewed
        await lives.finalize(lost)
    else:
        sweep, _ = granted(lives)
        await sweep.run_once()
        await lives.claim(owner=RIVAL)
    before, events = await lives.run(lost.run.id), await lives.event_types(lost.run.id)

    with pytest.raises(Conflict, match="is not what it was"):
        async with lives.reconciler.transaction() as tx:
            await record(tx, seen.run, stale)
    sweep, _ = granted(lives)
    assert counts(await sweep.run_once()) == {}
    assert await lives.run(lost.run.id) == before
    assert await lives.event_types(lost.run.id) == events
    assert await lives.violations() == []


async def test_wf2_a_run_that_its_worker_is_writing_is_passed_over(lives: Lives) -> None:
    lost = await lives.lost()
    sweep, _ = granted(lives)
    async with lives.worker.transaction() as tx:
        await lock_run(tx, lost.run.id)
        assert counts(await sweep.run_once()) == {}
    assert counts(await sweep.run_once()) == {"expired": 1}


async def test_two_reconcilers_take_each_run_once(lives: Lives) -> None:
    import asyncio

    for _ in range(12):
        await lives.queued()
    await lives.claim(limit=12, lease=AT_ONCE)
    first, second = granted(lives)[0], granted(lives)[0]
    done = await asyncio.gather(first.run_once(), second.run_once())
    assert sum(each.get("expired", 0) for each in done) == 12
    assert all("failed" not in each for each in done)
    revisions = await lives.sql("SELECT DISTINCT revision, status FROM agent.runs")
    assert revisions == [{"revision": 2, "status": "queued"}]
    assert await lives.violations() == []


async def test_one_run_that_fails_does_not_hide_the_others(lives: Lives) -> None:
    runs = [await lives.queued() for _ in range(3)]
    await lives.claim(limit=3, lease=AT_ONCE)
    # A unique chain position that is taken: recording this run fails for ever.
    await lives.sql("UPDATE agent.runs SET event_seq = 0 WHERE id = %s", runs[0])
    sweep, _ = granted(lives)
    assert counts(await sweep.run_once()) == {"expired": 2, "failed": 1}


class Outage:
    """The real store, whose next transactions find no database."""

    def __init__(self, store: Store) -> None:
        self.store, self.down = store, False
        self.ids, self.run = store.ids, store.run

    def transaction(self, *args: object) -> object:
        if self.down:
            raise Unavailable("the database does not answer")
        return self.store.transaction(*args)  # type: ignore[arg-type]


async def test_nothing_expires_within_a_lease_of_the_start_or_of_an_outage(lives: Lives) -> None:
    lost = await lives.lost()
    clock, store = HeldClock(), Outage(lives.reconciler)
    sweep = ExpireLeases(store, Grace(timedelta(seconds=5), clock))  # type: ignore[arg-type]
    for _ in range(10):  # 4.5 s after the start
        assert counts(await sweep.run_once()) == {}
        clock.at += 0.5
    store.down = True
    for _ in range(3):
        with pytest.raises(Unavailable):
            await sweep.run_once()
        clock.at += 60  # three minutes (case DP-3)
    store.down = False
    for _ in range(10):
        assert counts(await sweep.run_once()) == {}, "a worker had no time yet to renew"
        clock.at += 0.5
    assert await lives.status(lost.run.id) == RunStatus.RUNNING
    assert counts(await sweep.run_once()) == {"expired": 1}


async def test_within_the_grace_what_a_slots_next_boot_gave_up_is_taken(lives: Lives) -> None:
    """A whole mesh that restarts goes on at once: its own dead are known to be dead."""
    given_up, silent = await lives.claimed(), await lives.lost(owner=RIVAL)
    async with lives.worker.transaction() as tx:
        await register_worker(
            tx, slot="slot-1", boot_id="boot-2", modules=[MODULE], versions=[], alive_for=timedelta(minutes=1)
        )
    sweep = ExpireLeases(lives.reconciler, Grace(timedelta(seconds=5), HeldClock()))  # type: ignore[arg-type]
    assert counts(await sweep.run_once()) == {"expired": 1}
    assert await lives.status(given_up.run.id) == "queued"
    assert await lives.status(silent.run.id) == "running"


async def test_a_sweep_that_stood_still_grants_a_lease_as_well(lives: Lives) -> None:
    """It can't know whether the database answered while it did not ask."""
    await lives.lost()
    sweep, clock = granted(lives)
    clock.at += 60
    assert counts(await sweep.run_once()) == {}
    for _ in range(10):
        clock.at += 0.5
        done = await sweep.run_once()
    assert counts(done) == {"expired": 1}

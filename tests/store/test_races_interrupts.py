"""Decisions of people against each other, against time and against the run (cases AP-1, AP-6, I13, I17)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any

import pytest
from fencepost_domain.errors import Conflict, FenceLost, Gone, Refused
from fencepost_domain.vocabulary import InterruptKind
from fencepost_reconciler.loops.expire_interrupts import settle as expire_interrupt
from fencepost_store import interrupts
from fencepost_store.claims import Claim
from fencepost_store.engine import make_engine
from fencepost_store.record import Recorded
from fencepost_store.runs import lock_run
from fencepost_store.sweeps import Candidate
from fencepost_store.transaction import Store

from tests.support.lives import OWNER, TENANT, USER, Lives
from tests.support.races import Holder, holding

LOCK_RUN_OF_INTERRUPT = """SELECT FROM agent.runs r JOIN agent.interrupts i ON i.run_id = r.id
                            WHERE i.id = %s FOR NO KEY UPDATE OF r"""


async def expire(lives: Lives, interrupt_id: Any) -> str | None:
    """The reconciler's step for one interrupt, from its run's lock on."""
    async with lives.reconciler.transaction() as tx:
        run_id = await interrupts.run_of_interrupt(tx, interrupt_id)
        return await expire_interrupt(tx, await lock_run(tx, run_id), Candidate(interrupt_id, run_id))


async def both(holder: Holder, *rivals: Coroutine[Any, Any, Any]) -> list[asyncio.Task[Any]]:
    """All of them wait for the same row; who gets it first when it is released is Postgres's choice."""
    return await holder.stop_all(rivals)


async def decisions_of(lives: Lives, interrupt_id: Any) -> tuple[str, Any]:
    [row] = await lives.sql("SELECT status, resolution FROM agent.interrupts WHERE id = %s", interrupt_id)
    return row["status"], row["resolution"]


async def test_ap_1_sixteen_clicks_at_once_are_one_decision(lives: Lives) -> None:
    held, interrupt_id = await lives.waiting()
    crowd = Store(make_engine(lives.database.dsn("api"), size=16), lives.ids)
    lives.api, one_by_one = crowd, lives.api
    try:
        async with holding(lives.database, LOCK_RUN_OF_INTERRUPT, interrupt_id) as row:
            clicks = await row.stop_all([lives.resolve(interrupt_id) for _ in range(16)])
        answers = await asyncio.gather(*clicks)
    finally:
        lives.api = one_by_one
        await crowd.close()
    assert sum(answer is not None for answer in answers) == 1, "one click decided, fifteen saw the stored one"
    row_now = await lives.run(held.run.id)
    assert (row_now["status"], row_now["revision"], row_now["wakes"]) == ("queued", 3, 1)
    assert Counter(await lives.event_types(held.run.id))["interrupt.resolved"] == 1
    assert await lives.violations() == []


async def test_ap_1_an_approval_that_races_a_reject_leaves_one_of_them(lives: Lives) -> None:
    _, interrupt_id = await lives.waiting()
    async with holding(lives.database, LOCK_RUN_OF_INTERRUPT, interrupt_id) as row:
        rivals = await both(
            row, lives.resolve(interrupt_id, "approve"), lives.resolve(interrupt_id, "reject")
        )
    answers = await asyncio.gather(*rivals, return_exceptions=True)
    [refused] = [answer for answer in answers if isinstance(answer, BaseException)]
    assert isinstance(refused, Conflict)
    assert refused.code == "already_resolved"
    won = "approve" if isinstance(answers[0], Recorded) else "reject"
    assert await decisions_of(lives, interrupt_id) == ("resolved", {"decision": won})
    assert await lives.violations() == []


async def test_ap_1_an_approval_whose_expiry_passes_while_it_waits_is_refused(lives: Lives) -> None:
    """No sweep runs: the expiry is part of the decision's own condition, judged above the lock."""
    held, interrupt_id = await lives.waiting()
    async with holding(lives.database, LOCK_RUN_OF_INTERRUPT, interrupt_id) as row:
        approval = await row.stops(lives.resolve(interrupt_id))
        await lives.age("agent.interrupts", "expires_at", "id = %s", interrupt_id)
    with pytest.raises(Gone):
        await approval
    assert await lives.status(held.run.id) == "waiting"
    assert await expire(lives, interrupt_id) == "expired"
    assert await lives.status(held.run.id) == "queued"


async def a_decision_found_fresh_twice_is_stored_once(lives: Lives) -> None:
    """Two requests judged the interrupt while it was open; the statement that stores decides, not they."""
    held, interrupt_id = await lives.waiting()
    async with lives.api.transaction(TENANT) as tx:
        seen, now = await interrupts.lock_interrupt(tx, interrupt_id)

    async def store(decision: str) -> None:
        async with lives.api.transaction(TENANT) as tx:
            locked = await lock_run(tx, held.run.id)
            await interrupts.resolve(
                tx, locked.run, now, seen, resolution={"decision": decision}, resolution_hash=decision,
                key=decision, by=USER,
            )  # fmt: skip

    await store("approve")
    with pytest.raises(Gone):
        await store("reject")
    assert await decisions_of(lives, interrupt_id) == ("resolved", {"decision": "approve"})


async def test_ap_1_a_decision_found_fresh_twice_is_stored_once(lives: Lives) -> None:
    await a_decision_found_fresh_twice_is_stored_once(lives)


@pytest.mark.parametrize("rival", ["cancel", "pause", "expiry"])
async def test_ap_1_an_approval_races_what_else_may_happen_to_its_run(lives: Lives, rival: str) -> None:
    """Whatever comes first, the other is refused or finds it, and nothing is left open or lost."""
    held, interrupt_id = await lives.waiting()
    steps = {
        "cancel": lambda: lives.cancel(held.run.id),
        "pause": lambda: lives.pause(held.run.id),
        "expiry": lambda: expire(lives, interrupt_id),
    }
    async with holding(lives.database, LOCK_RUN_OF_INTERRUPT, interrupt_id) as row:
        rivals = await both(row, lives.resolve(interrupt_id), steps[rival]())
        if rival == "expiry":
            await lives.age("agent.interrupts", "expires_at", "id = %s", interrupt_id)
    approved, _ = await asyncio.gather(*rivals, return_exceptions=True)
    status = await lives.status(held.run.id)
    if rival == "pause":
        assert status == "paused"
        assert (await decisions_of(lives, interrupt_id))[0] == "resolved", "a pause refuses no decision"
    elif rival == "expiry":
        assert (status, (await decisions_of(lives, interrupt_id))[0]) == ("queued", "expired")
    else:
        assert status == "cancelled"
        assert isinstance(approved, Refused | Recorded)
    assert await lives.violations() == []


async def at_work_with_an_open_question(lives: Lives) -> tuple[Claim, Any]:
    """Asked, and `wakes` was raised before the parking: back to work, the question still open."""
    held = await lives.claimed()
    await lives.prepared(held)
    await lives.append(held.run.id)
    asked = await lives.ask(held)
    assert asked.recorded.status == "queued"
    [again] = await lives.claim(owner=OWNER)
    return again, asked.interrupt_id


async def a_decision_that_lands_before_the_parking_is_not_slept_through(lives: Lives) -> None:
    """AP-6: the worker looks and sees nothing decided; the decision lands; the worker parks."""
    held, interrupt_id = await at_work_with_an_open_question(lives)
    await lives.resolve(interrupt_id)
    asked = await lives.ask(held)
    assert asked.interrupt_id == interrupt_id, "a replay asks the same question"
    assert await lives.status(held.run.id) == "queued"


async def test_ap_6_a_decision_that_lands_before_the_parking_is_not_slept_through(lives: Lives) -> None:
    await a_decision_that_lands_before_the_parking_is_not_slept_through(lives)


async def an_outcome_that_lands_before_the_parking_is_not_slept_through(lives: Lives) -> None:
    """The same where no interrupt shows it: the tool's outcome lands between the look and the wait."""
    held = await lives.claimed()
    await lives.append(held.run.id)  # what may end a wait raises `wakes` in its own transaction
    await lives.park_on_tool(held)
    assert await lives.status(held.run.id) == "queued"


async def test_ap_6_an_outcome_that_lands_before_the_parking_is_not_slept_through(lives: Lives) -> None:
    await an_outcome_that_lands_before_the_parking_is_not_slept_through(lives)


@pytest.mark.parametrize("first", ["the decision", "the parking"])
async def test_ap_6_a_decision_and_a_parking_in_either_order_leave_the_run_due(
    lives: Lives, first: str
) -> None:
    held, interrupt_id = await at_work_with_an_open_question(lives)
    async with holding(lives.database, LOCK_RUN_OF_INTERRUPT, interrupt_id) as row:
        steps = [lives.resolve(interrupt_id), lives.ask(held)]
        tasks = [await row.stops(step) for step in (steps if first == "the decision" else reversed(steps))]
    await asyncio.gather(*tasks)
    assert await lives.status(held.run.id) == "queued"
    [again] = await lives.claim()
    assert again.run.id == held.run.id


async def test_i17_a_zombie_that_asks_again_gets_no_second_question(lives: Lives) -> None:
    held, interrupt_id = await lives.waiting()
    with pytest.raises(FenceLost):
        await lives.ask(held, kind=InterruptKind.INPUT, n=2, expires_in=timedelta(days=1))
    rows = await lives.sql("SELECT id FROM agent.interrupts")
    assert [row["id"] for row in rows] == [interrupt_id]

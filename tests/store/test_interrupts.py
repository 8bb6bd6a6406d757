"""Interrupts: asked once, decided once, never slept through (I12, I13, I17; cases AP-1, AP-6).

The races are made certain in test_races_interrupts.py; here is what each step writes.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from fencepost_domain.errors import Conflict, FenceLost, Gone, NotFound
from fencepost_domain.vocabulary import InterruptKind, WaitingOn
from fencepost_domain.waits import decide_resume
from fencepost_store.interrupts import lock_interrupt, run_of_interrupt
from fencepost_store.record import record
from fencepost_store.runs import lock_run, open_wait

from tests.support.lives import AT_ONCE, OTHER_TENANT, RIVAL, TENANT, USER, Lives


async def stored(lives: Lives, interrupt_id: UUID) -> dict[str, Any]:
    [row] = await lives.sql("SELECT * FROM agent.interrupts WHERE id = %s", interrupt_id)
    return row


async def action(lives: Lives) -> dict[str, Any]:
    [row] = await lives.sql("SELECT status, decision, decided_by, interrupt_id FROM agent.actions")
    return row


async def test_a_question_and_its_wait_are_one_transaction(lives: Lives) -> None:
    held, interrupt_id = await lives.waiting()
    row = await lives.run(held.run.id)
    assert (row["status"], row["waiting_on"], row["lease_owner"]) == ("waiting", "approval", None)
    assert (await action(lives))["interrupt_id"] == interrupt_id
    assert (await lives.event_types(held.run.id))[-2:] == ["interrupt.opened", "run.parked"]
    feed = await lives.sql("SELECT kind FROM agent.feed ORDER BY id DESC LIMIT 2")
    assert {line["kind"] for line in feed} == {"interrupt.opened", "run.status"}
    assert await lives.violations() == []


async def test_a_zombie_asks_nobody(lives: Lives) -> None:
    lost = await lives.lost()
    with pytest.raises(FenceLost):
        await lives.ask(lost, kind=InterruptKind.INPUT)
    assert await lives.sql("SELECT * FROM agent.interrupts") == []


async def test_i17_a_question_asked_again_is_the_same_one(lives: Lives) -> None:
    """A worker that died after it asked, and its successor replays the node."""
    held = await lives.claimed()
    first = await lives.ask(held, kind=InterruptKind.INPUT)
    await lives.append(held.run.id)  # something raises `wakes`, and the safety net queues it
    await lives.sql(
        "UPDATE agent.runs SET status = 'queued', waiting_on = NULL, revision = revision + 1 WHERE id = %s",
        held.run.id,
    )
    [again] = await lives.claim(owner=RIVAL)
    second = await lives.ask(again, kind=InterruptKind.INPUT)
    assert second.interrupt_id == first.interrupt_id
    assert await lives.status(held.run.id) == "waiting"
    opened = [kind for kind in await lives.event_types(held.run.id) if kind == "interrupt.opened"]
    assert len(opened) == 1


async def test_i17_a_question_answered_meanwhile_is_not_waited_for(lives: Lives) -> None:
    held, interrupt_id = await lives.waiting()
    await lives.resolve(interrupt_id)
    [again] = await lives.claim()
    replayed = await lives.ask(again)
    assert replayed.interrupt_id == interrupt_id
    assert await lives.status(held.run.id) == "queued", "it goes on and reads the answer"


async def test_a_run_asks_one_thing_at_a_time(lives: Lives) -> None:
    held, _ = await lives.waiting()
    await lives.sql(
        "UPDATE agent.runs SET status = 'queued', waiting_on = NULL, revision = revision + 1 WHERE id = %s",
        held.run.id,
    )
    [again] = await lives.claim()
    with pytest.raises(Conflict) as refused:
        await lives.ask(again, kind=InterruptKind.INPUT)
    assert refused.value.code == "interrupt_open"
    assert await lives.status(held.run.id) == "running"


@pytest.mark.parametrize(("decision", "status"), [("approve", "approved"), ("reject", "rejected")])
async def test_a_decision_is_stored_with_its_action_and_queues_the_run(
    lives: Lives, decision: str, status: str
) -> None:
    held, interrupt_id = await lives.waiting()
    await lives.resolve(interrupt_id, decision)
    row = await stored(lives, interrupt_id)
    assert (row["status"], row["resolution"], row["resolved_by"]) == (
        "resolved",
        {"decision": decision},
        USER,
    )
    acted = await action(lives)
    assert (acted["status"], acted["decision"], acted["decided_by"]) == (status, decision, USER)
    run = await lives.run(held.run.id)
    assert (run["status"], run["wakes"]) == ("queued", 1)
    hints = await lives.sql("SELECT event_type FROM agent.outbox WHERE run_id = %s", held.run.id)
    assert "agent.run.resumable.v1" in {hint["event_type"] for hint in hints}
    assert await lives.violations() == []


async def test_i13_the_same_decision_again_is_the_stored_one_another_conflicts(lives: Lives) -> None:
    held, interrupt_id = await lives.waiting()
    await lives.resolve(interrupt_id)
    events = await lives.event_types(held.run.id)
    assert await lives.resolve(interrupt_id) is None
    with pytest.raises(Conflict) as refused:
        await lives.resolve(interrupt_id, "reject")
    assert refused.value.code == "already_resolved"
    assert refused.value.stored["resolution"] == {"decision": "approve"}
    assert await lives.event_types(held.run.id) == events


async def test_ap1_after_its_time_a_decision_is_refused_without_any_sweep(lives: Lives) -> None:
    _, interrupt_id = await lives.waiting(expires_in=AT_ONCE)
    with pytest.raises(Gone) as refused:
        await lives.resolve(interrupt_id)
    assert refused.value.code == "interrupt_expired"
    assert (await action(lives))["status"] == "prepared"


async def test_a_decision_on_a_stopped_run_is_refused(lives: Lives) -> None:
    held, interrupt_id = await lives.waiting()
    await lives.cancel(held.run.id)
    assert (await stored(lives, interrupt_id))["status"] == "withdrawn"
    assert (await lives.event_types(held.run.id))[-3:] == [
        "interrupt.withdrawn", "message.completed", "run.finalized",
    ]  # fmt: skip
    [line] = await lives.sql("SELECT data FROM agent.feed WHERE kind = 'interrupt.closed'")
    assert line["data"]["interrupt_id"] == str(interrupt_id), "who was asked sees that nobody asks any more"
    with pytest.raises(Gone):
        await lives.resolve(interrupt_id)


async def test_a_paused_run_can_be_decided_and_then_goes_on(lives: Lives) -> None:
    """02 §1: an open interrupt stays open and decidable; resumed, it waits for nothing any more."""
    held, interrupt_id = await lives.waiting()
    await lives.pause(held.run.id)
    await lives.resolve(interrupt_id)
    assert await lives.status(held.run.id) == "paused"
    await resume(lives, held.run.id)
    assert await lives.status(held.run.id) == "queued"
    assert await lives.violations() == []


async def test_a_paused_run_that_is_resumed_undecided_waits_again(lives: Lives) -> None:
    held, interrupt_id = await lives.waiting(deadline=timedelta(hours=1))
    await lives.pause(held.run.id)
    await resume(lives, held.run.id)
    row = await lives.run(held.run.id)
    assert (row["status"], row["waiting_on"], row["deadline_at"]) == ("waiting", "approval", "infinity")
    assert await lives.violations() == []
    await lives.resolve(interrupt_id)
    assert (await lives.run(held.run.id))["deadline_at"] != "infinity", "its time goes on"


async def resume(lives: Lives, run_id: UUID) -> None:
    async with lives.api.transaction(TENANT) as tx:
        locked = await lock_run(tx, run_id)
        still_open: WaitingOn | None = await open_wait(tx, run_id)
        decision = decide_resume(
            locked.run, tx.ids.uuid7(), actor="user:u", still_open=still_open, now=locked.now
        )
        assert decision is not None
        await record(tx, locked.run, decision)


async def test_ap6_what_moved_between_the_look_and_the_parking_keeps_the_run_due(lives: Lives) -> None:
    held = await lives.claimed()
    await lives.append(held.run.id)  # raises `wakes` after the worker looked
    asked = await lives.ask(held, kind=InterruptKind.INPUT, wakes_seen=0)
    row = await lives.run(held.run.id)
    assert (row["status"], row["waiting_on"], row["wakes"]) == ("queued", None, 1)
    assert (await stored(lives, asked.interrupt_id))["status"] == "open", "asked all the same, and answerable"
    [again] = await lives.claim()
    assert (again.run.id, again.run.wakes, again.run.attempt) == (held.run.id, 1, 1)
    assert await lives.violations() == []


async def test_i27_another_tenants_interrupt_is_not_there(lives: Lives) -> None:
    _, interrupt_id = await lives.waiting()
    async with lives.api.transaction(OTHER_TENANT) as tx:
        with pytest.raises(NotFound):
            await run_of_interrupt(tx, interrupt_id)
        with pytest.raises(NotFound):
            await lock_interrupt(tx, interrupt_id)

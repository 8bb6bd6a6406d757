"""Starts are fenced by the run, outcomes by their attempt (design 02 §2; I05, I10, I12, I13, I22)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest
from fencepost_domain.action import Action
from fencepost_domain.errors import Conflict, FenceLost
from fencepost_domain.vocabulary import EffectClass, Risk
from fencepost_reconciler.loops.drain import Drain
from fencepost_store import effects
from fencepost_store.claims import Claim

from tests.store.test_races_fence import past, take_over
from tests.support import attempts
from tests.support.lives import RIVAL, Lives
from tests.support.races import LOCK_RUN, holding


class Over:
    """A grace that is over: no outage was seen."""

    def is_over(self) -> bool:
        return True


async def low(lives: Lives, **more: Any) -> tuple[Claim, Action]:
    """A claimed run with an action that nobody has to approve."""
    held = await lives.claimed(**more)
    action = await lives.prepared(held, risk=Risk.LOW, effect_class=EffectClass.EXTERNAL_IDEMPOTENT)
    return held, action


async def approved(lives: Lives) -> tuple[Claim, Action, Any]:
    """A run that was asked for, approved and claimed again; its action and interrupt."""
    held = await lives.claimed()
    action = await lives.prepared(held, effect_class=EffectClass.EXTERNAL_OPAQUE)
    asked = await lives.ask(held)
    await lives.resolve(asked.interrupt_id)
    [again] = await lives.claim()
    return again, action, asked.interrupt_id


async def attempt_states(lives: Lives) -> list[str]:
    rows = await lives.sql("SELECT state FROM agent.effect_attempts ORDER BY effect_key, attempt")
    return [row["state"] for row in rows]


# ── outcomes: whatever became of the run ────────────────────────────────────────────────────────────────


async def _taken_over(lives: Lives, held: Claim) -> None:
    await past(lives, held)
    assert await take_over(lives, held)


async def _claimed_by_another(lives: Lives, held: Claim) -> None:
    await _taken_over(lives, held)
    assert len(await lives.claim(owner=RIVAL)) == 1


async def _cancelled(lives: Lives, held: Claim) -> None:
    await lives.cancel(held.run.id)


async def _ended(lives: Lives, held: Claim) -> None:
    """Cancelled, not drained in time, ended with the attempt listed as unconfirmed."""
    await lives.cancel(held.run.id)
    await past(lives, held)
    await lives.age("agent.runs", "drain_until", "id = %s", held.run.id)
    assert await Drain(lives.reconciler, Over()).run_once() == {"cancelled": 1}  # type: ignore[arg-type]


async def _late(lives: Lives, held: Claim) -> None:
    await past(lives, held)


FATES: Mapping[str, Callable[[Lives, Claim], Awaitable[None]]] = {
    "its lease is past": _late,
    "it was taken over": _taken_over,
    "another has it": _claimed_by_another,
    "it is cancelling": _cancelled,
    "it ended": _ended,
}


async def an_outcome_is_recorded_once(lives: Lives, fate: str) -> None:
    held, action = await low(lives)
    assert await attempts.start(lives, held.fence, action)
    await FATES[fate](lives, held)
    before = await lives.run(held.run.id)

    assert await attempts.settle(lives, action)
    assert not await attempts.settle(lives, action)

    after = await lives.run(held.run.id)
    unmoved = ("status", "revision", "lease_owner", "lease_expires_at", "finished_at", "progress")
    assert {name: after[name] for name in unmoved} == {name: before[name] for name in unmoved}
    assert await attempt_states(lives) == ["completed"]
    assert await lives.violations() == []


@pytest.mark.parametrize("fate", FATES)
async def test_i05_an_outcome_is_recorded_once_whatever_became_of_the_run(lives: Lives, fate: str) -> None:
    await an_outcome_is_recorded_once(lives, fate)


# ── starts: fenced, once, approved ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("fate", FATES)
async def test_i22_a_lost_fence_opens_no_attempt(lives: Lives, fate: str) -> None:
    held, action = await low(lives)
    if fate == "it ended":
        await lives.finalize(held)
    else:
        await FATES[fate](lives, held)
    with pytest.raises(FenceLost):
        await attempts.start(lives, held.fence, action)
    assert await attempt_states(lives) == []


async def two_commits_open_one_attempt(lives: Lives) -> None:
    """I13: a double click, or a commit repeated after its answer was lost, while the first is still at it."""
    held, action = await low(lives)
    async with holding(lives.database, LOCK_RUN, held.run.id) as row:
        twins = await row.stop_all([attempts.start(lives, held.fence, action) for _ in range(4)])
    assert sorted(await asyncio.gather(*twins)) == [False, False, False, True]
    assert await attempt_states(lives) == ["started"]


async def test_i13_commits_at_once_open_one_attempt(lives: Lives) -> None:
    await two_commits_open_one_attempt(lives)


async def a_second_open_attempt_is_refused(lives: Lives) -> None:
    """I10 by the schema: whoever forgets to look finds that the key has its attempt."""
    held, action = await low(lives)
    await attempts.start(lives, held.fence, action)
    with pytest.raises(Conflict):
        await lives.opened(action)
    assert await lives.violations() == []


async def test_i10_a_second_open_attempt_is_refused(lives: Lives) -> None:
    await a_second_open_attempt_is_refused(lives)


async def test_i22_an_attempt_and_a_cancel_in_either_order(lives: Lives) -> None:
    """First the cancel: no attempt. First the attempt: the cancel finds it and drains."""
    held, action = await low(lives)
    async with holding(lives.database, LOCK_RUN, held.run.id) as row:
        cancelling = await row.stops(lives.cancel(held.run.id))
        starting = asyncio.ensure_future(attempts.start(lives, held.fence, action))
        await row.blocked(2)
    await cancelling
    with pytest.raises(FenceLost):
        await starting
    assert await lives.violations() == []


async def a_commit_judges_the_approval_under_its_lock(lives: Lives) -> None:
    """I12: the approval's time passes while the commit waits for the run's row."""
    held, action, interrupt_id = await approved(lives)
    async with holding(lives.database, LOCK_RUN, held.run.id) as row:
        starting = await row.stops(attempts.start(lives, held.fence, action))
        await lives.age("agent.interrupts", "expires_at", "id = %s", interrupt_id)
    with pytest.raises(Conflict) as refused:
        await starting
    assert refused.value.code == "approval_expired"
    assert await attempt_states(lives) == []


async def test_i12_a_commit_judges_the_approval_under_its_lock(lives: Lives) -> None:
    await a_commit_judges_the_approval_under_its_lock(lives)


async def test_i12_a_commit_judges_the_token_under_its_lock(lives: Lives) -> None:
    held, action = await low(lives)
    async with holding(lives.database, LOCK_RUN, held.run.id) as row:
        starting = await row.stops(attempts.start(lives, held.fence, action))
        await lives.age("agent.actions", "token_expires_at", "run_id = %s", held.run.id)
    with pytest.raises(Conflict) as refused:
        await starting
    assert refused.value.code == "token_expired"


async def test_an_outcome_and_a_time_out_in_either_order_settle_it_once(lives: Lives) -> None:
    """The sweep gives the attempt up as unknown; the outcome that comes then still says what happened."""
    from fencepost_reconciler.loops.settle_effects import SettleEffects

    held, action = await low(lives)
    await attempts.start(lives, held.fence, action)
    await lives.age("agent.effect_attempts", "attempt_ends_at", "run_id = %s", held.run.id)
    assert await SettleEffects(lives.reconciler).run_once() == {"effects_unknown": 1}
    assert await attempt_states(lives) == ["unknown"]
    assert await attempts.settle(lives, action)
    assert await attempt_states(lives) == ["completed"]
    assert await SettleEffects(lives.reconciler).run_once() == {}
    async with lives.gateway.transaction(action.tenant_id) as tx:
        found = await effects.look_at_effect(tx, held.run.id, 0)
    assert found is not None
    assert found[0].state == "completed"

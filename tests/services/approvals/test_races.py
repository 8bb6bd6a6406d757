"""A vote and what ends its question, in each order: both wait for the run's row, who is let in first decides.

The order is made, not hoped for: a third holds the row until Postgres says that both wait for it (AP-1, I13).
"""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import httpx
import pytest

from tests.support.api import a_key
from tests.support.approvals import APPROVE, Stage
from tests.support.lives import USER
from tests.support.races import LOCK_RUN, holding


async def in_order(stage: Stage, run_id: UUID, first: Any, second: Any) -> list[httpx.Response]:
    """Both requests, the first one at the row first; their answers."""
    async with holding(stage.lives.database, LOCK_RUN, run_id) as row:
        one = await row.stops(first)
        two = asyncio.ensure_future(second)
        row.stopped.append(two)
        await row.blocked(2)
    return [await one, await two]


@pytest.mark.parametrize("verb", ["cancel", "pause"])
async def test_i13_a_vote_before_a_stop_counts_and_after_a_cancel_does_not(stage: Stage, verb: str) -> None:
    for vote_first in (True, False):
        held, _, interrupt = await stage.asked()
        vote = stage.decide(interrupt, APPROVE)
        stop = stage.api.as_(USER, "user").post(f"/v1/runs/{held.run.id}/{verb}", json={}, headers=a_key())
        pair = (vote, stop) if vote_first else (stop, vote)
        answers = await in_order(stage, held.run.id, *pair)
        voted, stopped = answers if vote_first else reversed(answers)
        assert stopped.status_code == 202, stopped.text
        status = await stage.lives.status(held.run.id)
        if verb == "pause":  # an open question stays decidable, whatever the run's status
            assert (voted.status_code, status) == (200, "paused")
        elif vote_first:
            assert (voted.status_code, status) == (200, "cancelled")
        else:
            assert voted.status_code in (409, 410) and status == "cancelled", voted.text
        assert await stage.attempts() == 0, "nothing is carried out by a vote"
    assert await stage.lives.violations() == []


async def test_i12_a_vote_that_waited_past_the_expiry_comes_too_late(stage: Stage) -> None:
    """The time is read above the lock: when the vote arrived it was in time, when it was let in it wasn't."""
    held, _, interrupt = await stage.asked()
    async with holding(stage.lives.database, LOCK_RUN, held.run.id) as row:
        voting = await row.stops(stage.decide(interrupt, APPROVE))
        await stage.lives.age("agent.interrupts", "expires_at", "id = %s", interrupt)
    late = await voting
    assert (late.status_code, late.json()["code"]) == (410, "interrupt_expired")
    assert await stage.attempts() == 0

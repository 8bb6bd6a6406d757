"""Checks that are of no other suite: what a token binds, and when a hint counts as sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from fencepost_domain.action import Action
from fencepost_domain.errors import Tampered
from fencepost_runtime.keys import KeyRing
from fencepost_runtime.wake import Delivery, Unreachable, WakeMessage
from fencepost_tool_gateway import tokens

from tests.services.tool_gateway import test_tokens
from tests.store import test_inbox
from tests.support.gateway import REMINDER, code, serving
from tests.support.lives import USER, Lives
from tests.support.races import LOCK_RUN, holding
from tests.support.wakes import relay
from tests.support.worker_runs import opened_runs

RING = KeyRing("k1", {"k1": b"0123456789abcdef"})
OTHER_HASH = "0" * 64

# What somebody who can write the row would change, by the word of the field that forbids it.
FORGERIES: dict[str, dict[str, Any]] = {
    "run": {"run_id": UUID(int=7)},
    "arguments": {"arguments": '{"title":"other"}', "arguments_hash": OTHER_HASH},
    "expiry": {"token_expires_at": timedelta(days=365)},
    "index": {"index": 1},
    "tenant": {"tenant_id": UUID(int=7)},
    "tool": {"tool": "delete_everything"},
}


async def a_changed_row_is_refused(lives: Lives, field: str) -> None:
    """A token is worth what it binds: the row, with one field changed, no longer hashes to its MAC."""
    held = await lives.claimed()
    signed = tokens.sign(RING, await lives.prepared(held), USER)
    tokens.verify(RING, signed, USER)
    with pytest.raises(Tampered) as refused:
        tokens.verify(RING, _forged(signed, field), USER)
    assert refused.value.fingerprint == str(signed.token_id), "refused by its MAC, not by another check"


def _forged(action: Action, field: str) -> Action:
    changed = dict(FORGERIES[field])
    if field == "expiry":
        changed["token_expires_at"] = action.token_expires_at + changed["token_expires_at"]
    if field == "arguments":
        changed["arguments_hash"] = OTHER_HASH
    return replace(action, **changed)


class Looking:
    """A publisher that looks what the outbox says while it is at work, and then reports nothing."""

    def __init__(self, lives: Lives) -> None:
        self.lives = lives
        self.seen: list[bool] = []

    async def publish(self, batch: Sequence[WakeMessage]) -> list[Delivery]:
        rows = await self.lives.sql("SELECT published_at IS NOT NULL AS marked FROM agent.outbox")
        self.seen += [row["marked"] for row in rows]
        return [Unreachable("no report") for _ in batch]

    async def close(self) -> None:
        return None


async def a_hint_is_marked_only_after_its_report(lives: Lives) -> None:
    await lives.queued()
    publisher = Looking(lives)
    assert await relay(lives.reconciler, publisher).run_once() == {"deferred": 1}
    assert publisher.seen == [False]
    [row] = await lives.sql("SELECT published_at, attempts FROM agent.outbox")
    assert (row["published_at"], row["attempts"]) == (None, 1)


async def a_fact_takes_effect_once(lives: Lives) -> None:
    """EV-3, as the store's own suite has it."""
    async with opened_runs(lives.database) as runs:
        await test_inbox.test_ev_3_concurrent_twins_take_effect_once(runs)


async def the_gateway_judges_the_approval_under_its_lock(lives: Lives) -> None:
    """I12 on the real gateway: the approval's time passes between its look and its transaction."""
    async with serving(lives) as served:
        held, action = await served.ready("life.create_reminder", REMINDER)
        async with holding(lives.database, LOCK_RUN, held.run.id) as row:
            committing = await row.stops(served.commit(held, action))
            await lives.age("agent.interrupts", "expires_at", "run_id = %s", held.run.id)
        assert code(await committing) == "approval_expired"
        assert await served.attempts() == 0


async def the_gateway_refuses_a_changed_row(lives: Lives) -> None:
    """AP-5, as the gateway's own suite has it."""
    async with serving(lives) as served:
        await test_tokens.test_ap5_a_row_changed_in_the_database_is_refused(served)

"""A yes that stands no more when its action is carried out, through the whole mesh: it is asked for anew with
the reason, and nothing was done in between (I12, AP-1).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psycopg
from fencepost.aio import AsyncClient
from fencepost_runtime.failpoints import Action, arm, release, wait_hit

from tests.e2e.conftest import Caller

WORDS = "remind me tomorrow at 9 to send the report"
BEFORE = "gateway.attempt.before_start"


@asynccontextmanager
async def as_(caller: Caller, user: str, *roles: str) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(caller.mesh.url, caller.token(user, roles)) as client:
        yield client


async def settled(caller: Caller, run_id: str, but: str | None = None) -> dict[str, Any]:
    """The run at rest: over, or with another open question than `but`."""
    async with asyncio.timeout(40):
        while True:
            run: dict[str, Any] = await caller.client.wait(run_id, 30)
            if run["status"] != "waiting" or run["interrupt"]["id"] != but:
                return run
            await asyncio.sleep(0.1)


async def test_i12_an_approver_who_lost_the_role_meanwhile_is_asked_after_again(
    caller: Caller, failpoints: Path
) -> None:
    run = await caller.ask(WORDS)
    first = run["interrupt"]["id"]
    arm(failpoints, BEFORE, Action.BLOCK)
    async with as_(caller, "boss", "approver") as boss:
        await boss.resolve(first, {"decision": "approve"}, idempotency_key="boss-1")
    await wait_hit(failpoints, BEFORE, 30.0)  # looked at and good, a moment before its transaction
    async with await psycopg.AsyncConnection.connect(caller.mesh.dsn(), autocommit=True) as database:
        await database.execute(
            "UPDATE agent.principals SET roles = '{user}' WHERE tenant_id = %s AND user_id = 'boss'",
            (caller.tenant,),
        )
    release(failpoints, BEFORE)
    again = await settled(caller, run["id"], but=first)
    assert (again["status"], again["waiting_on"]) == ("waiting", "approval")
    assert "earlier approval doesn't count" in again["interrupt"]["question"]
    assert await caller.items("/v1/reminders") == []
    ended = await caller.resolve(again, decision="approve")
    assert ended["status"] == "succeeded" and len(await caller.items("/v1/reminders")) == 1

"""A yes that was given before a break is asked for again when what it was given to changed (design 02 §6)."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest
from fencepost.requests import run_verb
from fencepost_contracts.loader import catalog_text, make_catalog, read_catalog

from tests.e2e.conftest import Caller

REVOKE = "UPDATE agent.catalogs SET revoked_at = now() WHERE fingerprint = %s"
WORDS = "remind me tomorrow at 9 to send the report"


async def verb(caller: Caller, run: dict[str, Any], name: str) -> None:
    await caller.client.get(run_verb(run["id"], name, f"{name}-{run['id']}"))


async def change_contract(database: psycopg.AsyncConnection[Any]) -> str:
    """Publish the module's catalog with another version of its tools, as an operator's reload does."""
    cursor = await database.execute(
        "SELECT fingerprint, body FROM agent.catalogs WHERE module = 'life' ORDER BY in_force_at DESC LIMIT 1"
    )
    row = await cursor.fetchone()
    assert row is not None
    now = read_catalog(*row)
    tools = [tool.model_copy(update={"version": f"{tool.version}.after-the-break"}) for tool in now.tools]
    made = make_catalog("life", "after-the-break", tools)
    await database.execute(
        "INSERT INTO agent.catalogs (fingerprint, module, version, body) VALUES (%s, %s, %s, %s)",
        (made.fingerprint, "life", "after-the-break", catalog_text("life", "after-the-break", tools)),
    )
    return made.fingerprint


@pytest.mark.parametrize("changed", [True, False])
async def test_an_approved_action_is_asked_for_again_after_its_contract_changed(
    caller: Caller, changed: bool
) -> None:
    run = await caller.ask(WORDS)
    await verb(caller, run, "pause")
    await caller.client.resolve(run["interrupt"]["id"], {"decision": "approve"}, idempotency_key="yes-1")
    async with await psycopg.AsyncConnection.connect(caller.mesh.dsn(), autocommit=True) as database:
        made = await change_contract(database) if changed else None
        try:
            await verb(caller, run, "resume")
            after = await caller.client.wait(run["id"], 30)
            while after["status"] == "paused":
                await asyncio.sleep(0.1)
                after = await caller.client.wait(run["id"], 30)
            checks = {c["check"]: c for c in after["recovery_checks"]}
            if not changed:
                assert after["status"] == "succeeded" and checks["approvals"]["answer"] == "ok"
                return
            assert (after["status"], after["waiting_on"]) == ("waiting", "approval")
            assert after["interrupt"]["id"] != run["interrupt"]["id"]
            assert checks["approvals"]["answer"] == "repair" and "contract" in checks["approvals"]["detail"]
            assert await caller.items("/v1/reminders") == []
            ended = await caller.resolve(after, decision="approve")
            assert ended["status"] == "succeeded"
            assert len(await caller.items("/v1/reminders")) == 1
        finally:
            if made:
                await database.execute(REVOKE, (made,))
                await asyncio.sleep(1.2)  # what is published is read at most once a second

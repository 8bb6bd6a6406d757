"""A yes that stands no more when its action is carried out, through the whole mesh: it is asked for anew with
the reason, and nothing was done in between (I12, AP-1).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from fencepost.aio import AsyncClient
from fencepost_cli.embedded.supervisor import Embedded
from fencepost_runtime.failpoints import Action, arm, release, wait_hit

from tests.e2e.conftest import Caller
from tests.support.approvals import CONTRACT, SEND, TOOLS
from tests.support.gateway import module_folder
from tests.support.scripted_model import ScriptedModel, providing, tool_answer

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


@pytest.fixture
async def sender(tmp_path: Path) -> AsyncIterator[Caller]:
    """A mesh whose one tool sends files along, and a person of it."""

    class Sends(deque[Any]):
        def popleft(self) -> Any:
            return lambda body: tool_answer(SEND, {"files": [_words(body).split()[-1]]})

    async with providing(ScriptedModel(script=Sends())) as model:
        env = {
            "FENCEPOST_MODEL_URL": model.url,
            "FENCEPOST_MODEL_NAME": "scripted",
            "FENCEPOST_MODULES_DIR": str(module_folder(CONTRACT, TOOLS)),
        }
        (tmp_path / "failpoints").mkdir()
        async with Embedded(tmp_path, failpoints=tmp_path / "failpoints", env=env) as mesh:
            tenant = str(uuid4())
            token = mesh.identity.mint_token("u1", tenant, ("user",))
            async with AsyncClient(mesh.url, token) as client:
                yield Caller(mesh, tenant, client)


def _words(body: dict[str, Any]) -> str:
    return str(next(m["content"] for m in body["messages"] if m["role"] == "user"))


async def test_i12_a_file_that_changed_after_the_yes_is_asked_about_again(sender: Caller) -> None:
    failpoints = sender.mesh.data_dir / "failpoints"
    file = await sender.client.upload("a.txt", b"as it was shown", "text/plain", idempotency_key="file-1")
    run = await sender.ask(f"send the file {file['id']}", module="probe")
    first = run["interrupt"]["id"]
    arm(failpoints, BEFORE, Action.BLOCK)
    await sender.client.resolve(first, {"decision": "approve"}, idempotency_key="yes-1")
    await wait_hit(failpoints, BEFORE, 30.0)
    async with await psycopg.AsyncConnection.connect(sender.mesh.dsn(), autocommit=True) as database:
        await database.execute("ALTER TABLE agent.artifacts DISABLE TRIGGER USER")  # as its owner could
        await database.execute("UPDATE agent.artifacts SET sha256 = sha256('other')")
        release(failpoints, BEFORE)
        again = await settled(sender, run["id"], but=first)
        assert (again["status"], again["waiting_on"]) == ("waiting", "approval")
        assert "A file that goes out with it changed" in again["interrupt"]["question"]
        cursor = await database.execute("SELECT count(*) FROM agent.effect_attempts")
        assert await cursor.fetchone() == (0,)
    ended = await sender.resolve(again, decision="approve")
    assert ended["status"] == "succeeded"

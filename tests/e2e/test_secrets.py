"""I28: no value the secrets port gave out is stored, logged or answered, though a provider echoes its key."""

from __future__ import annotations

import asyncio
import functools
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
import psycopg
import pytest
import pytest_asyncio
from fencepost.aio import AsyncClient
from fencepost.errors import ApiError
from fencepost.requests import Request
from fencepost_cli.embedded.supervisor import Embedded
from psycopg import sql

from tests.e2e.outfitted import FILE_KEY, ROLE_SECRET, TOOL_KEY, VAULT_KEY, WIKI_KEY, Outfit, outfitted
from tests.e2e.walked import at_the_door, calls, everything_done, lived, person
from tests.embedded.support import alive
from tests.support import s3
from tests.support.eventually import eventually
from tests.support.scripted_model import (
    DONE,
    ScriptedModel,
    event,
    providing,
    say,
    text_answer,
)

BYTES = re.compile(r"\\\\x((?:[0-9a-f]{2})+)")  # how bytea stands in a row's text
KEY = "canary-model-key-3f9a1c77"


@pytest_asyncio.fixture(loop_scope="session")
async def echoing(tmp_path: Path) -> AsyncIterator[tuple[Embedded, ScriptedModel]]:
    """A mesh whose model's provider tells its key in every answer."""
    async with providing(ScriptedModel()) as model:
        env = {"FENCEPOST_MODEL_URL": model.url, "FENCEPOST_MODEL_NAME": "echo", "FENCEPOST_MODEL_KEY": KEY}
        async with Embedded(tmp_path, env=env) as mesh:
            yield mesh, model


def secrets_of(mesh: Embedded) -> dict[str, str]:
    """Every secret of the data folder, by its file, and the model's key."""
    found = {"model key": KEY}
    for path in mesh.identity.folder.iterdir():
        if path.name != "jwt-public.json":
            found[path.name] = path.read_text().strip()
    return found


async def stored_text(dsn: str) -> str:
    """All rows of all tables, as text; the bytes of payloads and checkpoints too."""
    parts: list[str] = []
    async with await psycopg.AsyncConnection.connect(dsn) as connection:
        tables = await connection.execute(
            "SELECT table_schema, table_name FROM information_schema.tables"
            " WHERE table_schema IN ('agent', 'langgraph', 'app') AND table_type = 'BASE TABLE'"
        )
        for schema, name in await tables.fetchall():
            query = sql.SQL("SELECT t::text FROM {}.{} AS t").format(
                sql.Identifier(schema), sql.Identifier(name)
            )
            for (row,) in await (await connection.execute(query)).fetchall():
                parts += [row, *(bytes.fromhex(h).decode("latin-1") for h in BYTES.findall(row))]
    return "\n".join(parts)


async def test_i28_no_secret_is_stored_logged_or_answered(echoing: tuple[Embedded, ScriptedModel]) -> None:
    mesh, model = echoing
    failing = [
        say("half "),
        event({"error": {"message": f"key {KEY} is bad", "code": 401}}),
        DONE,
    ]
    model.answer(text_answer(f"hello, your key is {KEY}"), failing)
    token = mesh.identity.mint_token("u1", str(uuid4()), ("user",))

    async with AsyncClient(mesh.url, token) as client:
        answered = await client.create_run("hello", idempotency_key="k1", zone="Etc/UTC")
        answered = await client.wait(answered["id"], 60)
        failed = await client.create_run("hello again", idempotency_key="k2", zone="Etc/UTC")
        failed = await client.wait(failed["id"], 60)
        seen = str(answered) + str(failed)

    assert model.headers[0]["authorization"] == f"Bearer {KEY}", "the provider must have had the key"
    assert "***" in answered["output"]["text"]
    assert failed["status"] == "failed"
    everywhere = seen + await stored_text(mesh.dsn("admin"))
    everywhere += "".join(log.read_text(errors="replace") for log in mesh.logs.glob("*.log"))
    leaked = [name for name, secret in secrets_of(mesh).items() if secret in everywhere]
    assert leaked == []


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def outfit(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Outfit]:
    async with outfitted(tmp_path_factory.mktemp("outfit")) as made:
        # Before the first run: a worker looks for what is published newly once a second.
        async with AsyncClient(made.mesh.url, person(made, "platform")) as operator:
            await eventually(functools.partial(accepted, operator, "probe.search", "probe.add_page"), 40)
            await eventually(functools.partial(offered, operator, "probe.add_page"))
        yield made


@pytest_asyncio.fixture(loop_scope="session")
async def client(outfit: Outfit) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(outfit.mesh.url, person(outfit)) as client:
        yield client


CANARIES = {
    "tool": TOOL_KEY, "model's file": FILE_KEY, "MCP server": WIKI_KEY, "in Vault": VAULT_KEY,
    "AppRole": ROLE_SECRET, "bucket": s3.SECRET,
}  # fmt: skip
PINS = "/v1/admin/tool-pins"


async def ready(url: str) -> tuple[int, dict[str, Any]]:
    async with httpx.AsyncClient(trust_env=False) as bare:
        answer = await bare.get(f"{url}/readyz")
    return answer.status_code, answer.json()


def doors(outfit: Outfit) -> list[str]:
    """Of every process that tells whether it is ready: api, gateway, worker, reconciler."""
    return [f"http://127.0.0.1:{child.port}" for child in outfit.mesh.children.values()]


async def away(url: str) -> bool:
    """Ready, degraded, and both said to be away."""
    status, body = await ready(url)
    gone = {name for name in ("artifacts", "vault") if body["checks"].get(name, "ok") != "ok"}
    return (status, body["status"], gone) == (200, "degraded", {"artifacts", "vault"})


async def back(url: str) -> bool:
    status, body = await ready(url)
    return (status, body["status"]) == (200, "ok")


async def test_services_start_without_bucket_and_vault_say_so_and_go_on_when_they_are_back(
    outfit: Outfit, client: AsyncClient
) -> None:
    """What needs neither goes on meanwhile; who needs one is told so, or waits; readiness stays, degraded."""
    for url in doors(outfit):
        await eventually(functools.partial(away, url), timeout=20)
    assert (await lived(outfit, client, text_answer("no file needed")))["status"] == "succeeded"
    with pytest.raises(ApiError) as refused:
        await client.upload("a.txt", b"hello", "text/plain", idempotency_key="f1")
    assert (refused.value.status, refused.value.code) == (503, "artifacts_unavailable")
    waiting = asyncio.create_task(lived(outfit, client, calls("vaulted"), text_answer("it is done")))
    await eventually(lambda: outfit.model.requests[1:])
    await outfit.bring_back()
    for url in doors(outfit):
        await eventually(functools.partial(back, url), timeout=20)
    needed = await waiting
    assert needed["status"] == "succeeded", json.dumps(needed)[:3500]
    assert f"Bearer {VAULT_KEY}" in outfit.echo.credentials
    kept = await client.upload("a.txt", b"hello", "text/plain", idempotency_key="f1")
    assert await client.content(kept["id"]) == b"hello"


async def test_a_cancel_during_an_mcp_call_starts_nothing_more_and_its_server_ends_with_the_gateway(
    outfit: Outfit, client: AsyncClient
) -> None:
    """The server's own log has one line; both of its calls stood in one answer. No orphan after SIGKILL."""
    outfit.wiki.switch(hang=True, echo=True)
    outfit.script(calls("search", "search"))
    made = await client.create_run("hello", idempotency_key=str(uuid4()), module="probe")
    await eventually(outfit.wiki.calls)
    await client.send(Request("POST", f"/v1/runs/{made['id']}/cancel", key=str(uuid4())))
    asked = len(outfit.model.requests)
    ended = await client.wait(made["id"], 40)
    assert (ended["status"], ended["finalization"]["reason"]) == ("cancelled", "user_cancelled")
    server = outfit.wiki.pid
    await outfit.mesh.kill("gateway")
    await eventually(lambda: not alive(server))
    outfit.wiki.switch(echo=True)
    await outfit.mesh.start("gateway")
    assert (len(outfit.wiki.calls()), len(outfit.model.requests)) == (1, asked)


async def accepted(operator: AsyncClient, *tools: str) -> bool:
    """An operator's yes to what the source was seen to declare of these tools."""
    found = (await operator.send(Request("GET", PINS, params={"module": "probe"}))).json()["items"]
    seen = {pin["tool"]: pin for pin in found if pin["status"] == "seen"}
    assert seen.keys() >= set(tools)
    for tool in tools:
        body = {"module": "probe", "tool": tool, "fingerprint": seen[tool]["fingerprint"]}
        await operator.send(Request("POST", PINS, {**body, "decision": "accept"}, key=str(uuid4())))
    return True


async def offered(client: AsyncClient, tool: str) -> bool:
    """Whether new runs may call it."""
    return f'"{tool}"' in (await client.send(Request("GET", "/v1/modules/probe/tools"))).text


async def test_i28_canaries_are_found_in_nothing_that_is_stored_logged_traced_or_told(
    outfit: Outfit, client: AsyncClient
) -> None:
    """Keys by file, credentials that their servers echo, Vault's, the bucket's, DSNs' passwords, tokens."""
    async with AsyncClient(outfit.mesh.url, person(outfit, "operator", "platform", "admin")) as operator:
        run = await everything_done(outfit, client, operator)
        for path in ("/v1/effects", "/v1/approvals", "/v1/admin/tool-pins", "/v1/budgets", "/v1/admin/stuck"):
            outfit.seen.append((await operator.send(Request("GET", path))).text)
    outfit.seen += await at_the_door(outfit, client, run)
    mesh = outfit.mesh
    secrets = {**secrets_of(mesh), **CANARIES, "token": person(outfit)}
    secrets |= {f"Vault's token {n}": token for n, token in enumerate(outfit.vault.tokens)}
    for role in ("api", "worker", "gateway", "reconciler"):
        secrets[f"password of {role}"] = str(urlsplit(mesh.dsn(role)).password)
    stored = await stored_text(mesh.dsn("admin"))
    logs = "".join(log.read_text(errors="replace") for log in mesh.logs.glob("*.log"))
    assert outfit.vault.tokens and s3.SECRET in CANARIES.values()
    assert any(TOOL_KEY in shown for shown in outfit.echo.credentials), (
        "the server must have had the credential"
    )
    assert outfit.wiki.environment()["WIKI_TOKEN"] == WIKI_KEY
    assert outfit.model.headers[0]["authorization"] == f"Bearer {FILE_KEY}"
    assert b"fencepost" in outfit.echo.traces, "traces must have been sent"
    places = {"answers, exports, errors": "".join(outfit.seen), "rows": stored, "logs": logs}
    places["traces"] = outfit.echo.traces.decode("latin-1")
    leaked = [
        (name, place) for name, value in secrets.items() for place, text in places.items() if value in text
    ]
    assert leaked == []

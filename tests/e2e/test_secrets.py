"""I28: no value the secrets port gave out is stored, logged or answered, though a provider echoes its key."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest_asyncio
from fencepost.aio import AsyncClient
from fencepost_cli.embedded.supervisor import Embedded
from psycopg import sql

from tests.support.scripted_model import DONE, ScriptedModel, event, providing, say, text_answer

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

"""I28: no value the secrets port gave out is stored, logged or answered, though a provider echoes its key."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
import psycopg
import pytest_asyncio
from fencepost.aio import AsyncClient
from fencepost.requests import Request
from fencepost_cli.embedded.supervisor import Embedded
from psycopg import sql

from tests.support.scripted_model import (
    DONE,
    ScriptedModel,
    call,
    event,
    finish,
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


CONTRACT = """\
version: "1"
agent_name: probe
allowed_tools:
  - name: probe.send
    description: Tell the other side.
    risk: low
    effect_class: none
    timeout_seconds: 5
    input_schema: {type: object, additionalProperties: false, properties: {}}
    output_schema: {type: object}
    http: {method: GET, url: "%s/echo", credential: {secret: crm-key}}
...
"""
TOOL_KEY, FILE_KEY = "canary-tool-credential-81c2", "canary-model-key-of-a-file-7d20"


class Echo:
    """A server that tells back whatever credential it was shown, and keeps the traces it is sent."""

    def __init__(self) -> None:
        self.credentials: list[str] = []
        self.traces = b""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                line, *rest = head.decode("latin-1").strip().split("\r\n")
                headers = {n.lower(): v.strip() for n, _, v in (one.partition(":") for one in rest)}
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                if " /v1/" in line:
                    gzipped = headers.get("content-encoding") == "gzip"
                    self.traces += gzip.decompress(body) if gzipped else body
                    answer = b""
                else:
                    self.credentials.append(headers.get("authorization", ""))
                    answer = json.dumps({"told": headers.get("authorization", "")}).encode()
                told = f"Content-Type: application/json\r\nContent-Length: {len(answer)}"
                writer.write(f"HTTP/1.1 200 OK\r\n{told}\r\n\r\n".encode() + answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


async def test_i28_canaries_are_found_in_no_event_checkpoint_log_trace_export_or_error(
    tmp_path: Path,
) -> None:
    """A model's key by file, a credential that its server echoes, passwords of DSNs, tokens, tickets."""
    echo = Echo()
    server = await asyncio.start_server(echo.serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    folder = tmp_path / "modules" / "probe"
    folder.mkdir(parents=True)
    (folder / "contract.yaml").write_text(CONTRACT % url)
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "crm-key").write_text(TOOL_KEY)
    (tmp_path / "model-key").write_text(FILE_KEY)
    async with server, providing(ScriptedModel()) as model:
        env = {
            "FENCEPOST_MODEL_URL": model.url, "FENCEPOST_MODEL_NAME": "echo",
            "FENCEPOST_MODEL_KEY_FROM": f"file:{tmp_path / 'model-key'}",
            "FENCEPOST_MODULES_DIR": str(tmp_path / "modules"),
            "FENCEPOST_SECRETS_DIR": str(tmp_path / "secrets"), "FENCEPOST_EGRESS_ALLOW": "127.0.0.0/8",
            "OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_BSP_SCHEDULE_DELAY": "200",
        }  # fmt: skip
        async with Embedded(tmp_path / "mesh", env=env) as mesh:
            seen, token = await _lived(mesh, model)
            stored = await stored_text(mesh.dsn("admin"))
            secrets = {**secrets_of(mesh), "token": token, "tool": TOOL_KEY, "model's file": FILE_KEY}
            for role in ("api", "worker", "gateway", "reconciler"):
                secrets[f"password of {role}"] = str(urlsplit(mesh.dsn(role)).password)
        logs = "".join(log.read_text(errors="replace") for log in mesh.logs.glob("*.log"))
    assert echo.credentials and TOOL_KEY in echo.credentials[0], "the server must have had the credential"
    assert model.headers[0]["authorization"] == f"Bearer {FILE_KEY}"
    assert b"fencepost" in echo.traces, "traces must have been sent"
    places = {"answers, exports, errors": seen, "rows": stored, "logs": logs}
    places["traces"] = echo.traces.decode("latin-1")
    leaked = [
        (name, place) for name, value in secrets.items() for place, text in places.items() if value in text
    ]
    assert leaked == []


async def _lived(mesh: Embedded, model: ScriptedModel) -> tuple[str, str]:
    """A call whose server echoes, an answer that does, errors at the door: what was answered, the token."""
    token = mesh.identity.mint_token("u1", str(uuid4()), ("user",))
    model.answer(
        [call("probe__send", "{}", index=0, id="c"), finish("tool_calls"), DONE],
        text_answer(f"your key is {FILE_KEY}"),
        [say("half "), event({"error": {"message": f"key {FILE_KEY} is bad", "code": 401}}), DONE],
    )
    parts = []
    async with AsyncClient(mesh.url, token) as client:
        for key in ("k1", "k2", "k3"):
            made = await client.create_run("hello", idempotency_key=key, zone="Etc/UTC", module="probe")
            parts.append(str(await client.wait(made["id"], 60)))
            parts.append((await client.send(Request("GET", f"/v1/runs/{made['id']}/export"))).text)
            parts.append((await client.send(Request("GET", f"/v1/runs/{made['id']}/events"))).text)
    async with httpx.AsyncClient(base_url=mesh.url, trust_env=False) as bare:
        for shown in (f"Bearer {token}x", f"Bearer {TOOL_KEY}"):
            answer = await bare.get("/v1/runs", headers={"Authorization": shown})
            parts.append(answer.text)
        parts.append((await bare.get("/v1/feed", params={"ticket": TOOL_KEY})).text)
    return "".join(parts), token

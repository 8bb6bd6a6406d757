"""A mesh that keeps its files in a bucket and secrets in Vault, and calls tools of others.

The other sides are careless: each tells back the secret it was shown, in results, errors and descriptions.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
from collections import deque
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from fencepost_cli.embedded.supervisor import Embedded
from fencepost_runtime.system import SystemClock

from tests.support import s3
from tests.support.http_requests import read_request
from tests.support.mcp import Wiki, by_stdio
from tests.support.scripted_model import Chunks, ScriptedModel, listening, providing
from tests.support.vault import Vault, vaulting

TOOL_KEY, FILE_KEY = "canary-tool-credential-81c2", "canary-model-key-of-a-file-7d20"
WIKI_KEY, VAULT_KEY = "canary-mcp-token-44e0", "canary-kept-in-vault-a6f3"
ROLE_SECRET: Final = "canary-approle-secret-0b7d"
NOTHING: Final[dict[str, Any]] = {"type": "object", "additionalProperties": False, "properties": {}}
TITLED: Final = {
    **NOTHING, "properties": {"title": {"type": "string", "maxLength": 300}}, "required": ["title"],
}  # fmt: skip


def contract_of(url: str, wiki: Wiki) -> dict[str, Any]:
    def asked(name: str, path: str, secret: str = "crm-key", **more: Any) -> dict[str, Any]:
        http = {"method": "GET", "url": url + path, "credential": {"secret": secret}}
        if "effect_class" in more:
            http |= {"method": "POST", "key_header": "Idempotency-Key", "external_id": "/told"}
        return told(name, http=http, **more)

    def told(name: str, **more: Any) -> dict[str, Any]:
        usual = {"description": "Tell the other side.", "risk": "low", "effect_class": "none"}
        shape = {"timeout_seconds": 5, "input_schema": NOTHING, "output_schema": {"type": "object"}}
        return {"name": f"probe.{name}", **usual, **shape, **more}

    mcp = {"command": wiki.endpoint["command"], "env": {"WIKI_TOKEN": {"secret": "wiki-key"}}}
    key = {"effect_class": "external_idempotent"}
    undo = {"tool": "probe.take_back", "arguments": {}}
    tools = [
        asked("send", "/echo"),
        asked("refused", "/refuse"),
        asked("vaulted", "/echo", "vaulted", **key),
        asked("put", "/echo", compensate=undo, **key),
        asked("take_back", "/echo", **key),
        told("make_report", effect_class="local", takes_time=True, requires_plan=True, input_schema=TITLED),
        {"name": "probe.search", "from": {"source": "wiki", "tool": "search"}, "risk": "low",
         "effect_class": "none", "timeout_seconds": 4},
        {"name": "probe.add_page", "from": {"source": "wiki", "tool": "addPage", "errors": "refused"},
         "timeout_seconds": 4},
    ]  # fmt: skip
    sources = [{"name": "wiki", "mcp": mcp}]
    return {"version": "1", "agent_name": "probe", "sources": sources, "allowed_tools": tools}


REPORT: Final = """\
from fencepost import Result, tool


@tool("probe.make_report")
class MakeReport:
    async def make(self, args, ctx):
        data = args["title"].encode()
        file = ctx.new_artifact("report.md", "text/markdown", data, evidence={"about": args["title"]})
        return Result({"artifact_id": str(file.id)}, artifacts=[file])
"""


class Echo:
    """A server that tells back whatever credential it was shown, and keeps the traces it is sent."""

    def __init__(self) -> None:
        self.credentials: list[str] = []
        self.traces = b""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                line, headers, body = await read_request(reader)
                status, answer = self._answer(line, headers, body)
                told = f"Content-Type: application/json\r\nContent-Length: {len(answer)}"
                writer.write(f"HTTP/1.1 {status} X\r\n{told}\r\n\r\n".encode() + answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass

    def _answer(self, line: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
        if " /v1/" in line:
            gzipped = headers.get("content-encoding") == "gzip"
            self.traces += gzip.decompress(body) if gzipped else body
            return 200, b""
        shown = headers.get("authorization", "")
        self.credentials.append(shown)
        if " /refuse" in line:
            return 422, json.dumps({"detail": f"not with {shown}"}).encode()
        return 200, json.dumps({"told": shown, shown: "as a name"}).encode()


@dataclass(slots=True)
class Outfit:
    """mesh and all that is beside it. bucket: folder of the S3 server that comes up later. held: its port."""

    mesh: Embedded
    model: ScriptedModel
    echo: Echo
    wiki: Wiki
    vault: Vault
    stack: AsyncExitStack
    bucket: Path
    held: socket.socket
    seen: list[str] = field(default_factory=list)  # all that anybody was told

    def script(self, *answers: Chunks) -> None:
        """What the model answers from here on; what the run before didn't ask for is dropped."""
        if answers:
            self.model.script = deque(answers)

    async def bring_back(self) -> None:
        """Start the S3 server and let Vault answer."""
        binary = s3.server_binary()
        port = self.held.getsockname()[1]
        self.held.close()
        server = s3.real(binary, port, self.bucket) if binary else s3.standing_in(port)
        await self.stack.enter_async_context(server)
        self.vault.down = False


@asynccontextmanager
async def outfitted(folder: Path) -> AsyncIterator[Outfit]:
    """The mesh started while bucket and Vault are away."""
    (folder / "bucket").mkdir()
    wiki = by_stdio(folder / "wiki")
    wiki.switch(echo=True)
    echo, held = Echo(), socket.socket()
    held.bind(("127.0.0.1", 0))  # and not listened on: who calls is refused
    async with AsyncExitStack() as stack:
        vault = await stack.enter_async_context(vaulting(SystemClock()))
        url = f"http://127.0.0.1:{await stack.enter_async_context(listening(echo.serve))}"
        model = await stack.enter_async_context(providing(ScriptedModel()))
        vault.down, vault.life, vault.roles = True, 600.0, {"mesh": ROLE_SECRET}
        vault.secrets = {
            "s3": {"id": s3.KEY_ID, "secret": s3.SECRET},
            "tools/vaulted": {"value": VAULT_KEY},
        }
        env = _environment(folder, url, model.url, vault.url, held.getsockname()[1])
        _module(folder, url, wiki)
        mesh = await stack.enter_async_context(Embedded(folder / "mesh", env=env))
        yield Outfit(mesh, model, echo, wiki, vault, stack, folder / "bucket", held)


def _module(folder: Path, url: str, wiki: Wiki) -> None:
    probe = folder / "modules" / "probe"
    probe.mkdir(parents=True)
    (probe / "contract.yaml").write_text(json.dumps(contract_of(url, wiki)) + "\n...\n")
    (probe / "tools").mkdir()
    (probe / "tools" / "__init__.py").write_text(REPORT)
    (folder / "secrets").mkdir()
    values = {"crm-key": TOOL_KEY, "wiki-key": WIKI_KEY, "model": FILE_KEY, "role": ROLE_SECRET}
    for name, value in values.items():
        (folder / "secrets" / name).write_text(value)


def _environment(folder: Path, url: str, model: str, vault: str, port: int) -> dict[str, str]:
    return {
        "FENCEPOST_MODEL_URL": model, "FENCEPOST_MODEL_NAME": "echo",
        "FENCEPOST_MODEL_KEY_FROM": f"file:{folder / 'secrets' / 'model'}",
        "FENCEPOST_MODULES_DIR": str(folder / "modules"),
        "FENCEPOST_SECRETS_DIR": str(folder / "secrets"), "FENCEPOST_SECRETS_VAULT_PATH": "tools",
        "FENCEPOST_EGRESS_ALLOW": "127.0.0.0/8",
        "FENCEPOST_VAULT_ADDRESS": vault, "FENCEPOST_VAULT_ROLE": "mesh",
        "FENCEPOST_VAULT_ROLE_SECRET": f"file:{folder / 'secrets' / 'role'}",
        "FENCEPOST_ARTIFACTS_URL": f"s3://{s3.BUCKET}/files",
        "FENCEPOST_ARTIFACTS_ENDPOINT": f"http://127.0.0.1:{port}",
        "FENCEPOST_ARTIFACTS_KEY_ID": "vault:s3#id", "FENCEPOST_ARTIFACTS_SECRET": "vault:s3#secret",
        "OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_BSP_SCHEDULE_DELAY": "200",
    }  # fmt: skip

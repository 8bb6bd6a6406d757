"""A tiny tool-gateway over real HTTP for the worker's tests: it keeps keys as the real one does, and fails on
request. It writes no database row; what it was asked is in `prepared` and `committed`."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from fencepost_contracts import canonical
from fencepost_contracts.loader import make_catalog, text_of
from fencepost_contracts.tools import Catalog, Tool
from fencepost_domain.vocabulary import EffectClass, Risk

from tests.support.scripted_model import listening

SECRET = "test-service-secret-0123456789"
_TEXT = {"type": "string", "minLength": 1}


def tool(
    name: str, risk: Risk, effect: EffectClass, required: list[str], optional: tuple[str, ...] = ()
) -> Tool:
    schema = {
        "type": "object",
        "properties": {key: dict(_TEXT) for key in (*required, *optional)},
        "required": required,
        "additionalProperties": False,
    }
    return Tool(
        name=name,
        version="1",
        description=name,
        input_schema=schema,
        output_schema={"type": "object"},
        risk=risk,
        effect_class=effect,
        approval=risk is not Risk.LOW,
        timeout_seconds=2.0,
    )


LIFE_TOOLS = (
    tool("life.create_reminder", Risk.MEDIUM, EffectClass.LOCAL, ["title", "at"], ("rrule", "zone")),
    tool(
        "life.add_ledger_entry", Risk.MEDIUM, EffectClass.LOCAL, ["amount", "currency"], ("note", "category")
    ),
    tool("life.list_reminders", Risk.LOW, EffectClass.NONE, []),
)


def life_catalog(version: str = "1", tools: tuple[Tool, ...] = LIFE_TOOLS, module: str = "life") -> Catalog:
    return make_catalog(module, version, tools)


def catalog_row(catalog: Catalog) -> tuple[str, str, str, str]:
    """fingerprint, module, version, body: a row of agent.catalogs."""
    return catalog.fingerprint, catalog.module, catalog.version, text_of(catalog)


@dataclass(slots=True)
class ScriptedGateway:
    """prepare_script, commit_script: what to answer next instead: a status, a (status, body), or `drop`; `ok`
    does what is asked.

    A `drop` does the work and cuts the connection before the answer: the lost acknowledgement.
    stands: what a commit of (index, n) is answered each time it comes, until it is taken out again.
    """

    catalog: Catalog
    url: str = ""
    prepared: list[dict[str, Any]] = field(default_factory=list)
    committed: list[dict[str, Any]] = field(default_factory=list)
    effects: dict[str, dict[str, Any]] = field(default_factory=dict)
    results: dict[str, Any] = field(default_factory=dict)
    prepare_script: deque[Any] = field(default_factory=deque)
    commit_script: deque[Any] = field(default_factory=deque)
    fences: list[str] = field(default_factory=list)
    commit_gate: asyncio.Event | None = None
    stands: dict[tuple[int, int], Any] = field(default_factory=dict)
    _stored: dict[str, dict[str, Any]] = field(default_factory=dict)

    async def handle(self, path: str, headers: dict[str, str], body: bytes) -> tuple[int, Any] | None:
        if headers.get("authorization") != f"Bearer {SECRET}":
            return 401, _problem(401, "unauthorized")
        self.fences.append(headers.get("fencepost-fence", ""))
        run_id = headers["fencepost-fence"].partition("/")[0]
        request = json.loads(body)
        if path.endswith("/prepare"):
            return await self._scripted(self.prepare_script, lambda: self._prepare(run_id, request))
        if self.commit_gate is not None:
            await self.commit_gate.wait()
        standing = self.stands.get((request["index"], request["n"]))
        script = self.commit_script if standing is None else deque([standing])
        return await self._scripted(script, lambda: self._commit(run_id, request))

    async def _scripted(self, script: deque[Any], work: Any) -> tuple[int, Any] | None:
        if not script:
            return 200, work()
        step = script.popleft()
        if step == "drop":
            work()
            return None
        if step == "ok":
            return 200, work()
        if isinstance(step, int):
            return step, _problem(step, "scripted")
        if isinstance(step, str):
            return 409, _problem(409, step)
        return step[0], step[1]

    def _prepare(self, run_id: str, request: dict[str, Any]) -> dict[str, Any]:
        self.prepared.append(request)
        actions = []
        for call in request["calls"]:
            key = f"{run_id}:action:{call['index']}:prepare:{call['n']}"
            known = self._stored.setdefault(key, self._action(call))
            actions.append(known)
        return {"actions": actions, "replayed": False}

    def _action(self, call: dict[str, Any]) -> dict[str, Any]:
        spec = self.catalog.tool(call["tool"])
        assert spec is not None
        shown = " ".join(str(value) for value in call["arguments"].values())
        return {
            "index": call["index"],
            "n": call["n"],
            "tool": call["tool"],
            "tool_version": "1",
            "arguments": call["arguments"],
            "arguments_hash": canonical.digest(call["arguments"]),
            "risk": str(spec.risk),
            "effect_class": str(spec.effect_class),
            "approval": spec.approval,
            "status": "approved" if call.get("edited_by") else "prepared",
            "preview": {"title": call["tool"], "lines": [], "text": f"{call['tool']}: {shown}"},
            "change": {"before": None, "after": call["arguments"], "summary": f"{call['tool']} {shown}"},
            "token_id": str(uuid4()),
            "expires_at": (datetime.now(UTC) + timedelta(days=1)).isoformat(),
        }

    def _commit(self, run_id: str, request: dict[str, Any]) -> dict[str, Any]:
        self.committed.append(request)
        key = f"{run_id}:action:{request['index']}:commit"
        replayed = key in self.effects
        action = self._stored[f"{run_id}:action:{request['index']}:prepare:{request['n']}"]
        result = self.results.get(action["tool"], {"id": str(uuid4())})
        if isinstance(result, deque) and not replayed:  # one after the other; the last one for ever
            result = result.popleft() if len(result) > 1 else result[0]
        stored = self.effects.setdefault(key, {"state": "completed", "result": result})
        return {**stored, "replayed": replayed, "result_invalid": False}


def _problem(status: int, code: str) -> dict[str, Any]:
    return {
        "type": f"urn:{code}",
        "title": code,
        "status": status,
        "detail": code,
        "code": code,
        "request_id": "t",
    }


@asynccontextmanager
async def serving(gateway: ScriptedGateway) -> AsyncIterator[ScriptedGateway]:
    """Serve on a free port of this loop."""

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                first, *lines = head.split("\r\n")
                pairs = (line.partition(":") for line in lines if line)
                headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                answer = await gateway.handle(first.split()[1], headers, body)
                if answer is None:
                    return
                content = json.dumps(answer[1]).encode()
                writer.write(
                    f"HTTP/1.1 {answer[0]} -\r\ncontent-type: application/json\r\n"
                    f"content-length: {len(content)}\r\n\r\n".encode()
                    + content
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            return

    async with listening(connection) as port:
        gateway.url = f"http://127.0.0.1:{port}"
        yield gateway

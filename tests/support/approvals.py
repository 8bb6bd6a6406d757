"""An api and a gateway on one database: asked by a worker, decided over HTTP, committed over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import httpx
from fencepost_domain.vocabulary import InterruptKind
from fencepost_store import interrupts
from fencepost_store.claims import Claim
from fencepost_store.runs import lock_run

from tests.support import api as api_support
from tests.support import gateway as gateway_support
from tests.support.lives import USER, Lives

APPROVE: Final = {"decision": "approve"}
REJECT: Final = {"decision": "reject"}
ADD: Final = "life.add_ledger_entry"
PAY, SEND, GUARDED, NOTE = "probe.pay", "probe.send", "probe.guarded", "probe.note"
CONTRACT: Final = """
version: "1"
agent_name: probe
allowed_tools:
  - name: probe.pay
    description: Pay somebody.
    risk: high
    effect_class: local
    timeout_seconds: 2
    approvers: {four_eyes: true, roles: [approver.finance], quorum: 2}
    input_schema:
      type: object
      additionalProperties: false
      required: [amount]
      properties: {amount: {type: string, minLength: 1}}
    output_schema: {type: object}
  - name: probe.note
    description: Note something.
    risk: medium
    effect_class: local
    timeout_seconds: 2
    grantable: true
    input_schema:
      type: object
      additionalProperties: false
      required: [text]
      properties: {text: {type: string}, n: {type: integer}}
    output_schema: {type: object}
  - name: probe.send
    description: Send files.
    risk: medium
    effect_class: local
    timeout_seconds: 2
    attachments: [files]
    input_schema:
      type: object
      additionalProperties: false
      required: [files]
      properties: {files: {type: array, items: {type: string, format: uuid}}}
    output_schema: {type: object}
  - name: probe.guarded
    description: What only operators may ask for.
    risk: medium
    effect_class: local
    timeout_seconds: 2
    roles: [operator]
    input_schema: {type: object, additionalProperties: false, properties: {}}
    output_schema: {type: object}
...
"""
TOOLS: Final = """
from fencepost import tool


@tool("probe.pay")
async def pay(args, ctx):
    return {}


@tool("probe.note")
async def note(args, ctx):
    return {}


@tool("probe.send")
async def send(args, ctx):
    return {}


@tool("probe.guarded")
async def guarded(args, ctx):
    return {}
"""


@dataclass(slots=True)
class Stage:
    """`gateway` speaks as a worker, `api` as people."""

    lives: Lives
    gateway: gateway_support.Served
    api: api_support.Served

    async def asked(
        self, tool: str = NOTE, arguments: Mapping[str, Any] | None = None, **more: Any
    ) -> tuple[Claim, dict[str, Any], UUID]:
        """A run that waits for the approval of one action."""
        module = tool.partition(".")[0]
        held = await self.gateway.bound(module=module, **more)
        action = await self.gateway.prepared(
            held, tool, arguments if arguments is not None else {"text": "x"}
        )
        return held, action, await self.ask(held, action)

    async def ask(self, held: Claim, action: Mapping[str, Any]) -> UUID:
        new = interrupts.NewInterrupt(
            self.lives.ids.uuid7(), InterruptKind.APPROVAL, action["index"], action["n"], "Shall I?",
            actions=((action["index"], action["n"]),), risk=action["risk"],
            preview=[{name: action[name] for name in ("index", "n", "tool", "risk", "arguments", "preview")}],
            change=[{"index": action["index"], **action["change"]}],
        )  # fmt: skip
        async with self.lives.worker.transaction() as tx:
            locked = await lock_run(tx, held.run.id)
            asked = await interrupts.open_and_park(
                tx, locked.run, locked.now, held.fence, new, wakes_seen=locked.run.wakes,
                event_id=tx.ids.uuid7(),
            )  # fmt: skip
            return asked.interrupt_id

    async def decide(
        self, interrupt: UUID, body: Mapping[str, Any], user: str = USER, *roles: str, key: str | None = None
    ) -> httpx.Response:
        headers = {"Idempotency-Key": key} if key else api_support.a_key()
        client = self.api.as_(user, *(roles or ("user",)))
        return await client.post(f"/v1/interrupts/{interrupt}/resolution", json=body, headers=headers)

    async def committed(self, held: Claim, action: Mapping[str, Any]) -> str:
        """`completed`, or the code it was refused with."""
        again = await self.again(held)
        answer = await self.gateway.commit(again, action)
        return str(answer.json().get("state") or gateway_support.code(answer))

    async def again(self, held: Claim) -> Claim:
        return await self.gateway.again(held.run.id, module=held.run.module)

    async def attempts(self) -> int:
        return await self.gateway.attempts()

    async def artifact(self, content: bytes = b"x", user: str = USER) -> UUID:
        """A registered file, without its bytes: the gateway compares hashes."""
        made = self.lives.ids.uuid7()
        await self.lives.sql(
            "INSERT INTO agent.artifacts (id, tenant_id, user_id, name, media_type, size_bytes, sha256)"
            " SELECT %s, tenant_id, %s, 'a.txt', 'text/plain', 1, sha256(%s) FROM agent.runs LIMIT 1",
            made, user, content,
        )  # fmt: skip
        return made


def remember(days: float = 7, **more: Any) -> dict[str, Any]:
    until = (datetime.now(UTC) + timedelta(days=days)).isoformat()
    return {**APPROVE, "remember": {"expires_at": until, **more}}


@asynccontextmanager
async def staged(lives: Lives, folder: Path) -> AsyncIterator[Stage]:
    modules = gateway_support.module_folder(CONTRACT, TOOLS)
    async with (
        gateway_support.serving(lives, dirs=[modules]) as gateway,
        api_support.serving(lives.database.dsn("api"), folder) as api,
    ):
        yield Stage(lives, gateway, api)

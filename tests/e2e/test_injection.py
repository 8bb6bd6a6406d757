"""Instructions in documents, results and pasted text, and a model that obeys each: nothing comes of it.

Over the whole mesh: real worker, gateway, api and Postgres. Nobody approves anything but the victim's own
reminder. What must hold: no effect without an approval, no secret stored or told, nothing of another tenant.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from email import message_from_bytes
from email.policy import default
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
import pytest_asyncio
from fencepost.aio import AsyncClient
from fencepost_cli.embedded.supervisor import Embedded
from fencepost_store.integrity import check_invariants

from tests.e2e.injected import ATTACKS, EVIL, FROM_DOCUMENTS, Attack, Obedient, do
from tests.e2e.test_secrets import secrets_of, stored_text
from tests.support.scripted_model import ScriptedModel, providing

KEY = "canary-model-key-3f9a1c77"
CANARY = "victims-own-words-7731"
AT_ONCE = 6  # attacks beside each other: the machine has few cores


@dataclass(slots=True)
class Field:
    mesh: Embedded
    model: Obedient

    def client(self, tenant: str, user: str = "u1") -> AsyncClient:
        return AsyncClient(self.mesh.url, self.mesh.identity.mint_token(user, tenant, ("user",)))


@pytest_asyncio.fixture(loop_scope="session")
async def field(tmp_path: Path) -> AsyncIterator[Field]:
    obedient = Obedient(KEY, obeyed=[])
    server = ScriptedModel()
    server.script = obedient  # type: ignore[assignment]
    async with providing(server) as provider:
        env = {
            "FENCEPOST_MODEL_URL": provider.url, "FENCEPOST_MODEL_NAME": "obeys", "FENCEPOST_MODEL_KEY": KEY,
        }  # fmt: skip
        async with Embedded(tmp_path, env=env) as mesh:
            yield Field(mesh, obedient)


async def asked(client: AsyncClient, text: str, **more: Any) -> dict[str, Any]:
    made = await client.create_run(text, idempotency_key=str(uuid4()), zone="Asia/Shanghai", **more)
    return await client.wait(made["id"], 60)


async def suffered(field: Field, attack: Attack) -> list[dict[str, Any]]:
    """The runs of one attack, in a tenant of its own."""
    async with field.client(str(uuid4())) as client:
        if attack not in FROM_DOCUMENTS:
            return [await asked(client, attack.words, module=attack.module)]
        name, data = "note.md", f"# Deliveries\n\n{attack.words}\n".encode()
        file = await client.upload(name, data, "text/markdown", idempotency_key=str(uuid4()))
        question = do("work.ask_document", documents=[file["id"]], question="What about deliveries?")
        read = await asked(client, question, module="work", attachments=[file["id"]])
        assert read["status"] == "succeeded", (attack.name, read["finalization"])
        conversation = read["conversation_id"]
        went_on = await asked(client, "Thank you, go on.", module="work", conversation_id=conversation)
        return [read, {**went_on, "made": await drafts_of(client, went_on)}]


async def drafts_of(client: AsyncClient, run: dict[str, Any]) -> list[str]:
    """The words of the mail drafts a run left, its heads included."""
    found = []
    for one in run["artifacts"]:
        if one["role"] == "output":
            message = message_from_bytes(await client.content(one["id"]), policy=default)
            body = message.get_body()
            found.append(f"{message.items()} {body.get_content() if body else ''}")
    return found


async def victim(field: Field) -> tuple[str, str]:
    """A tenant with a file and an approved reminder; their ids."""
    async with field.client(str(uuid4()), "victim") as client:
        data = f"# Deliveries\n\n{CANARY}\n".encode()
        file = await client.upload("own.md", data, "text/markdown", idempotency_key=str(uuid4()))
        wish = do("life.create_reminder", title=CANARY, at="2031-03-05T09:00:00+08:00")
        run = await asked(client, wish, module="life")
        interrupt = run["interrupt"]["id"]
        await client.resolve(interrupt, {"decision": "approve"}, idempotency_key=str(uuid4()))
        assert (await client.wait(run["id"], 60))["status"] == "succeeded"
        return str(file["id"]), str(run["id"])


async def rows(field: Field, query: str, *params: Any) -> list[tuple[Any, ...]]:
    async with await psycopg.AsyncConnection.connect(field.mesh.dsn()) as connection:
        return await (await connection.execute(query, params)).fetchall()  # type: ignore[arg-type]


@pytest.mark.timeout(900)
async def test_a_model_that_obeys_every_injected_instruction_comes_to_nothing(field: Field) -> None:
    assert len(ATTACKS) >= 40
    field.model.victim, its_run = await victim(field)
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(attack: Attack) -> list[dict[str, Any]]:
        async with gate:
            return await suffered(field, attack)

    ended = dict(zip(ATTACKS, await asyncio.gather(*(one(attack) for attack in ATTACKS)), strict=True))

    # Each attack was obeyed: what held wasn't the model.
    assert field.model.obeyed is not None
    assert len(set(field.model.obeyed)) >= len(ATTACKS)
    # What needs an approval happened once, to the victim, who gave it. A draft among one's own files needs
    # none; no draft went to the attacker, and none holds the key.
    effects = await rows(
        field,
        "SELECT DISTINCT a.run_id::text, a.tool, a.approval FROM agent.effects e JOIN agent.actions a"
        " ON a.run_id = e.run_id AND a.index = e.index WHERE a.effect_class <> 'none'",
    )
    assert [(run, tool) for run, tool, asks in effects if asks] == [(its_run, "life.create_reminder")]
    assert {tool for _, tool, asks in effects if not asks} <= {"work.draft_email"}
    [(reminders,)] = await rows(field, "SELECT count(*) FROM app.reminders")
    [(entries,)] = await rows(field, "SELECT count(*) FROM app.ledger_entries")
    assert (reminders, entries) == (1, 0)
    [(title,)] = await rows(field, "SELECT title FROM app.reminders WHERE status = 'active'")
    assert title == CANARY
    # What waits waits for a person.
    for attack, runs in ended.items():
        last = runs[-1]
        assert last["status"] != "waiting" or last["interrupt"]["kind"] in ("approval", "input"), attack.name
        told = str(last)
        assert CANARY not in told, attack.name
        assert KEY not in told, attack.name
        assert not any(EVIL in draft for draft in last.get("made", ())), attack.name
    # No secret is stored anywhere, and the log is whole.
    text = await stored_text(field.mesh.dsn())
    assert [name for name, secret in secrets_of(field.mesh).items() if secret in text] == []
    assert await check_invariants(field.mesh.dsn()) == []

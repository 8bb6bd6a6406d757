"""Hostile requests, as a table: each gets its documented problem, never a 500, and leaves no row behind.

`{run}` and the like stand for ids of the victim's things; the attacker is another user of the same tenant
unless a row says otherwise. Rows with raw bytes go over a bare socket, because no client would send them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import httpx
import psycopg
import pytest
from fencepost_api.context import Limits
from fencepost_api.problems import PROBLEMS, status_of
from fencepost_contracts.http_views import Problem

from tests.support.api import Served, a_key, serving
from tests.support.hostile_rows import DEEP, JSON, RAW, ROWS, RUNS, Row
from tests.support.lives import OTHER_TENANT, TENANT, USER, Lives, living
from tests.support.postgres import Cluster, Database

LIMITS: Final = Limits(
    body_bytes=65_536, path_bytes=2_048, header_bytes=16_384, body_wait=timedelta(seconds=1)
)


@dataclass
class Scene:
    """What a victim has, and who tries to get at it."""

    served: Served
    database: Database
    ids: dict[str, str]

    def client(self, who: str) -> httpx.AsyncClient:
        match who:
            case "victim":
                return self.served.as_(USER)
            case "stranger":
                return self.served.as_(USER, tenant=OTHER_TENANT)
            case "stranger_admin":
                return self.served.as_("chief", "user", "approver", "operator", "admin", tenant=OTHER_TENANT)
            case "approver":
                return self.served.as_("peer", "approver")
            case "roleless":
                return self.served.as_("peer", token=self.served.signer.token("peer", TENANT, ()))
            case "nobody":
                client = self.served.as_()
                del client.headers["Authorization"]
                return client
        return self.served.as_("mallory")

    async def rows(self) -> dict[str, int]:
        """How many rows every table that a request could touch has."""
        tables = (
            "runs conversations messages run_events outbox feed interrupts budgets settings finalizations"
        )
        sums = ", ".join(f"(SELECT count(*) FROM agent.{t}) AS {t}" for t in [*tables.split(), "principals"])
        marks = "(SELECT sum(revision + event_seq + wakes) FROM agent.runs) AS moves"
        async with await psycopg.AsyncConnection.connect(
            self.database.admin, row_factory=psycopg.rows.dict_row
        ) as connection:
            found = await (await connection.execute(f"SELECT {sums}, {marks}")).fetchone()
        assert found is not None
        return found

    def filled(self, value: Any) -> Any:
        """Ids in the places of a path or body."""
        if isinstance(value, str):
            for name, found in self.ids.items():
                value = value.replace("{" + name + "}", found)
        elif isinstance(value, dict):
            value = {key: self.filled(item) for key, item in value.items()}
        return value


@pytest.fixture(scope="module")
async def scene(
    postgres_cluster: Cluster, migrated_template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Scene]:
    database = postgres_cluster.create("fencepost_hostile", migrated_template)
    folder: Path = tmp_path_factory.mktemp("api")
    async with living(database) as lives, serving(database.dsn("api"), folder, LIMITS) as served:
        yield Scene(served, database, await victims_things(lives))
    postgres_cluster.drop("fencepost_hostile")


async def victims_things(lives: Lives) -> dict[str, str]:
    """A run that waits on an approval, one finished, and questions rejected, expired and withdrawn."""
    held, approval = await lives.waiting()
    finished = await lives.claimed()
    await lives.finalize(finished)
    _, rejected = await lives.waiting()
    await lives.resolve(rejected, "reject")
    _, expired = await lives.waiting()
    await lives.age("agent.interrupts", "expires_at", "id = %s", expired)
    stopped, withdrawn = await lives.waiting()
    await lives.cancel(stopped.run.id)
    await lives.queued(conversation_id=held.run.conversation_id)
    return {
        "run": str(held.run.id),
        "conversation": str(held.run.conversation_id),
        "approval": str(approval),
        "finished": str(finished.run.id),
        "rejected": str(rejected),
        "expired": str(expired),
        "withdrawn": str(withdrawn),
    }


def test_the_table_is_long_enough_and_its_codes_are_documented() -> None:
    assert len(ROWS) >= 60
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert {row.code for row in ROWS} <= set(PROBLEMS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
async def test_a_hostile_request_gets_its_problem_and_leaves_nothing(scene: Scene, row: Row) -> None:
    client, before = scene.client(row.who), await scene.rows()
    body = row.body if isinstance(row.body, bytes) else json.dumps(scene.filled(row.body)).encode()

    response = await client.request(
        row.method, scene.filled(row.path), content=b"" if row.body is None else body, headers=row.headers
    )

    assert (response.status_code, response.headers["content-type"]) == (
        status_of(row.code), "application/problem+json"), response.text  # fmt: skip
    problem = Problem.model_validate(response.json())
    assert (problem.code, problem.status) == (row.code, response.status_code)
    assert problem.request_id == response.headers["x-request-id"]
    if row.pointer is not None:
        assert row.pointer in [error.pointer for error in problem.errors], problem.errors
    for leak in ("Traceback", "psycopg", "sqlalchemy", "SELECT", 'File "'):
        assert leak not in response.text
    assert await scene.rows() == before


@pytest.mark.parametrize(("name", "sent", "status"), RAW, ids=[row[0] for row in RAW])
async def test_bytes_no_client_would_send_are_refused(
    scene: Scene, name: str, sent: bytes, status: int
) -> None:
    before = await scene.rows()
    reader, writer = await asyncio.open_connection("127.0.0.1", scene.served.port)
    writer.write(sent)

    async with asyncio.timeout(30):
        first = await reader.readline()
    writer.close()

    assert first.split()[1:2] == [str(status).encode()], first
    assert await scene.rows() == before


async def test_a_body_without_length_is_cut_off_at_the_limit(scene: Scene) -> None:
    sent = 0

    async def chunks() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(1_000):
            sent += 8_192
            yield b" " * 8_192

    headers = {**JSON, **a_key()}
    try:
        response = await scene.client("victim").post(RUNS, content=chunks(), headers=headers)
    except httpx.TransportError:  # the server hung up while we were still sending
        pass
    else:
        assert (response.status_code, response.json()["code"]) == (413, "body_too_large")
    assert sent < 1_000 * 8_192


async def test_a_body_that_trickles_is_given_up(scene: Scene) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", scene.served.port)
    token = scene.served.signer.token()
    head = f"POST /v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nIdempotency-Key: k\r\n"
    writer.write(f"{head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{".encode())
    async with asyncio.timeout(30):
        answer = await reader.read(65_536)
    writer.close()
    assert answer.startswith(b"HTTP/1.1 408") and b"request_timeout" in answer


async def test_text_nobody_can_store_is_replaced_visibly(scene: Scene) -> None:
    body = b'{"input":{"text":"a\\u0000b\\ud800c and \\\\u0000"}}'

    made = await scene.client("victim").post(RUNS, content=body, headers={**JSON, **a_key()})

    assert made.status_code == 201, made.text
    assert made.json()["input"]["text"] == "a\ufffdb\ufffdc and \\u0000"


async def test_a_flood_of_hostile_requests_leaves_a_healthy_service(scene: Scene) -> None:
    client = scene.client("mallory")
    answers = await asyncio.gather(
        *(client.post(RUNS, content=DEEP, headers={**JSON, **a_key()}) for _ in range(50))
    )
    assert {answer.status_code for answer in answers} == {400}
    assert (await client.get("/readyz")).json()["status"] == "ok"

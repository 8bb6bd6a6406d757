"""A person's part, by the thousand: approvals through the public API, by many clients at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import psycopg
from fencepost_cli.embedded.supervisor import Embedded
from fencepost_runtime.system import SystemIds

CLIENTS = 16


@asynccontextmanager
async def client_of(running: Embedded) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"Authorization": f"Bearer {running.token}"}
    limits = httpx.Limits(max_connections=CLIENTS, max_keepalive_connections=CLIENTS)
    async with httpx.AsyncClient(
        base_url=running.url, headers=headers, limits=limits, timeout=60, trust_env=False
    ) as client:
        yield client


async def approve(client: httpx.AsyncClient, interrupt: object, ids: SystemIds) -> None:
    answer = await client.post(
        f"/v1/interrupts/{interrupt}/resolution",
        json={"decision": "approve"},
        headers={"Idempotency-Key": str(ids.uuid7())},
    )
    answer.raise_for_status()


async def approve_all(running: Embedded, count: int) -> None:
    """Approve each question once, until `count` are approved. Questions are found in the database."""
    ids, seen = SystemIds(), set()
    turn = asyncio.Semaphore(CLIENTS)
    tasks: set[asyncio.Task[None]] = set()
    async with (
        client_of(running) as client,
        await psycopg.AsyncConnection.connect(running.dsn(), autocommit=True) as line,
    ):

        async def one(interrupt: object) -> None:
            async with turn:
                await approve(client, interrupt, ids)

        while len(seen) < count:
            cursor = await line.execute("SELECT id FROM agent.interrupts WHERE status = 'open' LIMIT 500")
            for (interrupt,) in await cursor.fetchall():
                if interrupt not in seen:
                    seen.add(interrupt)
                    tasks.add(asyncio.create_task(one(interrupt)))
            await asyncio.sleep(0.05)
        for task in tasks:
            await task

"""A real mesh for the fault suite: short leases, failpoints, and the truth read from its own database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import psycopg
from fencepost.aio import AsyncClient
from fencepost_cli.embedded.supervisor import Embedded
from fencepost_runtime.failpoints import Action, arm, disarm, hit_by, release, wait_hit
from fencepost_store.integrity import check_invariants

from tests.support.eventually import eventually

# Short, so that a take-over takes 3 s and not 6; still over three beats.
QUICK: Final = {
    "FENCEPOST_LEASE_SECONDS": "2.4",
    "FENCEPOST_BEAT_SECONDS": "0.6",
    "FENCEPOST_SWEEP_SECONDS": "0.2",
    "FENCEPOST_UNSERVED_SECONDS": "1",
    "FENCEPOST_UNSERVED_IN_ROLLOUT_SECONDS": "1",
}
PATIENCE: Final = 60.0  # for a recovery on two busy cores; a quiet machine needs 5


@dataclass
class Mesh:
    """The supervisor, and what a test asks of it beside the api."""

    running: Embedded
    failpoints: Path
    admin: psycopg.AsyncConnection[Any]

    async def sql(self, statement: str, *params: Any) -> list[Any]:
        """As the database's owner: what no service sees or may do."""
        cursor = await self.admin.execute(statement, params)  # type: ignore[arg-type]
        return await cursor.fetchall() if cursor.description else []

    async def violations(self) -> list[str]:
        return [str(v) for v in await check_invariants(self.running.dsn())]

    def client(self, tenant: str) -> AsyncClient:
        token = self.running.identity.mint_token("u1", tenant, ("user", "approver"))
        return AsyncClient(self.running.url, token)

    def operator(self, tenant: str) -> AsyncClient:
        token = self.running.identity.mint_token("ops", tenant, ("operator",))
        return AsyncClient(self.running.url, token)

    def arm(self, point: str, action: Action = Action.KILL) -> None:
        arm(self.failpoints, point, action)

    def disarm(self, point: str) -> None:
        disarm(self.failpoints, point)

    def release(self, point: str) -> None:
        release(self.failpoints, point)

    async def hit(self, point: str) -> int:
        return await wait_hit(self.failpoints, point, PATIENCE)

    def hit_by(self, point: str) -> int | None:
        return hit_by(self.failpoints, point)

    async def back(self, service: str, after: int | None = None) -> None:
        """Wait until a service is there again."""
        await self.running.wait_ready(service, after)

    async def until(self, statement: str, *params: Any) -> list[Any]:
        """Ask the database until it gives rows whose first value is true."""

        async def ask() -> list[Any]:
            rows = await self.sql(statement, *params)
            return rows if rows and rows[0][0] else []

        return await eventually(ask, timeout=PATIENCE, every=0.05)


@asynccontextmanager
async def mesh_at(folder: Path, env: Mapping[str, str] | None = None, **more: Any) -> AsyncIterator[Mesh]:
    failpoints = folder / "failpoints"
    failpoints.mkdir(parents=True, exist_ok=True)
    async with (
        Embedded(folder, failpoints=failpoints, env={**QUICK, **(env or {})}, **more) as running,
        await psycopg.AsyncConnection.connect(running.dsn(), autocommit=True) as admin,
    ):
        yield Mesh(running, failpoints, admin)


def new_tenant() -> str:
    return str(uuid4())

"""One real mesh for the session: Postgres, four services, killed and looked at from outside.

Each test is a tenant of its own, so that tests don't see each other's runs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio
from fencepost.aio import AsyncClient
from fencepost_cli.embedded.supervisor import Embedded


@dataclass
class Caller:
    """A person of a fresh tenant: over HTTP, and at the command line."""

    mesh: Embedded
    tenant: str
    client: AsyncClient
    user: str = "u1"

    def token(self, user: str | None = None, roles: tuple[str, ...] = ("user",)) -> str:
        return self.mesh.identity.mint_token(user or self.user, self.tenant, roles)

    async def ask(self, text: str, zone: str | None = "Asia/Shanghai", **rest: Any) -> dict[str, Any]:
        made = await self.client.create_run(text, idempotency_key=str(uuid4()), zone=zone, **rest)
        return await self.client.wait(made["id"], 30)

    async def resolve(self, run: dict[str, Any], **resolution: Any) -> dict[str, Any]:
        await self.client.resolve(run["interrupt"]["id"], resolution, idempotency_key=str(uuid4()))
        return await self.client.wait(run["id"], 30)

    async def items(self, path: str) -> list[dict[str, Any]]:
        from fencepost.requests import plain_list

        return list((await self.client.page(plain_list(path))).items)

    def cli(self, *args: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """The `fencepost` command as this person; no terminal."""
        known = {"FENCEPOST_URL": self.mesh.url, "FENCEPOST_TOKEN": self.token()}
        return subprocess.run(
            [sys.executable, "-P", "-m", "fencepost_cli.main", *args],
            env={**os.environ, **known, **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def cli_json(self, *args: str) -> Any:
        done = self.cli(*args, "--json")
        assert done.stdout, done.stderr
        return json.loads(done.stdout)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def mesh(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Embedded]:
    folder = tmp_path_factory.mktemp("mesh")
    failpoints = folder / "failpoints"
    failpoints.mkdir()
    async with Embedded(folder, failpoints=failpoints) as running:
        yield running


@pytest.fixture(scope="session")
def failpoints(mesh: Embedded) -> Path:
    return mesh.data_dir / "failpoints"


@pytest_asyncio.fixture(loop_scope="session")
async def caller(mesh: Embedded) -> AsyncIterator[Caller]:
    tenant = str(uuid4())
    token = mesh.identity.mint_token("u1", tenant, ("user",))
    async with AsyncClient(mesh.url, token) as client:
        yield Caller(mesh, tenant, client)

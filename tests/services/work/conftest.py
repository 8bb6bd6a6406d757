"""The module `work` behind a tool-gateway, with a store of files; connecting as fencepost_gateway."""

import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fencepost_runtime.artifacts import key_of
from fencepost_runtime.artifacts.filesystem import FilesystemArtifacts
from fencepost_runtime.system import SystemIds
from fencepost_store import artifacts as registry
from fencepost_store.claims import Claim
from fencepost_tool_gateway.files import Shelf

from tests.support.gateway import Served, serving
from tests.support.lives import TENANT, USER, living
from tests.support.postgres import Database

IDS = SystemIds()


@dataclass(slots=True)
class Desk:
    """A gateway, its files, and what a worker would ask it."""

    served: Served
    files: FilesystemArtifacts

    async def run(self, *files: str, locale: str = "en") -> Claim:
        """A claimed run of `work` with these attached."""
        held = await self.served.bound(module="work", locale=locale)
        await self.served.lives.sql(
            "UPDATE agent.runs SET input = input || jsonb_build_object('attachments', CAST(%s AS text[]))"
            " WHERE id = %s",
            list(files),
            held.run.id,
        )
        return held

    async def upload(self, name: str, data: bytes, media_type: str = "text/plain") -> str:
        new = IDS.uuid7()
        await self.files.put(key_of(TENANT, new), data)
        digest = hashlib.sha256(data).digest()
        async with self.served.lives.api.transaction(TENANT) as tx:
            row = registry.NewArtifact(new, TENANT, USER, name, media_type, len(data), digest)
            await registry.add_artifact(tx, row)
        return str(new)

    async def done(self, held: Claim, tool: str, index: int = 0, **arguments: Any) -> dict[str, Any]:
        """The outcome of a call that needs no approval."""
        action = await self.served.prepared(held, tool, arguments, index=index)
        response = await self.served.commit(held, action)
        assert response.status_code == 200, response.text
        return dict(response.json())


@pytest.fixture
async def desk(database: Database, tmp_path: Path) -> AsyncIterator[Desk]:
    files = FilesystemArtifacts(tmp_path / "artifacts", IDS)
    async with living(database) as lives, serving(lives, shelf=Shelf(files, 32 * 1024 * 1024)) as running:
        yield Desk(running, files)

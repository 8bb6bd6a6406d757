"""A real mesh that serves the desk, a stranger's module with a graph of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid4

import pytest
from fencepost import requests
from fencepost.aio import AsyncClient
from fencepost_domain.vocabulary import TERMINAL

from tests.faults.mesh import Mesh, mesh_at, new_tenant
from tests.support.eventually import eventually

MODULES: Final = Path(__file__).parent / "modules"
OVER: Final = {str(status) for status in TERMINAL}


@dataclass
class Desk:
    """One tenant at the mesh. log: what the graph's nodes noted."""

    mesh: Mesh
    client: AsyncClient
    log: Path
    module: str = "desk"
    runs: list[str] = field(default_factory=list)

    async def ask(self, text: str, **rest: Any) -> str:
        made = await self.client.create_run(text, module=self.module, idempotency_key=str(uuid4()), **rest)
        self.runs.append(str(made["id"]))
        return str(made["id"])

    async def waits(self, run_id: str) -> dict[str, Any]:
        """The run's open question, once it waits; or the run, where it ended instead."""

        async def look() -> dict[str, Any] | None:
            run: dict[str, Any] = await self.client.get_run(run_id)
            return run if run.get("interrupt") or run["status"] in OVER else None

        found = await eventually(look, 60.0)
        assert found is not None and found["status"] not in OVER, found
        question: dict[str, Any] = found["interrupt"]
        return question

    async def ended(self, run_id: str) -> dict[str, Any]:
        async def look() -> dict[str, Any] | None:
            run: dict[str, Any] = await self.client.get_run(run_id)
            return run if run["status"] in OVER else None

        found = await eventually(look, 60.0)
        assert found is not None
        return found

    async def decide(self, question: dict[str, Any], **resolution: Any) -> None:
        await self.client.resolve(question["id"], resolution, idempotency_key=str(uuid4()))

    async def verb(self, run_id: str, verb: str) -> None:
        """cancel, pause or resume."""
        await self.client.get(requests.run_verb(run_id, verb, str(uuid4())))

    def noted(self) -> list[str]:
        return self.log.read_text().split("\n")[:-1] if self.log.exists() else []

    def dies_at(self, place: str) -> None:
        """The worker kills itself where the graph notes this place, once."""
        self.log.with_suffix(".kill").write_text(place)

    def count(self, node: str) -> int:
        return self.noted().count(node)

    async def texts(self, run_id: str) -> list[tuple[str, str]]:
        rows = await self.mesh.sql(
            "SELECT kind, title FROM app.desk_texts WHERE run_id = %s ORDER BY created_at", UUID(run_id)
        )
        return [(kind, title) for kind, title in rows]

    async def effects(self, run_id: str) -> list[tuple[int, str, str]]:
        rows = await self.mesh.sql(
            "SELECT index, tool, state FROM agent.effects WHERE run_id = %s ORDER BY index", UUID(run_id)
        )
        return [(index, tool, state) for index, tool, state in rows]


@asynccontextmanager
async def desk_mesh(folder: Path, **env: str) -> AsyncIterator[Mesh]:
    told = {"FENCEPOST_MODULES_DIR": str(MODULES), "DESK_LOG": str(folder / "desk.log"), **env}
    with pytest.MonkeyPatch.context() as patched:  # the migrations read the environment of `up` itself
        patched.setenv("FENCEPOST_MODULES_DIR", told["FENCEPOST_MODULES_DIR"])
        async with mesh_at(folder, told) as mesh:
            yield mesh


@asynccontextmanager
async def at_desk(mesh: Mesh, folder: Path, module: str = "desk") -> AsyncIterator[Desk]:
    log = folder / "desk.log"
    _forget(log)
    async with mesh.client(new_tenant()) as client:
        yield Desk(mesh, client, log, module)


def _forget(log: Path) -> None:
    log.unlink(missing_ok=True)
    log.with_suffix(".failed").unlink(missing_ok=True)
    log.with_suffix(".kill").unlink(missing_ok=True)

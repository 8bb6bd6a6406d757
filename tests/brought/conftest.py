"""One real mesh for the files here, with modules of strangers; each test is a tenant of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.brought.desk import Desk, at_desk, desk_mesh
from tests.faults.mesh import Mesh
from tests.services.worker.bench import Bench, benches
from tests.support.postgres import Database


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def mesh(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Mesh]:
    async with desk_mesh(tmp_path_factory.mktemp("desk")) as running:
        yield running


@pytest.fixture
async def bench(database: Database) -> AsyncIterator[Bench]:
    async with benches(database) as one:
        yield one


@pytest_asyncio.fixture(loop_scope="session")
async def desk(mesh: Mesh) -> AsyncIterator[Desk]:
    async with at_desk(mesh, mesh.running.data_dir) as one:
        yield one

"""A bench a test: worker, scripted model, scripted gateway, real database."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.services.worker.bench import Bench, benches
from tests.support.postgres import Database


@pytest.fixture
async def bench(database: Database) -> AsyncIterator[Bench]:
    async with benches(database) as one:
        yield one

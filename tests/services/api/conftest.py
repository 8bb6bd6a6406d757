"""An api served over real HTTP on a database of the test's own, connecting as fencepost_api."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from fencepost_api.context import Limits

from tests.support.api import Served, serving
from tests.support.lives import Lives, living
from tests.support.postgres import Database

QUICK = Limits(twin_wait=timedelta(seconds=1), ping=timedelta(milliseconds=300))


@pytest.fixture
async def lives(database: Database) -> AsyncIterator[Lives]:
    async with living(database) as opened:
        yield opened


@pytest.fixture
async def served(database: Database, tmp_path: Path) -> AsyncIterator[Served]:
    async with serving(database.dsn("api"), tmp_path, QUICK) as running:
        yield running

"""A tool-gateway on a database of the test's own, connecting as fencepost_gateway."""

from collections.abc import AsyncIterator

import pytest

from tests.support.gateway import Served, serving
from tests.support.lives import Lives, living
from tests.support.postgres import Database


@pytest.fixture
async def lives(database: Database) -> AsyncIterator[Lives]:
    async with living(database) as opened:
        yield opened


@pytest.fixture
async def served(lives: Lives) -> AsyncIterator[Served]:
    async with serving(lives) as running:
        yield running

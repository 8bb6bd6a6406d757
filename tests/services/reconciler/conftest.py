"""The mesh's four roles on a database of the test's own."""

from collections.abc import AsyncIterator

import pytest

from tests.support.lives import Lives, living
from tests.support.postgres import Database


@pytest.fixture
async def lives(database: Database) -> AsyncIterator[Lives]:
    async with living(database) as opened:
        yield opened

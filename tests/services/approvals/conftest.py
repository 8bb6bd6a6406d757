"""People, an api and a gateway on one database."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.approvals import Stage, staged
from tests.support.lives import Lives, living
from tests.support.postgres import Database


@pytest.fixture
async def lives(database: Database) -> AsyncIterator[Lives]:
    async with living(database) as opened:
        yield opened


@pytest.fixture
async def stage(lives: Lives, tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(lives, tmp_path) as running:
        yield running

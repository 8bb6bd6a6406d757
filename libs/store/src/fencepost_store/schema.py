"""Is the database at this release's schema? Asked by `/readyz`, so it costs one statement and no Alembic."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from sqlalchemy.exc import ProgrammingError
from sqlalchemy.ext.asyncio import AsyncEngine

from fencepost_store.sql import statement

_VERSIONS = Path(__file__).parent / "migrations" / "versions"


@cache
def wanted_revision() -> str:
    """The newest core migration's number: what its file name begins with."""
    return max(path.name.partition("_")[0] for path in _VERSIONS.glob("[0-9]*_*.py"))


async def schema_is_current(engine: AsyncEngine) -> bool:
    """False also for a database that was never migrated. Raises what the driver raises when it is down."""
    try:
        async with engine.connect() as connection:
            found = (await connection.execute(statement("schema_revision"))).scalar_one_or_none()
    except ProgrammingError:  # no such table: never migrated
        return False
    return found == wanted_revision()

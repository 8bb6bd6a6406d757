"""What `fencepost doctor` asks of a database: facts, without judging them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from fencepost_store.engine import make_engine
from fencepost_store.sql import statement


@dataclass(frozen=True, slots=True)
class WorkFacts:
    """How work stands. idle_modules: due work and no living worker. overdue: what a sweep should have ended.

    nearly_used: runs whose next failure without progress is their last. poison: hints nobody could read.
    """

    workers: int
    idle_modules: tuple[str, ...]
    unserved: int
    overdue: int
    needs_human: int
    nearly_used: int
    poison: int


@dataclass(frozen=True, slots=True)
class DatabaseFacts:
    """version: as server_version_num. off: durability settings that are off. now: the database's clock.

    late_hints, parked_hints: of the outbox; 0 without a schema.
    """

    version: int
    off: tuple[str, ...]
    async_standbys: int
    has_schema: bool
    missing_roles: tuple[str, ...]
    now: datetime
    late_hints: int = 0
    parked_hints: int = 0
    work: WorkFacts | None = None


async def inspect_database(dsn: str) -> DatabaseFacts:
    """Raises sqlalchemy's OperationalError when the server does not answer."""
    engine = make_engine(dsn, size=1, application="fencepost-doctor")
    try:
        async with engine.connect() as connection:
            return await _facts(connection)
    finally:
        await engine.dispose()


async def _facts(connection: AsyncConnection) -> DatabaseFacts:
    server = (await connection.execute(statement("inspect_server"))).mappings().one()
    late = parked = 0
    work = None
    if server["has_schema"]:
        outbox = (await connection.execute(statement("inspect_outbox"))).mappings().one()
        late, parked = outbox["late"], outbox["parked"]
        row = (await connection.execute(statement("inspect_work"))).mappings().one()
        work = WorkFacts(**{**row, "idle_modules": tuple(row["idle_modules"])})
    return DatabaseFacts(
        version=server["version"],
        off=tuple(server["off"]),
        async_standbys=server["async_standbys"],
        has_schema=server["has_schema"],
        missing_roles=tuple(server["missing_roles"]),
        now=server["now"],
        late_hints=late,
        parked_hints=parked,
        work=work,
    )

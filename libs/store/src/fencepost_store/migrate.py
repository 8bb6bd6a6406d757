"""Bring a database to this release's schema: core first, then each module's `app` tables.

Forward only, under one advisory lock, so that replicas that all migrate wait for the first. A database
that is ahead of this code is refused with `SchemaAhead` rather than guessed at.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from fencepost_domain.errors import FencepostError
from psycopg import sql
from sqlalchemy import Connection, create_engine

from fencepost_store.engine import sqlalchemy_url

_HERE = Path(__file__).parent / "migrations"
_LOCK = 0x66656E6365  # "fence"
SCHEMA = "fencepost"  # holds the version tables alone; every service may read them
_READABLE = f"""
CREATE SCHEMA IF NOT EXISTS {SCHEMA};
GRANT USAGE ON SCHEMA {SCHEMA} TO PUBLIC;
ALTER DEFAULT PRIVILEGES IN SCHEMA {SCHEMA} GRANT SELECT ON TABLES TO PUBLIC;
"""


class SchemaAhead(FencepostError):
    """The database was migrated by a newer release: run that one, or restore a backup."""

    code = "schema_ahead"


@dataclass(frozen=True, slots=True)
class Branch:
    """One line of migrations: the core's, or a module's (`versions` holds NNNN_{pre,post}_slug.py)."""

    name: str
    versions: Path

    @property
    def version_table(self) -> str:
        return f"fencepost_schema_{self.name}"

    def config(self, connection: Connection) -> Config:
        config = Config()
        config.set_main_option("script_location", str(_HERE))
        config.set_main_option("version_locations", str(self.versions))
        config.set_main_option("path_separator", "newline")
        config.attributes.update(connection=connection, version_table=self.version_table)
        return config


CORE = Branch("core", _HERE / "versions")


def _heads(connection: Connection, branch: Branch) -> tuple[str | None, str | None, list[str]]:
    """Current revision, wanted revision, and all known ones, of a branch."""
    context = MigrationContext.configure(
        connection, opts={"version_table": branch.version_table, "version_table_schema": SCHEMA}
    )
    script = ScriptDirectory.from_config(branch.config(connection))
    known = [r.revision for r in script.walk_revisions()]
    return context.get_current_revision(), script.get_current_head(), known


def _set_passwords(connection: Connection, passwords: Mapping[str, str]) -> None:
    raw = connection.connection.driver_connection
    assert raw is not None
    for role, password in passwords.items():
        statement = sql.SQL("ALTER ROLE {} PASSWORD {}").format(sql.Identifier(role), sql.Literal(password))
        raw.execute(statement)


def _migrate(dsn: str, passwords: Mapping[str, str], modules: list[Branch]) -> list[str]:
    engine = create_engine(sqlalchemy_url(dsn))
    applied: list[str] = []
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql("SELECT pg_advisory_lock(%s)", (_LOCK,))
            connection.exec_driver_sql(_READABLE, execution_options={"no_parameters": True})
            connection.commit()
            for branch in (CORE, *modules):
                before, head, known = _heads(connection, branch)
                connection.commit()
                if before is not None and before not in known:
                    raise SchemaAhead(
                        f"{branch.name}: the database is at {before}, this release knows {head}"
                    )
                if before != head:
                    command.upgrade(branch.config(connection), "head")
                    applied.append(f"{branch.name}: {before or 'empty'} -> {head}")
                connection.commit()
            connection.exec_driver_sql("SELECT agent.guard_app_tables()")  # also those a module just made
            connection.commit()
            _set_passwords(connection, passwords)
            connection.commit()
            connection.exec_driver_sql("SELECT pg_advisory_unlock(%s)", (_LOCK,))
            connection.commit()
    finally:
        engine.dispose()
    return applied


async def migrate(
    admin_dsn: str, role_passwords: Mapping[str, str] | None = None, modules: list[Branch] | None = None
) -> list[str]:
    """Migrate to head and set the service roles' passwords. Returns what was applied, a line each.

    admin_dsn: of a role that may create roles and schemas. role_passwords: by role name; none are
    changed when empty. Raises SchemaAhead.
    """
    return await asyncio.to_thread(_migrate, admin_dsn, dict(role_passwords or {}), list(modules or []))

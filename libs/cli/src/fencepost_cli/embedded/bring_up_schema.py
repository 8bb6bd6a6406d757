"""Makes and migrates the embedded database, in a process of its own.

A child, because the migration tool is 60 MB that the supervisor would carry for as long as it lives. It
reads one JSON object from standard input: an environment or a command line would show the passwords.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fencepost_store.migrate import Branch


class MigrationsFailed(RuntimeError):
    """The message ends with what the migration said."""


async def bring_up_in_a_child(
    admin_dsn: str, database_dsn: str, database: str, passwords: Mapping[str, str]
) -> None:
    """Raises MigrationsFailed."""
    asked = {
        "admin_dsn": admin_dsn,
        "database_dsn": database_dsn,
        "database": database,
        "passwords": passwords,
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", __name__),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    output, _ = await process.communicate(json.dumps(asked).encode())
    if process.returncode != 0:
        raise MigrationsFailed(f"the migrations failed:\n{output.decode(errors='replace').strip()[-2000:]}")


async def bring_up(admin_dsn: str, database_dsn: str, database: str, passwords: dict[str, str]) -> list[str]:
    from fencepost_store.migrate import migrate

    _make_database(admin_dsn, database)
    return await migrate(database_dsn, passwords, module_branches())


def module_branches(modules_dir: Path | None = None) -> "list[Branch]":
    """The migrations of every module that has tables: ours, the operator's folder's, installed ones."""
    from fencepost_contracts.modules import discover_modules, module_dirs
    from fencepost_store.migrate import Branch

    given = os.environ.get("FENCEPOST_MODULES_DIR")
    found = discover_modules(module_dirs(modules_dir or (Path(given) if given else None)))
    return [Branch(module.name, module.migrations) for module in found if module.migrations]


def _make_database(admin_dsn: str, name: str) -> None:
    import psycopg
    from psycopg import sql

    with psycopg.connect(admin_dsn, autocommit=True) as connection:
        if not connection.execute("SELECT FROM pg_database WHERE datname = %s", (name,)).fetchone():
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))


def main() -> None:
    asked: dict[str, Any] = json.load(sys.stdin)
    for line in asyncio.run(bring_up(**asked)):
        sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()

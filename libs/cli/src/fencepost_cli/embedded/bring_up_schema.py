"""Makes and migrates the embedded database, in a process of its own, and only when something changed.

A child, because the migration tool is 60 MB that the supervisor would carry for as long as it lives. It
reads one JSON object from standard input: an environment or a command line would show the passwords.
A stamp beside the cluster says what was applied last; unchanged, the child's two seconds are saved.
"""

import asyncio
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fencepost_contracts.modules import ModuleFolder
    from fencepost_store.migrate import Branch


class MigrationsFailed(RuntimeError):
    """The message ends with what the migration said."""


async def bring_up_once(
    stamp: Path, admin_dsn: str, database_dsn: str, database: str, passwords: Mapping[str, str]
) -> bool:
    """Make and migrate the database unless `stamp` says that nothing changed; whether it was needed.

    Raises MigrationsFailed.
    """
    wanted = await asyncio.to_thread(_digest, passwords)
    if stamp.exists() and stamp.read_text() == wanted:
        return False
    await _in_a_child(
        admin_dsn=admin_dsn, database_dsn=database_dsn, database=database, passwords=dict(passwords)
    )
    stamp.write_text(wanted)
    return True


async def _in_a_child(**asked: Any) -> None:
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


def module_branches() -> "list[Branch]":
    """The migrations of every module that has tables: ours, the operator's folder's, installed ones."""
    from fencepost_store.migrate import Branch

    return [Branch(module.name, module.migrations) for module in _modules() if module.migrations]


def _modules() -> "list[ModuleFolder]":
    from fencepost_contracts.modules import discover_modules, module_dirs

    given = os.environ.get("FENCEPOST_MODULES_DIR")
    return discover_modules(module_dirs(Path(given) if given else None))


def _digest(passwords: Mapping[str, str]) -> str:
    """Of all that a migration depends on: every file of every branch, and the roles' passwords."""
    digest = hashlib.sha256(json.dumps(passwords, sort_keys=True).encode())
    for path in _migration_files():
        content = path.read_bytes()
        digest.update(f"{path.name}:{len(content)}:".encode() + content)
    return digest.hexdigest()


def _migration_files() -> Iterable[Path]:
    store = find_spec("fencepost_store")
    folders = (
        [Path(place, "migrations") for place in (store.submodule_search_locations or ())] if store else []
    )
    folders += [module.migrations for module in _modules() if module.migrations]
    for folder in folders:
        yield from sorted(path for path in folder.rglob("*") if path.suffix in {".py", ".sql"})


def _make_database(admin_dsn: str, name: str) -> None:
    import psycopg
    from psycopg import sql

    with psycopg.connect(admin_dsn, autocommit=True) as connection:
        found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone()
        if found is None:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))


def main() -> None:
    asked: dict[str, Any] = json.load(sys.stdin)
    for line in asyncio.run(bring_up(**asked)):
        sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()

"""Forward-only migrations: `versions/NNNN_{pre,post}_slug.py`, each running one file of `sql/`.

`pre` runs before new code is rolled out and must work under the last release; `post` once old code is gone.
"""

from __future__ import annotations

from pathlib import Path

from alembic import op

SQL = Path(__file__).parent / "sql"


def run_sql(name: str, folder: Path = SQL) -> None:
    """Run a whole SQL file in the migration's transaction. `%` and `:` are literal in it."""
    sql = (folder / name).read_text(encoding="utf-8")
    op.get_bind().exec_driver_sql(sql, execution_options={"no_parameters": True})

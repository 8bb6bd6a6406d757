"""A module's door to the gateway's open transaction: its own named SQL, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import text

from fencepost_store.sql import load_folder
from fencepost_store.transaction import Tx


class ModuleTx:
    """Runs the statements of one module's `sql/` folder. It cannot commit, roll back or change the tenant."""

    def __init__(self, tx: Tx, folder: Path) -> None:
        self._connection = tx.connection
        self._folder = folder

    async def rows(self, name: str, **params: Any) -> Sequence[Mapping[str, Any]]:
        """All rows of a named statement. Raises KeyError for a name the folder doesn't have."""
        result = await self._connection.execute(text(load_folder(self._folder)[name]), params)
        found: Sequence[Mapping[str, Any]] = result.mappings().all() if result.returns_rows else []  # type: ignore[assignment]
        return found

    async def row(self, name: str, **params: Any) -> Mapping[str, Any] | None:
        """The one row, or None; more than one is the statement's error and raises."""
        found = await self.rows(name, **params)
        if len(found) > 1:
            raise ValueError(f"{name} gave {len(found)} rows where one was asked for")
        return found[0] if found else None

"""One cheap question a tick: which sweep has something to do? On a raw connection outside the pool."""

from __future__ import annotations

from typing import Any, Final

import psycopg
from fencepost_domain.errors import Unavailable
from psycopg.rows import dict_row

from fencepost_store.raw import raw

CONNECT_SECONDS: Final = 3
NO_REMINDERS: Final = ""


class DueConnection:
    """One connection, one question at a time; connects on first use and again after a loss."""

    def __init__(self, dsn: str, application: str = "fencepost-due") -> None:
        self._dsn = dsn
        self._application = application
        self._connection: psycopg.AsyncConnection[dict[str, Any]] | None = None
        self._reminders = NO_REMINDERS

    async def ask(self) -> dict[str, bool]:
        """Loop name -> has it anything to do. Raises Unavailable."""
        try:
            connection = await self._ready()
            cursor = await connection.execute(raw("what_is_due", reminders=self._reminders))
            row = await cursor.fetchone()
        except psycopg.Error as error:
            await self.drop()
            raise Unavailable("the database did not say what is due") from error
        return dict(row or {})

    async def _ready(self) -> psycopg.AsyncConnection[dict[str, Any]]:
        if self._connection is None or self._connection.closed:
            self._connection = await psycopg.AsyncConnection.connect(
                self._dsn,
                autocommit=True,
                prepare_threshold=None,  # a transaction pooler may stand in front
                row_factory=dict_row,
                connect_timeout=CONNECT_SECONDS,
                application_name=self._application,
            )
        if self._reminders == NO_REMINDERS:
            cursor = await self._connection.execute(raw("reminders_are_here"))
            if (row := await cursor.fetchone()) and row["here"]:
                self._reminders = f" UNION ALL ({raw('are_reminders_due')})"
        return self._connection

    async def drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

"""Graph state of many runs in one statement, each run under its own record fence (design 02 §2, 09).

`GroupConnection` is one raw psycopg connection outside the pool: the group writer's own. It knows what a
lost answer means: it connects anew and sends the same group again, and rows that are there under their own
ids answer `written`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, Literal
from uuid import UUID

import psycopg
from fencepost_domain.errors import Unavailable
from fencepost_domain.fence import Fence, FenceKind
from fencepost_domain.run import check_fence
from psycopg.rows import tuple_row
from sqlalchemy import RowMapping

from fencepost_store.arrays import with_array_texts
from fencepost_store.engine import DEAD_LINE, GENERIC_PLANS
from fencepost_store.raw import raw
from fencepost_store.runs import lock_run
from fencepost_store.transaction import Tx

Answer = Literal["written", "busy", "lost"]
CONNECT_WITHIN: Final = timedelta(seconds=3)


@dataclass(frozen=True, slots=True)
class NewCheckpoint:
    """One checkpoint. body: the serializer's bytes; metadata: JSON text, without U+0000."""

    space: str
    id: str
    parent_id: str | None
    serde: str
    body: bytes
    metadata: str


@dataclass(frozen=True, slots=True)
class NewWrite:
    """One pending write of a task. place: the position in its list, negative for special channels."""

    space: str
    checkpoint_id: str
    task_id: str
    place: int
    channel: str
    path: str
    serde: str
    body: bytes


@dataclass(frozen=True, slots=True)
class RunWrites:
    """What one run has to write: at most one superstep of it, no place twice.

    held: checkpoints before it that waited for this one to travel with.
    """

    fence: Fence
    checkpoint: NewCheckpoint | None = None
    writes: Sequence[NewWrite] = field(default=())
    held: Sequence[NewCheckpoint] = field(default=())

    @property
    def checkpoints(self) -> list[NewCheckpoint]:
        """In the order they were made."""
        return [*self.held, *([self.checkpoint] if self.checkpoint is not None else [])]


class Busy(Exception):
    """A lock was waited for longer than the role allows; nothing was written."""


class DataRefused(Exception):
    """The database refused the statement's data; sent run by run, the others aren't held back."""


def group_params(group: Sequence[RunWrites]) -> dict[str, list[Any]]:
    """The group as the parallel arrays of `write_group`, runs in id order."""
    ordered = sorted(group, key=lambda one: one.fence.run_id)
    noted = [(one.fence.run_id, write) for one in ordered for write in one.writes]
    return {
        "run_ids": [one.fence.run_id for one in ordered],
        "owners": [one.fence.owner for one in ordered],
        "revisions": [one.fence.revision for one in ordered],
        **checkpoint_params([(one.fence.run_id, kept) for one in ordered for kept in one.checkpoints]),
        "w_runs": [run_id for run_id, _ in noted],
        "w_spaces": [w.space for _, w in noted],
        "w_ids": [w.checkpoint_id for _, w in noted],
        "w_tasks": [w.task_id for _, w in noted],
        "w_places": [w.place for _, w in noted],
        "w_channels": [w.channel for _, w in noted],
        "w_paths": [w.path for _, w in noted],
        "w_serdes": [w.serde for _, w in noted],
        "w_bodies": [w.body for _, w in noted],
    }


def checkpoint_params(kept: Sequence[tuple[UUID, NewCheckpoint]]) -> dict[str, list[Any]]:
    """Checkpoints with their runs, as the parallel arrays of the group statements."""
    return {
        "c_runs": [run_id for run_id, _ in kept],
        "c_spaces": [c.space for _, c in kept],
        "c_ids": [c.id for _, c in kept],
        "c_parents": [c.parent_id for _, c in kept],
        "c_serdes": [c.serde for _, c in kept],
        "c_bodies": [c.body for _, c in kept],
        "c_metadata": [c.metadata for _, c in kept],
    }


class GroupConnection:
    """One connection, one statement at a time. Not for concurrent use: the writer is its only caller."""

    def __init__(self, dsn: str, application: str = "fencepost-writer", prepare: int | None = None) -> None:
        """prepare: see engine.prepare_threshold."""
        self._dsn = dsn
        self._prepare = prepare
        self._application = application
        self._connection: psycopg.AsyncConnection[tuple[Any, ...]] | None = None
        self.statements = 0

    async def write(self, group: Sequence[RunWrites], *, wait: bool = False) -> dict[UUID, Answer]:
        """Send one group and hear for each run what became of it.

        wait: wait for the lock instead of answering `busy`; a lock timeout of the role is `busy` still.
        Raises DataRefused, Unavailable (nothing is known; ask again).
        """
        query = raw("write_group", skip="" if wait else "SKIP LOCKED")
        try:
            rows = await self.rows(query, group_params(group))
        except Busy:
            return {one.fence.run_id: "busy" for one in group}
        return {row[0]: row[1] for row in rows}

    async def rows(self, query: str, params: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """One statement. Raises Busy (a time-out of a lock), DataRefused, Unavailable (nothing is known)."""
        try:
            connection = await self._ready()
            self.statements += 1
            cursor = await connection.execute(query, with_array_texts(params))
            return await cursor.fetchall()
        except (psycopg.errors.LockNotAvailable, psycopg.errors.QueryCanceled) as error:
            raise Busy(type(error).__name__) from error
        except (psycopg.errors.DataError, psycopg.errors.IntegrityError) as error:
            raise DataRefused(type(error).__name__) from error
        except psycopg.Error as error:
            await self.drop()
            raise Unavailable("the database did not answer the group write") from error

    async def _ready(self) -> psycopg.AsyncConnection[tuple[Any, ...]]:
        if self._connection is None or self._connection.closed:
            self._connection = await psycopg.AsyncConnection.connect(
                self._dsn,
                autocommit=True,
                prepare_threshold=self._prepare,
                options=GENERIC_PLANS if self._prepare is not None else None,
                row_factory=tuple_row,
                connect_timeout=int(CONNECT_WITHIN.total_seconds()),
                application_name=self._application,
                **DEAD_LINE,
            )
        return self._connection

    async def drop(self) -> None:
        """Close; the next write connects anew."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()


async def newest(tx: Tx, run_id: UUID, space: str) -> RowMapping | None:
    return await tx.row("newest_checkpoint", run_id=run_id, space=space)


async def by_id(tx: Tx, run_id: UUID, space: str, checkpoint_id: str) -> RowMapping | None:
    return await tx.row("checkpoint_by_id", run_id=run_id, space=space, id=checkpoint_id)


async def listed(
    tx: Tx,
    run_id: UUID,
    *,
    space: str | None,
    checkpoint_id: str | None,
    before: str | None,
    filter_json: str,
    limit: int | None,
) -> Sequence[RowMapping]:
    return await tx.rows(
        "list_checkpoints",
        run_id=run_id,
        space=space,
        id=checkpoint_id,
        before=before,
        filter=filter_json,
        limit=limit,
    )


async def pending(tx: Tx, run_id: UUID, space: str, checkpoint_id: str) -> Sequence[RowMapping]:
    return await tx.rows("pending_writes", run_id=run_id, space=space, id=checkpoint_id)


async def delete(tx: Tx, fence: Fence) -> None:
    """Forget a run's graph state, under its fence. Raises FenceLost."""
    locked = await lock_run(tx, fence.run_id)
    check_fence(locked.run, fence, FenceKind.RECORD, locked.now)
    await tx.execute("delete_checkpoints", {"run_id": fence.run_id})


__all__: Sequence[str] = (
    "Answer", "Busy", "DataRefused", "GroupConnection", "NewCheckpoint", "NewWrite", "RunWrites",
    "by_id", "checkpoint_params", "delete", "group_params", "listed", "newest", "pending",
)  # fmt: skip

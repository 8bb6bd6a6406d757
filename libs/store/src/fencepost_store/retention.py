"""Old months of the log are dropped whole, by the database's owner alone (design 02 §8).

A month goes only when each run of it has ended before the instant, has no open effect and left a signed
anchor of its end. How a run ended, what it said to people and what it did stay in their own tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from fencepost_domain.errors import Invalid
from sqlalchemy import RowMapping

from fencepost_store.transaction import Store, Tx

TABLES: Final = ("run_event_payloads", "run_events")
LOCK: Final = "LOCK TABLE agent.run_events, agent.run_event_payloads IN ACCESS EXCLUSIVE MODE"
LOCK_TIMEOUT: Final = "2s"  # services wait behind a lock that is asked for, so it isn't asked for long


@dataclass(frozen=True, slots=True)
class Keeper:
    """A run that keeps its month. why: live, ended_since, open_effect or not_anchored."""

    run_id: UUID
    why: str


@dataclass(frozen=True, slots=True)
class Month:
    """name: `YYYYMM`. keepers: the first eleven; without one it may go. dropped: it went."""

    name: str
    runs: int
    keepers: tuple[Keeper, ...]
    dropped: bool = False


async def old_months(tx: Tx, before: datetime) -> list[Month]:
    """The months of the log that lie wholly before an instant, the oldest first.

    Raises Invalid for an instant ahead, or without a zone.
    """
    row = await tx.row("is_past", before=before)
    if before.tzinfo is None or row is None or not row["is_past"]:
        raise Invalid("/before", "a past instant with a zone is needed", "before")
    found = [row["month"] for row in await tx.rows("log_months", before=before)]
    return [await _looked_at(tx, month, before) for month in found]


async def drop_month(store: Store, name: str, before: datetime, *, actor: str, reason: str) -> Month:
    """Drop a month's two partitions; nothing where a run keeps it. Appends wait meanwhile.

    Raises Unavailable where the log is too busy to be locked: ask again, in a quiet hour.
    """
    month = datetime.strptime(name, "%Y%m").replace(tzinfo=UTC)
    async with store.transaction() as tx:
        await tx.connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
        # Nothing may be appended between the last look and the drop: it would land in the DEFAULT partition.
        await tx.connection.exec_driver_sql(LOCK)
        looked = await _looked_at(tx, month, before)
        if looked.keepers:
            return looked
        for table in TABLES:
            # The name is a table's of ours and six digits of a date; DDL takes no parameters.
            await tx.connection.exec_driver_sql(f"DROP TABLE agent.{table}_{month:%Y%m}")
        await tx.execute(
            "note_dropped", {"actor": actor, "name": name, "runs": looked.runs, "reason": reason}
        )
    return Month(name, looked.runs, (), dropped=True)


async def _looked_at(tx: Tx, month: datetime, before: datetime) -> Month:
    rows = await tx.rows("month_keepers", month=month, before=before)
    count = await tx.row("month_runs", month=month)
    return Month(f"{month.astimezone(UTC):%Y%m}", int(count["runs"]) if count else 0, _keepers(rows))


def _keepers(rows: Sequence[RowMapping]) -> tuple[Keeper, ...]:
    return tuple(Keeper(row["id"], row["why"]) for row in rows)

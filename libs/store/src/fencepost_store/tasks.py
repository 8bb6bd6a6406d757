"""Asynchronous tasks: a row from before the start until the run was told of the end (design 02 §5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from fencepost_domain.vocabulary import EffectState

from fencepost_store.transaction import Tx

CANCELLED: Final = "task_cancelled"  # the code of an error by which the other side says that it stopped
_STATES: Final = {
    EffectState.STARTED: "starting",
    EffectState.ACCEPTED: "running",
    EffectState.COMPLETED: "completed",
    EffectState.FAILED: "failed",
    EffectState.UNKNOWN: "unknown",
}


@dataclass(frozen=True, slots=True)
class Task:
    """external_id: the other side's name, None until it accepted. is_past: its time is over."""

    id: UUID
    effect_key: str
    run_id: UUID
    tool: str
    external_id: str | None
    state: str
    cancel_asked_at: datetime | None
    ended_at: datetime | None
    is_past: bool
    is_stopping: bool


async def insert_task(
    tx: Tx, *, effect_key: str, run_id: UUID, tenant_id: UUID, tool: str, timeout_seconds: float,
    lives_seconds: float,
) -> None:  # fmt: skip
    await tx.execute(
        "insert_task",
        {
            "id": tx.ids.uuid7(),
            "effect_key": effect_key,
            "run_id": run_id,
            "tenant_id": tenant_id,
            "tool": tool,
            "timeout_seconds": timeout_seconds,
            "lives_seconds": lives_seconds,
        },
    )


async def follow_effect(
    tx: Tx, effect_key: str, state: EffectState, *, external_id: str | None, code: str | None
) -> bool:
    """The task's state after its effect's; False when nothing changed. code: of the effect's error."""
    followed = _STATES.get(state)
    if followed is None:
        return False
    if followed == "failed" and code == CANCELLED:
        followed = "cancelled"
    row = await tx.row("task_follows_effect", effect_key=effect_key, state=followed, external_id=external_id)
    return row is not None


async def note_cancel_asked(tx: Tx, task_id: UUID) -> None:
    await tx.execute("note_cancel_asked", {"id": task_id})


async def tenant_of_task(tx: Tx, task_id: UUID) -> UUID | None:
    row = await tx.row("tenant_of_task", id=task_id)
    return row["tenant_id"] if row is not None else None


async def task_by_id(tx: Tx, task_id: UUID) -> Task | None:
    row = await tx.row("task_by_id", id=task_id)
    return Task(**row) if row is not None else None


async def task_of_effect(tx: Tx, effect_key: str) -> UUID | None:
    row = await tx.row("task_of_effect", effect_key=effect_key)
    return row["id"] if row is not None else None


async def take_due_tasks(tx: Tx, batch: int) -> Sequence[UUID]:
    return [row["id"] for row in await tx.rows("take_due_tasks", batch=batch)]


async def tell_task(tx: Tx, task_id: UUID) -> bool:
    return await tx.row("tell_task", id=task_id) is not None

"""Reading the log for streams: events of some runs of one tenant, with what they name by id, as shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from fencepost_domain.vocabulary import Ev
from fencepost_store import views
from fencepost_store.transaction import Store, Tx
from pydantic_core import to_json

from fencepost_api import render
from fencepost_api.streams.translate import CLOSED, Logged, Shown, show

BATCH: Final = 200  # events of one run read at once; a longer history is read in turns


@dataclass(frozen=True, slots=True)
class Part:
    """What was read of one run: shown events, and the last seq read whether shown or not.

    gap: events between the position asked for and the first found are gone (pruned).
    """

    shown: tuple[Shown, ...]
    last_seq: int
    gap: bool = False
    full: bool = False


async def read_events(store: Store, tenant_id: UUID, positions: Mapping[UUID, int]) -> dict[UUID, Part]:
    """Events of runs of one tenant, each after its position; runs without any are left out."""
    async with store.transaction(tenant_id) as tx:
        return await read_events_in(tx, positions)


async def read_events_in(tx: Tx, positions: Mapping[UUID, int]) -> dict[UUID, Part]:
    """The same in a transaction that is open already."""
    rows = await views.stream_events(tx, positions, BATCH)
    payloads = [render.payload(row) or {} for row in rows]
    pairs = list(zip(rows, payloads, strict=True))
    said, ended, asked = await views.stream_details(
        tx,
        _ids(payload.get("message_id") for row, payload in pairs if row["type"] == Ev.MESSAGE_COMPLETED),
        [row["run_id"] for row in rows if row["type"] == Ev.RUN_FINALIZED],
        _ids(payload.get("interrupt_id") for row, payload in pairs if _asks(row["type"])),
    )
    by_run: dict[UUID, list[Logged]] = {}
    for row, payload in pairs:
        event = Logged(
            run_id=str(row["run_id"]),
            seq=row["seq"],
            type=row["type"],
            at=render.utc(row["at"]).isoformat(),
            payload=payload,
            message=said.get(render.uuid_or_none(payload.get("message_id"))),  # type: ignore[arg-type]
            interrupt=_interrupt(asked.get(render.uuid_or_none(payload.get("interrupt_id")))),  # type: ignore[arg-type]
            finalization=_finalization(ended.get(row["run_id"])),
        )
        by_run.setdefault(row["run_id"], []).append(event)
    return {run_id: _part(events, positions[run_id]) for run_id, events in by_run.items()}


def _part(events: Sequence[Logged], after: int) -> Part:
    shown = tuple(found for event in events if (found := show(event)) is not None)
    return Part(shown, events[-1].seq, gap=events[0].seq != after + 1, full=len(events) >= BATCH)


def _asks(kind: str) -> bool:
    return kind == Ev.INTERRUPT_OPENED or kind in CLOSED


def _ids(values: Iterable[object]) -> list[UUID]:
    return [found for value in values if (found := render.uuid_or_none(value)) is not None]


def _interrupt(row: Any) -> dict[str, Any] | None:
    return render.interrupt(row) if row is not None else None


def _finalization(row: Any) -> dict[str, Any] | None:
    return render.finalization(row) if row is not None else None


async def snapshot(store: Store, tenant_id: UUID, run_id: UUID) -> tuple[Shown, int]:
    """`resync`: the whole run as it is, and the seq to go on after; of an ended run, before its last word.

    So that an ended run still says `run.finished` with its id, from which a reconnect gets 204.
    """
    async with store.transaction(tenant_id) as tx:
        row = await views.run(tx, run_id)
        access = await views.run_access(tx, run_id)
    stands_at = access.terminal_seq - 1 if access.terminal_seq else row["event_seq"]
    return Shown("resync", to_json({"run": render.run(row)})), stands_at

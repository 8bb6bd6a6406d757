"""A run's log for exports, anchors that leave the database, and erasure (design 02 §8).

Long logs are read a page at a time, each in a transaction of its own up to a head known before: the log only
grows at its end, so the pages fit each other, and a slow reader holds nothing open.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from fencepost_contracts.evidence.bundle import BundleWriter
from fencepost_domain.decision import Decision, NewEvent
from fencepost_domain.errors import NotFound, Unavailable
from fencepost_domain.vocabulary import Ev
from sqlalchemy import RowMapping

from fencepost_store.event_log import PageSize
from fencepost_store.record import record
from fencepost_store.runs import lock_run
from fencepost_store.transaction import Store, Tx

PAGE: Final = 2_000  # events read at once, at most
WAITS: Final = (0.2, 0.5, 1.0, 2.0)  # s; before a page is asked for again by a bundle that is half sent


async def head_of(tx: Tx, run_id: UUID, user_id: str | None = None) -> RowMapping:
    """What a header says, and how far the log goes now. user_id: only a run of this user.

    Raises NotFound.
    """
    row = await tx.row("export_head", run_id=run_id)
    if row is None or (user_id is not None and row["user_id"] != user_id):
        raise NotFound("run", run_id)
    return row


def header_of(head: RowMapping) -> dict[str, Any]:
    """A bundle header's members."""
    anchor = None
    if head["anchor_seq"] is not None:
        anchor = {
            "seq": head["anchor_seq"],
            "hash": bytes(head["anchor_hash"]).hex(),
            "key_id": head["key_id"],
            "signature": bytes(head["signature"]).hex(),
            "signed_at": head["signed_at"],
        }
    return {
        **{
            name: head[name]
            for name in ("tenant_id", "module", "mode", "status", "created_at", "finished_at")
        },
        "exported_at": head["exported_at"],
        "bound": {"graph": head["graph"], "manifest": head["manifest_fp"], "catalog": head["catalog_fp"]},
        "head": {"seq": head["event_seq"], "hash": bytes(head["event_head"]).hex()},
        "lineage": {
            "root_run_id": head["root_run_id"],
            "origin_run_id": head["origin_run_id"],
            "origin_kind": head["origin_kind"],
            "origin_seq": head["origin_seq"],
        },
        "anchor": anchor,
    }


async def bundle_lines(
    store: Store, tenant_id: UUID, head: RowMapping, writer: BundleWriter
) -> AsyncIterator[bytes]:
    """The bundle, some lines at a time; memory holds one page. head: of head_of.

    A page that a busy database doesn't give in time is asked for again, a smaller one: what was sent can't be
    taken back. Raises Unavailable where it stays away; then no trailer was sent.
    """
    yield writer.header(header_of(head))
    after, upto = 0, head["event_seq"]
    size = PageSize(PAGE)
    while after < upto:
        rows = await _rows_of(
            store, tenant_id, "view_events", size, run_id=head["id"], after=after, upto=upto
        )
        if not rows:
            break  # pruned: the header's head and the anchor say how much there was
        after = rows[-1]["seq"]
        lines = b"".join([writer.event(row) for row in rows])
        size.took(len(rows), len(lines))
        yield lines
    rows = await _rows_of(store, tenant_id, "export_artifacts", None, run_id=head["id"])
    yield b"".join([*(writer.artifact(row) for row in rows), writer.trailer()])


async def _rows_of(
    store: Store, tenant_id: UUID, name: str, size: PageSize | None, **params: Any
) -> Sequence[RowMapping]:
    """A page in a transaction of its own. Raises Unavailable when it was asked for often enough."""
    for wait in (*WAITS, None):
        limit = {} if size is None else {"limit": size.now}
        try:
            async with store.transaction(tenant_id) as tx:
                return await tx.rows(name, **params, **limit)
        except Unavailable:
            if wait is None:
                raise
            if size is not None:
                size.halve()
            await asyncio.sleep(wait)
    raise AssertionError("unreachable")


async def erase_run(tx: Tx, run_id: UUID, *, by: str, reason: str) -> int:
    """Remove what a finished run's history says, and append `erased`; the chain still verifies.

    With it go its files (their bytes are listed for the reconciler) and what it wrote to its conversation's
    state. For the owner's connection alone: no service has the right. Returns how many payloads were removed.
    Raises NotFound, Conflict run_not_finished.
    """
    locked = await lock_run(tx, run_id)
    row = await tx.row("erase_run", run_id=run_id, by=by, reason=reason)
    assert row is not None
    event = NewEvent(tx.ids.uuid7(), Ev.ERASED, {"by": by, "seqs": [], "reason": reason}, by)
    await record(tx, locked.run, Decision(None, events=(event,)))
    return int(row["erased"])


@dataclass(frozen=True, slots=True)
class Erased:
    """What an erasure removed. made_from: runs that hold what they inherited, until they are erased too."""

    payloads: int
    values: int
    files: int
    made_from: tuple[UUID, ...]


async def erased_parts(tx: Tx, run_id: UUID) -> Erased:
    """What the newest erasure of a run removed. Raises NotFound where there was none."""
    row = await tx.row("erased_parts", run_id=run_id)
    if row is None:
        raise NotFound("erasure", run_id)
    told = row["detail"]
    made = [one["id"] for one in await tx.rows("made_from", run_id=run_id)]
    return Erased(told["payloads"], told.get("values", 0), told.get("files", 0), tuple(made))

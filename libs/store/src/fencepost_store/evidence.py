"""A run's log for exports and folds, anchors that leave the database, and erasure (design 02 §8).

Long logs are read a page at a time, each in a transaction of its own up to a head known before: the log only
grows at its end, so the pages fit each other, and a slow reader holds nothing open.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from fencepost_contracts.evidence.bundle import BundleWriter
from fencepost_contracts.evidence.log import LogEvent, read_event
from fencepost_domain.decision import Decision, NewEvent
from fencepost_domain.errors import NotFound
from fencepost_domain.vocabulary import Ev
from sqlalchemy import RowMapping

from fencepost_store.record import record
from fencepost_store.runs import lock_run
from fencepost_store.transaction import Store, Tx

PAGE: Final = 2_000  # events read at once: some megabytes, well within a role's statement_timeout
FOLD_PAGE: Final = 5_000  # sorted within work_mem
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


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
    """The bundle, some lines at a time; memory holds one page. head: of head_of."""
    yield writer.header(header_of(head))
    after, upto = 0, head["event_seq"]
    while after < upto:
        async with store.transaction(tenant_id) as tx:
            rows = (
                await tx.execute(
                    "view_events", {"run_id": head["id"], "after": after, "upto": upto, "limit": PAGE}
                )
            ).mappings()
            lines = []
            for row in rows:
                lines.append(writer.event(row))
                after = row["seq"]
        if not lines:
            break  # pruned: the header's head and the anchor say how much there was
        yield b"".join(lines)
    async with store.transaction(tenant_id) as tx:
        artifacts = [writer.artifact(row) for row in await tx.rows("export_artifacts", run_id=head["id"])]
    yield b"".join([*artifacts, writer.trailer()])


async def log_of(
    tx: Tx,
    run_id: UUID,
    upto: int,
    *,
    only: Collection[str] | None = None,
    reads: Collection[str] | None = None,
) -> list[LogEvent]:
    """A run's events up to a seq, for folds. only: of these types; reads: payloads of these types alone.

    Raises upcast.NewerEvent for an event of a newer release.
    """
    pages = await log_pages(tx, run_id, upto, only=only, reads=reads)
    return [event for page in pages for event in page]


class Page:
    """Events as they are stored, read one by one when they are asked for: a long log is never whole in memory
    as values. Iterating raises upcast.NewerEvent.
    """

    def __init__(self, row: RowMapping) -> None:
        self._row = row

    def __iter__(self) -> Iterator[LogEvent]:
        row = self._row
        columns = zip(
            row["seqs"],
            row["types"],
            row["versions"],
            row["ats"],
            row["actors"],
            row["payloads"],
            strict=True,
        )
        for seq, kind, version, at, actor, payload in columns:
            yield read_event(seq, kind, version, _EPOCH + timedelta(microseconds=at), actor, payload)


async def log_pages(
    tx: Tx,
    run_id: UUID,
    upto: int,
    *,
    only: Collection[str] | None = None,
    reads: Collection[str] | None = None,
) -> list[Page]:
    """As log_of, for whoever folds a long log elsewhere: in a thread, an event at a time."""
    found: list[Page] = []
    after = 0
    while True:
        row = await tx.row(
            "replay_events",
            run_id=run_id,
            after=after,
            upto=upto,
            limit=FOLD_PAGE,
            only=list(only) if only is not None else None,
            reads=list(reads) if reads is not None else None,
        )
        if row is None or row["seqs"] is None:
            return found
        found.append(Page(row))
        after = row["seqs"][-1]
        if len(row["seqs"]) < FOLD_PAGE:
            return found


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

"""Anchors: chain heads signed under a key outside the database (design 02 §8, I20)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from uuid import UUID

from fencepost_contracts.evidence.anchors import Anchored
from fencepost_domain.chain import anchor_signature
from sqlalchemy import RowMapping

from fencepost_store.transaction import Tx


@dataclass(frozen=True, slots=True)
class Head:
    """A run's head that is not anchored yet."""

    run_id: UUID
    tenant_id: UUID
    seq: int
    hash: bytes


@dataclass(frozen=True, slots=True)
class Walk:
    """heads: found among the runs looked at. upto: go on behind it; None at the end of all runs."""

    heads: Sequence[Head]
    upto: UUID | None


@dataclass(frozen=True, slots=True)
class AnchorKey:
    """What signs. Without one (`id` empty) heads are kept unsigned: a record, no proof."""

    id: str = ""
    key: bytes = b""


async def heads_to_anchor(tx: Tx, after: UUID, batch: int) -> Walk:
    rows = await tx.rows("heads_to_anchor", after=after, batch=batch)
    heads = [
        Head(row["run_id"], row["tenant_id"], row["seq"], bytes(row["hash"]))
        for row in rows
        if row["run_id"] is not None
    ]
    return Walk(heads, rows[0]["upto"] if rows and rows[0]["runs"] == batch else None)


async def anchor(tx: Tx, heads: Sequence[Head], key: AnchorKey) -> int:
    """Keep these heads, signed. Returns how many are new."""
    signatures = [
        anchor_signature(key.key, head.run_id, head.seq, head.hash) if key.id else b"" for head in heads
    ]
    result = await tx.execute(
        "insert_anchors",
        {
            "key_id": key.id,
            "run_ids": [head.run_id for head in heads],
            "seqs": [head.seq for head in heads],
            "tenant_ids": [head.tenant_id for head in heads],
            "hashes": [head.hash for head in heads],
            "signatures": signatures,
        },
    )
    return result.rowcount


async def every_anchor(tx: Tx, batch: int = 1_000) -> AsyncIterator[RowMapping]:
    """All anchors in the order of (run, seq), a page at a time."""
    run_id, seq = UUID(int=0), 0
    while rows := await tx.rows("all_anchors", after_run=run_id, after_seq=seq, limit=batch):
        for row in rows:
            yield row
        run_id, seq = rows[-1]["run_id"], rows[-1]["seq"]


@dataclass(frozen=True, slots=True)
class AnchorFault:
    """An anchor from outside that the database contradicts. fault: changed, missing, or missing_run."""

    run_id: UUID
    seq: int
    fault: str
    detail: str


@dataclass(slots=True)
class AnchorReport:
    """checked: all that were asked for; pruned: of runs whose events were pruned, which left an anchor."""

    checked: int = 0
    pruned: int = 0
    faults: list[AnchorFault] = field(default_factory=list)


async def compare_anchors(tx: Tx, anchors: Iterable[Anchored], batch: int = 500) -> AnchorReport:
    """Are the events that were anchored still there, as they were? Faults are named, all of them."""
    report = AnchorReport()
    for part in batched(anchors, batch):
        rows = await tx.rows(
            "anchored_events", run_ids=[one.run_id for one in part], seqs=[one.seq for one in part]
        )
        for one, row in zip(part, rows, strict=True):
            _compare(one, row, report)
    return report


def _compare(one: Anchored, row: RowMapping, report: AnchorReport) -> None:
    report.checked += 1
    if row["hash"] is not None:
        if bytes(row["hash"]) != one.hash:
            report.faults.append(
                AnchorFault(one.run_id, one.seq, "changed", "not the event that was anchored")
            )
        return
    if not row["has_run"]:
        report.faults.append(
            AnchorFault(one.run_id, one.seq, "missing_run", "the run was anchored, and is gone")
        )
        return
    if not row["has_events"] and row["kept_seq"] == row["head_seq"] and row["kept_hash"] == row["event_head"]:
        if one.seq == row["kept_seq"] and bytes(row["kept_hash"]) != one.hash:
            report.faults.append(
                AnchorFault(one.run_id, one.seq, "changed", "the anchor kept here is another")
            )
        else:
            report.pruned += 1
        return
    report.faults.append(AnchorFault(one.run_id, one.seq, "missing", "the event was anchored, and is gone"))


def batched(anchors: Iterable[Anchored], size: int) -> Iterator[list[Anchored]]:
    """Lists of at most `size`, one at a time."""
    each = iter(anchors)
    while part := list(islice(each, size)):
        yield part

"""Anchors: chain heads signed under a key outside the database (design 02 §8, I20)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from fencepost_domain.chain import anchor_signature

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

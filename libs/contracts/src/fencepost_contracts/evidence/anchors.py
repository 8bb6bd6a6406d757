"""Signed chain heads outside the database: what a history written anew contradicts (I20).

A file of them is JSONL, one head a line: kind `anchor`, run_id, seq, hash, signed_at, key_id, signature.
Whoever keeps such a file where the database's owner can't reach it can prove later that events up to each
head are still those that were there.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO
from uuid import UUID

import orjson
from fencepost_domain.chain import anchor_signature

from fencepost_contracts.evidence.bundle import line


@dataclass(frozen=True, slots=True)
class Anchored:
    """A head that was signed. key_id empty: kept without a key, a record and no proof."""

    run_id: UUID
    seq: int
    hash: bytes
    key_id: str
    signature: bytes

    def is_signed_by(self, keys: Mapping[str, bytes]) -> bool | None:
        """None when its key is not among `keys`."""
        key = keys.get(self.key_id)
        if key is None:
            return None
        return hmac.compare_digest(anchor_signature(key, self.run_id, self.seq, self.hash), self.signature)


class BadAnchors(ValueError):
    """The file is no file of anchors. The message names the line."""


def anchor_line(row: Mapping[Any, Any]) -> bytes:
    return line(
        {
            "kind": "anchor",
            "run_id": row["run_id"],
            "seq": row["seq"],
            "hash": bytes(row["hash"]).hex(),
            "signed_at": row["signed_at"],
            "key_id": row["key_id"],
            "signature": bytes(row["signature"]).hex(),
        }
    )


def read_anchors(source: BinaryIO) -> Iterator[Anchored]:
    """Raises BadAnchors. A last line without an end is refused like any other that can't be read."""
    for number, data in enumerate(source, start=1):
        if not data.strip():
            continue
        try:
            value = orjson.loads(data)
            yield Anchored(
                UUID(value["run_id"]),
                int(value["seq"]),
                bytes.fromhex(value["hash"]),
                str(value["key_id"]),
                bytes.fromhex(value["signature"]),
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            raise BadAnchors(f"line {number} is no anchor") from None

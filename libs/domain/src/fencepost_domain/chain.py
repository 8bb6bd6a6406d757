"""The event chain: SHA-256 over a fixed, length-delimited form.

The appending statement computes the same hash in SQL (`agent.event_hash`); golden vectors in
`tests/contract` bind the two. Changing a byte here is a new version of the chain.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

CHAIN_VERSION: Final = b"fencepost.event.v1"
GENESIS: Final = bytes(32)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ChainedEvent:
    """An event's envelope as stored: everything the hash covers, and the hash."""

    run_id: UUID
    seq: int
    id: UUID
    type: str
    schema_version: int
    actor: str
    at: datetime
    causation_id: UUID | None
    correlation_id: UUID | None
    payload_hash: bytes
    prev_hash: bytes
    hash: bytes


@dataclass(frozen=True, slots=True)
class ChainBreak:
    """What is wrong, at which seq: changed, missing, reordered, added, head or payload."""

    run_id: UUID
    seq: int
    fault: str
    detail: str


def payload_hash(salt: bytes, canonical: bytes) -> bytes:
    """Hash of a payload. salt: 16 random bytes, erased with the payload; canonical: RFC 8785."""
    return hashlib.sha256(salt + canonical).digest()


def _sized(value: bytes | None) -> bytes:
    if value is None:
        return (-1).to_bytes(4, "big", signed=True)
    return len(value).to_bytes(4, "big", signed=True) + value


def event_hash(event: ChainedEvent) -> bytes:
    """The hash the event must have, from its envelope and `prev_hash`."""
    micros = (event.at - _EPOCH) // timedelta(microseconds=1)
    form = b"".join(
        (
            _sized(CHAIN_VERSION),
            _sized(event.run_id.bytes),
            event.seq.to_bytes(8, "big", signed=True),
            _sized(event.id.bytes),
            _sized(event.type.encode()),
            event.schema_version.to_bytes(4, "big", signed=True),
            _sized(event.actor.encode()),
            micros.to_bytes(8, "big", signed=True),
            _sized(event.causation_id.bytes if event.causation_id else None),
            _sized(event.correlation_id.bytes if event.correlation_id else None),
            _sized(event.payload_hash),
            _sized(event.prev_hash),
        )
    )
    return hashlib.sha256(form).digest()


def verify_chain(
    run_id: UUID, events: Iterable[ChainedEvent], head_seq: int, head_hash: bytes
) -> list[ChainBreak]:
    """All breaks of one run's chain, in order; empty when it verifies against its head.

    events: by seq. A gap is reported once and the check goes on from the event after it, so that one
    missing event doesn't hide a changed one.
    """
    breaks: list[ChainBreak] = []
    seq, prev = 0, GENESIS
    for event in events:
        if event.seq != seq + 1:
            fault = "missing" if event.seq > seq + 1 else "reordered"
            breaks.append(ChainBreak(run_id, seq + 1, fault, f"found seq {event.seq} after {seq}"))
        elif event.prev_hash != prev:
            breaks.append(ChainBreak(run_id, event.seq, "reordered", "does not follow the event before it"))
        if event_hash(event) != event.hash:
            breaks.append(ChainBreak(run_id, event.seq, "changed", f"{event.type} does not hash to its hash"))
        seq, prev = event.seq, event.hash
    if seq < head_seq:
        breaks.append(ChainBreak(run_id, seq + 1, "missing", f"the head says {head_seq} events, {seq} found"))
    elif seq > head_seq:
        breaks.append(ChainBreak(run_id, head_seq + 1, "added", f"the head says {head_seq}, {seq} found"))
    elif prev != head_hash:
        breaks.append(ChainBreak(run_id, seq, "head", "the last event is not the one the head names"))
    return breaks


ANCHOR_VERSION: Final = b"fencepost.anchor.v1"


def anchor_signature(key: bytes, run_id: UUID, seq: int, head: bytes) -> bytes:
    """HMAC-SHA-256 over a run's head, under a key that is not in the database.

    An anchor that left the database proves to its holder that this history was not written anew.
    """
    form = _sized(ANCHOR_VERSION) + _sized(run_id.bytes) + seq.to_bytes(8, "big", signed=True) + _sized(head)
    return hmac.new(key, form, hashlib.sha256).digest()

"""The event chain: SHA-256 over a fixed, length-delimited form.

The appending statement computes the same hash in SQL (`agent.event_hash`); golden vectors in
`tests/contract` bind the two. Changing a byte here is a new version of the chain.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final
from uuid import UUID

CHAIN_VERSION: Final = b"fencepost.event.v1"
GENESIS: Final = bytes(32)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ID_BYTES: Final = 16
# All numbers are signed and big-endian; a length of -1 is no value.
_length: Final = struct.Struct(">i").pack
_INSTANT: Final = struct.Struct(">q").pack
_IDS: Final = struct.Struct(">i16sqi16s").pack
_NOTHING: Final = _length(-1)
_FIRST: Final = _length(len(CHAIN_VERSION)) + CHAIN_VERSION


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
    return _NOTHING if value is None else _length(len(value)) + value


def event_hash(event: ChainedEvent) -> bytes:
    """The hash the event must have, from its envelope and `prev_hash`."""
    since = event.at - _EPOCH
    micros = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    cause, correlation = event.causation_id, event.correlation_id
    form = (
        _FIRST
        + _IDS(_ID_BYTES, event.run_id.bytes, event.seq, _ID_BYTES, event.id.bytes)
        + _sized_text(event.type)
        + _length(event.schema_version)
        + _sized_text(event.actor)
        + _INSTANT(micros)
        + (_NOTHING if cause is None else _sized(cause.bytes))
        + (_NOTHING if correlation is None else _sized(correlation.bytes))
        + _sized(event.payload_hash)
        + _sized(event.prev_hash)
    )
    return hashlib.sha256(form).digest()


@lru_cache(maxsize=1024)
def _sized_text(value: str) -> bytes:
    """Types and actors: few of them, each in many events."""
    return _sized(value.encode())


class ChainCheck:
    """Verifies one run's chain while its events pass by, by seq: constant memory however long it is.

    A gap is reported once and the check goes on from the event after it, so that one missing event doesn't
    hide a changed one.
    """

    def __init__(self, run_id: UUID) -> None:
        self.run_id = run_id
        self.seq = 0
        self.head = GENESIS

    def add(self, event: ChainedEvent) -> list[ChainBreak]:
        """What is wrong with this event, after those before it."""
        breaks: list[ChainBreak] = []
        if event.seq != self.seq + 1:
            fault = "missing" if event.seq > self.seq + 1 else "reordered"
            detail = f"found seq {event.seq} after {self.seq}"
            breaks.append(ChainBreak(self.run_id, self.seq + 1, fault, detail))
        elif event.prev_hash != self.head:
            detail = "does not follow the event before it"
            breaks.append(ChainBreak(self.run_id, event.seq, "reordered", detail))
        if event_hash(event) != event.hash:
            detail = f"{event.type} does not hash to its hash"
            breaks.append(ChainBreak(self.run_id, event.seq, "changed", detail))
        self.seq, self.head = event.seq, event.hash
        return breaks

    def end(self, head_seq: int, head_hash: bytes) -> list[ChainBreak]:
        """What is wrong with the whole against the head that names its last event."""
        if self.seq < head_seq:
            detail = f"the head says {head_seq} events, {self.seq} found"
            return [ChainBreak(self.run_id, self.seq + 1, "missing", detail)]
        if self.seq > head_seq:
            detail = f"the head says {head_seq}, {self.seq} found"
            return [ChainBreak(self.run_id, head_seq + 1, "added", detail)]
        if self.head != head_hash:
            detail = "the last event is not the one the head names"
            return [ChainBreak(self.run_id, self.seq, "head", detail)]
        return []


def verify_chain(
    run_id: UUID, events: Iterable[ChainedEvent], head_seq: int, head_hash: bytes
) -> list[ChainBreak]:
    """All breaks of one run's chain, in order; empty when it verifies against its head. events: by seq."""
    check = ChainCheck(run_id)
    breaks = [found for event in events for found in check.add(event)]
    return breaks + check.end(head_seq, head_hash)


ANCHOR_VERSION: Final = b"fencepost.anchor.v1"


def anchor_signature(key: bytes, run_id: UUID, seq: int, head: bytes) -> bytes:
    """HMAC-SHA-256 over a run's head, under a key that is not in the database.

    An anchor that left the database proves to its holder that this history was not written anew.
    """
    form = _sized(ANCHOR_VERSION) + _sized(run_id.bytes) + seq.to_bytes(8, "big", signed=True) + _sized(head)
    return hmac.new(key, form, hashlib.sha256).digest()

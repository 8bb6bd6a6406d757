"""Reading a bundle's lines: bytes in, checked values out, and a name for what can't be one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, BinaryIO, Final
from uuid import UUID

import orjson
from fencepost_domain.chain import ChainedEvent

from fencepost_contracts.evidence.bundle import LONGEST_LINE, event_line
from fencepost_contracts.evidence.log import LogEvent, read_event

_PAYLOAD: Final = b',"payload":'  # a quote inside a JSON string is escaped: this is the member, never text
_HASH_BYTES: Final = 32
_ENVELOPE: Final = tuple(name for name in ChainedEvent.__slots__ if name != "run_id")


class BadLine(ValueError):
    """The line is none of a bundle's. `fault`: torn (no end, cut JSON) or unreadable."""

    def __init__(self, fault: str, detail: str) -> None:
        self.fault = fault
        super().__init__(detail)


@dataclass(frozen=True, slots=True)
class EventLine:
    """An event's envelope, the bytes its payload hash covers, and whether the line says it was erased."""

    event: ChainedEvent
    salt: bytes | None
    payload: bytes | None

    def as_exported(self) -> bytes:
        """The line as an export writes these values: another spelling of them is none of ours."""
        e = self.event
        envelope = {name: getattr(e, name) for name in _ENVELOPE}
        return event_line({**envelope, "salt": self.salt, "payload": self.payload})

    def logged(self) -> LogEvent:
        """For folds. Raises upcast.NewerEvent."""
        e = self.event
        return read_event(e.seq, e.type, e.schema_version, e.at, e.actor, self.payload)


def raw_lines(source: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """(offset, line with its newline). A line over LONGEST_LINE comes in pieces, none of which is JSON."""
    offset = 0
    while found := source.readline(LONGEST_LINE):
        yield offset, found
        offset += len(found)


def parse(data: bytes) -> dict[str, Any]:
    """A line's object with its `kind`. Raises BadLine."""
    try:
        value = orjson.loads(data)
    except ValueError as error:
        ended = data.endswith(b"\n")
        raise BadLine("unreadable" if ended else "torn", f"not JSON: {error}") from None
    if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
        raise BadLine("unreadable", "no object with a `kind`")
    return value


def event_of(run_id: UUID, value: dict[str, Any], data: bytes) -> EventLine:
    """An `event` line as values. Raises BadLine for a member that is missing or no such thing."""
    try:
        event = ChainedEvent(
            run_id=run_id,
            seq=_whole(value["seq"]),
            id=UUID(value["id"]),
            type=_text(value["type"]),
            schema_version=_whole(value["schema_version"], 2**31),
            actor=_text(value["actor"]),
            at=_instant(value["at"]),
            causation_id=UUID(value["causation_id"]) if value["causation_id"] is not None else None,
            correlation_id=UUID(value["correlation_id"]) if value["correlation_id"] is not None else None,
            payload_hash=_hash(value["payload_hash"]),
            prev_hash=_hash(value["prev_hash"]),
            hash=_hash(value["hash"]),
        )
        salt = bytes.fromhex(value["salt"]) if value["salt"] is not None else None
        payload = None if value["payload"] is None else _payload_bytes(data)
    except (KeyError, ValueError, TypeError, AttributeError, OverflowError) as error:
        raise BadLine("unreadable", f"an event without a proper {error}") from None
    return EventLine(event, salt, payload)


def _payload_bytes(data: bytes) -> bytes:
    """The payload's own bytes: what stands between its name and the line's closing brace."""
    start = data.find(_PAYLOAD)
    body = data.rstrip(b"\r\n")
    if start < 0 or not body.endswith(b"}"):
        raise ValueError("payload at the end of its line")
    return body[start + len(_PAYLOAD) : -1]


def _whole(value: object, below: int = 2**63) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < below:
        raise ValueError("whole number")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("text")
    return value


def _hash(value: str) -> bytes:
    found = bytes.fromhex(value)
    if len(found) != _HASH_BYTES or value != value.lower():
        raise ValueError("hash")
    return found


def _instant(value: str) -> datetime:
    found = datetime.fromisoformat(value)
    if found.tzinfo is None:
        raise ValueError("time with a zone")
    return found.astimezone(UTC)

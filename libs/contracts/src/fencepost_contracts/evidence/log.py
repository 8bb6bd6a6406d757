"""An event as folds read it: its place, and its payload in today's version, or None when it was erased."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from fencepost_domain.vocabulary import EVENT_VERSIONS

from fencepost_contracts.evidence.upcast import upcast

_OLD = {str(kind): version for kind, version in EVENT_VERSIONS.items()}


@dataclass(slots=True)
class LogEvent:
    """payload None: erased. Not frozen only because a hundred thousand are made at once."""

    seq: int
    type: str
    at: datetime
    actor: str
    payload: Mapping[str, Any] | None


def read_event(
    seq: int, kind: str, version: int, at: datetime, actor: str, payload: bytes | None
) -> LogEvent:
    """From stored bytes. Raises upcast.NewerEvent, and ValueError for bytes that are no JSON object."""
    return event_of_value(seq, kind, version, at, actor, None if payload is None else orjson.loads(payload))


def event_of_value(
    seq: int, kind: str, version: int, at: datetime, actor: str, payload: Mapping[str, Any] | None
) -> LogEvent:
    """From a stored payload's value. Raises upcast.NewerEvent."""
    if payload is not None and version != _OLD.get(kind, 1):
        payload = upcast(kind, version, payload)
    return LogEvent(seq, kind, at, actor, payload)


def payload_values(text: str) -> list[Mapping[str, Any] | None]:
    """A page's payloads, a JSON array with null for one that isn't there. Raises ValueError."""
    found: list[Mapping[str, Any] | None] = orjson.loads(text)
    return found


def until(events: Iterable[LogEvent], at_seq: int | None) -> Iterator[LogEvent]:
    """The events up to and with `at_seq`; all without one."""
    for event in events:
        if at_seq is not None and event.seq > at_seq:
            return
        yield event

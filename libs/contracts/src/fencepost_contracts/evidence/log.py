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
    if payload is None:
        return LogEvent(seq, kind, at, actor, None)
    body = orjson.loads(payload)
    if version != _OLD.get(kind, 1):
        body = upcast(kind, version, body)
    return LogEvent(seq, kind, at, actor, body)


def until(events: Iterable[LogEvent], at_seq: int | None) -> Iterator[LogEvent]:
    """The events up to and with `at_seq`; all without one."""
    for event in events:
        if at_seq is not None and event.seq > at_seq:
            return
        yield event

"""Every view that diagnostic replay can show, by name, and the event types whose payloads it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import orjson

from fencepost_contracts.evidence import folds, trajectory
from fencepost_contracts.evidence.folds import View
from fencepost_contracts.evidence.log import LogEvent

VIEWS: Final[Mapping[str, Callable[[Iterable[LogEvent]], View]]] = {
    **folds.VIEWS,
    "trajectory": trajectory.trajectory,
}
READS: Final[Mapping[str, frozenset[str] | None]] = {**folds.READS, "trajectory": trajectory.READ}


def types_of(view: str) -> frozenset[str] | None:
    """The types of the events that a view looks at, with or without their payloads; None: all."""
    reads = READS[view]
    return None if reads is None else reads | folds.COUNTS.get(view, frozenset())


def json_of(found: Mapping[str, Any]) -> bytes:
    """A view's answer: instants in RFC 3339 with Z, ids as text. By orjson: a long log's lines are 20 MB."""
    return orjson.dumps(found, option=orjson.OPT_UTC_Z)

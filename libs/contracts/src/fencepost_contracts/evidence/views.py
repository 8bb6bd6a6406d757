"""Every view that diagnostic replay can show, by name, and the event types whose payloads it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from fencepost_contracts.evidence import folds, trajectory
from fencepost_contracts.evidence.folds import View
from fencepost_contracts.evidence.log import LogEvent

VIEWS: Final[Mapping[str, Callable[[Iterable[LogEvent]], View]]] = {
    **folds.VIEWS,
    "trajectory": trajectory.trajectory,
}
READS: Final[Mapping[str, frozenset[str] | None]] = {**folds.READS, "trajectory": trajectory.READ}

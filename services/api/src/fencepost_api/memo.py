"""What was looked up a moment ago, so that not every request asks again. Small, short-lived, per process."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final, Generic, TypeVar

from fencepost_domain.ports import Clock

Value = TypeVar("Value")
MOST: Final = 10_000  # entries; all are let go when there are more, which is simple and rare


class Memo(Generic[Value]):
    """Values by key, each for `seconds`."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock, self._seconds = clock, seconds
        self._kept: dict[Hashable, tuple[float, Any]] = {}

    def get(self, key: Hashable) -> Value | None:
        found = self._kept.get(key)
        if found is None or found[0] < self._clock.monotonic():
            return None
        value: Value = found[1]
        return value

    def keep(self, key: Hashable, value: Value) -> None:
        if len(self._kept) >= MOST:
            self._kept.clear()
        self._kept[key] = (self._clock.monotonic() + self._seconds, value)

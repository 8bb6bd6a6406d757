"""Ports of the ambient world: time and ids are passed in, so that a test can hold them still."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol
from uuid import UUID


class Clock(Protocol):
    """A host's clock: for local waits and log lines. Durable comparisons are the database's."""

    def now(self) -> datetime:
        """The instant, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never run backwards; only differences mean anything."""
        ...


class Ids(Protocol):
    def uuid7(self) -> UUID:
        """A new time-ordered id (RFC 9562)."""
        ...

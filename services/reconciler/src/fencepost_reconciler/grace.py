"""An outage is nobody's fault: no lease is judged before its owner had time to renew it (design 02 §2).

While the database did not answer, no worker could renew. So nothing expires before one full lease after it
began to answer again, and after the start of this process, which can't know what was before.
"""

from __future__ import annotations

from datetime import timedelta

from fencepost_domain.ports import Clock


class Grace:
    """Knows since when the database has answered without a gap. Monotonic time of this process."""

    def __init__(self, lease: timedelta, clock: Clock) -> None:
        self._lease = lease.total_seconds()
        self._clock = clock
        self._since: float | None = None
        self._last = 0.0

    def answered(self) -> None:
        """The database answered just now. A gap of a lease since the last time counts as an outage."""
        now = self._clock.monotonic()
        if self._since is None or now - self._last >= self._lease:
            self._since = now
        self._last = now

    def failed(self) -> None:
        """It did not answer."""
        self._since = None

    def is_over(self) -> bool:
        """May an expired lease be believed?"""
        return self._since is not None and self._clock.monotonic() - self._since >= self._lease

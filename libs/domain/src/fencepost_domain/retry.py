"""Backoff of deferred runs."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

FIRST_RETRY: Final = timedelta(seconds=1)
LAST_RETRY: Final = timedelta(seconds=60)


def backoff(attempt: int, jitter: float = 0.5, *, hint: timedelta | None = None) -> timedelta:
    """How long attempt number `attempt` (1 is the first that failed) waits before the next.

    jitter: 0 to 1, passed in; moves the wait between 75 % and 125 %.
    hint: what the other side asked for (Retry-After); never undercut.
    """
    plain = min(FIRST_RETRY * (1 << min(max(attempt - 1, 0), 20)), LAST_RETRY)
    waited = plain * (0.75 + 0.5 * jitter)
    return max(waited, hint) if hint is not None else waited

"""Backoff of deferred runs and of polled tasks."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

MAX_ATTEMPTS: Final = 5
FIRST_RETRY: Final = timedelta(seconds=1)
LAST_RETRY: Final = timedelta(seconds=60)
FIRST_POLL: Final = timedelta(milliseconds=500)
LAST_POLL: Final = timedelta(seconds=5)


def backoff(attempt: int, jitter: float = 0.5, *, hint: timedelta | None = None) -> timedelta:
    """How long attempt number `attempt` (1 is the first that failed) waits before the next.

    jitter: 0 to 1, passed in; moves the wait between 75 % and 125 %.
    hint: what the other side asked for (Retry-After); never undercut.
    """
    plain = min(FIRST_RETRY * (1 << min(max(attempt - 1, 0), 20)), LAST_RETRY)
    waited = plain * (0.75 + 0.5 * jitter)
    return max(waited, hint) if hint is not None else waited


def poll_after(polls: int) -> timedelta:
    """Wait before poll number `polls` (0 is the first): 500 ms doubling to 5 s."""
    return min(FIRST_POLL * (1 << min(polls, 10)), LAST_POLL)

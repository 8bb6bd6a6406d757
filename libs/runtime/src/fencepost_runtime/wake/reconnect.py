"""Trying again without end and without haste: doubling waits, one log line an outage."""

import asyncio
from datetime import timedelta
from typing import Final

from fencepost_runtime.logging import get_logger

FIRST_WAIT: Final = timedelta(milliseconds=100)  # a restarted server is often back at once

log = get_logger(__name__)


class Reconnect:
    """State of one connection's outages. Not shared between connections."""

    def __init__(self, what: str, retry_at_most: timedelta) -> None:
        self._what = what
        self._longest = retry_at_most
        self._wait = FIRST_WAIT
        self._is_out = False

    def connected(self) -> None:
        if self._is_out:
            log.info("wake.reconnected", connection=self._what)
        self._is_out = False
        self._wait = FIRST_WAIT

    async def lost(self, error: BaseException) -> None:
        """Say so once, then wait: 0.1 s at first, doubled up to the longest."""
        if not self._is_out:
            log.warning("wake.unreachable", connection=self._what, error=str(error) or type(error).__name__)
        self._is_out = True
        await asyncio.sleep(self._wait.total_seconds())
        self._wait = min(self._wait * 2, self._longest)

"""An idle reconciler costs next to nothing: one question a tick says which sweep has something to do.

Only that: a sweep finds, locks and judges by itself, and runs each `AT_MOST` whatever was answered.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import timedelta
from typing import Final, Protocol

from fencepost_domain.errors import Unavailable
from fencepost_runtime.loop import Counts, RunOnce
from fencepost_runtime.wake import BellEar

from fencepost_reconciler.grace import Grace

EVERY: Final = timedelta(seconds=0.25)  # how much later a reminder or take-over is than it could be
AT_MOST: Final = timedelta(seconds=8)  # under a third of what makes a silent loop unready
RELAY: Final = "relay_outbox"


class Asked(Protocol):
    async def ask(self) -> dict[str, bool]: ...


class Due:
    """`look` each tick; `gate` a sweep's run_once, so that it waits until there is something to do."""

    def __init__(self, asked: Asked, ear: BellEar, grace: Grace) -> None:
        self._asked = asked
        self._ear = ear
        self._grace = grace
        self._flags: dict[str, asyncio.Event] = {}
        self._is_over = False

    async def close(self, stop: asyncio.Event) -> None:
        """At `stop`, let go of whoever waits here: an ending process waits for nobody."""
        await stop.wait()
        self._is_over = True
        self._ear.ring()
        for due in self._flags.values():
            due.set()

    async def look(self) -> None:
        """Ask once. An answer is a sign of life too, which the grace after an outage counts by."""
        try:
            answers = await self._asked.ask()
        except Unavailable:
            self._grace.failed()
            raise
        self._grace.answered()
        for name, is_due in answers.items():
            if is_due and name == RELAY:
                self._ear.ring()
            elif is_due and name in self._flags:
                self._flags[name].set()

    def raise_flag(self, name: str) -> None:
        """Somebody knows that this sweep has something to do: it needn't wait for the next look."""
        if name in self._flags:
            self._flags[name].set()

    def gate(self, name: str, run_once: RunOnce, at_most: timedelta = AT_MOST) -> RunOnce:
        """`run_once` that waits until it is due, `at_most` long; after `more` it goes on at once."""
        due = self._flags.setdefault(name, asyncio.Event())
        due.set()  # at the start everybody looks
        has_more = False

        async def gated() -> Counts:
            nonlocal has_more
            if not has_more:
                with suppress(TimeoutError):
                    async with asyncio.timeout(at_most.total_seconds()):
                        await due.wait()
            if self._is_over:
                return {}
            due.clear()
            has_more = True  # a round that fails is tried again after the loop's own backoff
            counts = await run_once()
            has_more = isinstance(counts, dict) and bool(counts.get("more"))
            return counts

        return gated

"""Branches of one fan-out in one process: who is enough, and who is stopped when it is.

Only a shortcut: what counts is what the branches' findings say when they join. After a crash the findings of
finished branches are there, and only the others run again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")


class Stopped(Exception):
    """This branch isn't needed any more: enough others succeeded, or one failed and takes the rest along."""


@dataclass(slots=True)
class Siblings:
    """needed: successes of `of` that are enough. cancel_rest: when they can't come together any more, the
    others are stopped. Made by the first to ask."""

    needed: int = 0
    of: int = 0
    cancel_rest: bool = False
    succeeded: int = 0
    failed: int = 0
    is_over: bool = False
    _running: set[asyncio.Task[object]] = field(default_factory=set)

    def agree(self, needed: int, of: int, *, cancel_rest: bool) -> None:
        """What all branches of a fan-out know from its plan."""
        self.needed, self.of, self.cancel_rest = needed, of, cancel_rest

    async def run(self, work: Awaitable[T]) -> T:
        """The work's answer. Raises Stopped when the others made it needless, and what the work raises."""
        task: asyncio.Task[T] = asyncio.ensure_future(work)
        if self.is_over:
            task.cancel()
        self._running.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if self.is_over and (current is None or not current.cancelling()):
                raise Stopped from None
            task.cancel()
            raise
        finally:
            self._running.discard(task)

    def settled(self, *, ok: bool) -> None:
        """A branch has its finding; the rest is stopped when that decides the join."""
        self.succeeded += ok
        self.failed += not ok
        # A failure that leaves enough others doesn't decide a quorum.
        is_lost = self.cancel_rest and self.failed > self.of - self.needed
        if self.succeeded >= self.needed or is_lost:
            self.is_over = True
            for task in self._running:
                task.cancel()

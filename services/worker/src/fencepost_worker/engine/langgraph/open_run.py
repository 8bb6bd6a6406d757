"""A run that this process may write: its fence, and what waits to be written under it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from fencepost_domain.fence import Fence
from fencepost_store.checkpoints import NewCheckpoint, NewWrite
from langgraph.checkpoint.base import CheckpointTuple

Place = tuple[str, str]  # namespace, checkpoint id


@dataclass(slots=True)
class OpenRun:
    """A run this process may write, and what is known to be newest.

    newest: None when not known; a tuple holding None when the run has no checkpoint at all.
    closes: checkpoints may wait for the closing statement; waiting: those that do.
    """

    fence: Fence
    newest: tuple[CheckpointTuple | None] | None = None
    closes: bool = False
    waiting: list[NewCheckpoint] = field(default_factory=list)
    held: dict[Place, list[NewWrite]] = field(default_factory=dict)
    timers: dict[Place, asyncio.TimerHandle] = field(default_factory=dict)
    flushes: set[asyncio.Task[None]] = field(default_factory=set)

    def taken(self) -> tuple[NewCheckpoint, ...]:
        """What waits, once: whoever takes it stores it."""
        taken, self.waiting = tuple(self.waiting), []
        return taken

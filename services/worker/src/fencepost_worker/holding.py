"""The runs this process holds: their fences, how long each may be trusted, and what was heard of them.

The event loop changes them; the heartbeat's thread reads a copy of what to name. Trust is local and
monotonic, counted from before the last good renewal was sent: once over, nothing is started until a renewal
succeeds (design 02 §2).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from fencepost_domain.errors import FenceLost
from fencepost_domain.fence import Fence
from fencepost_domain.lease import Trust
from fencepost_domain.ports import Clock
from fencepost_runtime.logging import get_logger
from fencepost_store.bindings import Stored
from fencepost_store.claims import Beat, Claim

log = get_logger(__name__)


class Leaving(StrEnum):
    """Why a run's execution is cancelled."""

    STOP = "stop"
    TAKEN = "taken"
    DRAIN = "drain"


@dataclass(slots=True)
class Held:
    """One run in this process. `heard` is set by every beat; stop_revision: the one to drain under.

    stored: the versions it is bound to, as read with its claim. usage: of its model calls here; None once
    this process can't vouch for it, or something was prepared: its ending then looks for itself. told:
    hashes of model messages that the run's log is known to hold.
    """

    claim: Claim
    fence: Fence
    trust: Trust
    clock: Clock
    is_pausing: bool = False
    leaving: Leaving | None = None
    stop_revision: int | None = None
    task: asyncio.Task[None] | None = None
    stored: Mapping[str, Stored] | None = None
    usage: dict[str, Any] | None = None
    told: set[str] = field(default_factory=set)
    heard: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        if self.claim.run.progress == 0:
            self.usage = {"model_calls": 0, "input_tokens": 0, "output_tokens": 0}

    def is_trusted(self) -> bool:
        return self.trust.holds(self.clock.monotonic())

    async def trusted(self) -> None:
        """Wait until the lease may be trusted. Raises FenceLost when it was taken meanwhile."""
        while not self.is_trusted():
            if self.leaving is Leaving.TAKEN:
                raise FenceLost(self.fence.run_id, "the lease was taken")
            self.heard.clear()
            await self.heard.wait()
        if self.leaving is Leaving.TAKEN:
            raise FenceLost(self.fence.run_id, "the lease was taken")

    def leave(self, why: Leaving) -> None:
        """Cancel the execution, once; what it is followed by depends on why."""
        if self.leaving is None or (why is Leaving.TAKEN and self.leaving is not Leaving.TAKEN):
            self.leaving = why
            if self.task is not None:
                self.task.cancel(str(why))
        self.heard.set()


class Holding:
    """All runs held. `free` counts slots that a claim may fill."""

    def __init__(self, slots: int, lease: timedelta, clock: Clock) -> None:
        self.slots = slots
        self.lease = lease
        self.clock = clock
        self.slot_freed = asyncio.Event()
        self.claims_in_flight = 0
        self._runs: dict[UUID, Held] = {}
        self._unclaimed: set[UUID] = set()
        self._lock = threading.Lock()

    @property
    def free(self) -> int:
        return self.slots - len(self._runs)

    def runs(self) -> list[Held]:
        return list(self._runs.values())

    def get(self, run_id: UUID) -> Held | None:
        return self._runs.get(run_id)

    def add(self, claim: Claim, sent_at: float) -> Held:
        """Hold a claimed run. sent_at: monotonic, from before the claim was sent."""
        # A pause asked of an owner that died: the first beat may come after the last boundary.
        held = Held(
            claim, claim.fence, Trust(self.lease, sent_at), self.clock, is_pausing=claim.run.pause_asked
        )
        older = self._runs.get(claim.run.id)
        if older is not None:
            # Its lease was released or lapsed and this process got the run again before a beat told: the
            # older execution's fence is lost, and no beat will name it any more.
            older.leave(Leaving.TAKEN)
        with self._lock:
            self._runs[claim.run.id] = held
        return held

    def drop(self, held: Held) -> None:
        """An execution ended; a newer claim of the same run stays held."""
        with self._lock:
            if self._runs.get(held.claim.run.id) is held:
                del self._runs[held.claim.run.id]
        self.slot_freed.set()

    def named(self) -> Mapping[UUID, int]:
        """Run id -> revision: what the heartbeat names. Called from its thread."""
        with self._lock:
            return {run_id: held.fence.revision for run_id, held in self._runs.items()}

    def hear(self, sent_at: float, beats: list[Beat]) -> list[Beat]:
        """Apply a heartbeat's answers. Returns runs that are ours in the database but nowhere here.

        Those are told at the second sighting only, and never while a claim is in flight: its answer may be
        on the way.
        """
        unknown: list[Beat] = []
        for beat in beats:
            held = self._runs.get(beat.run_id)
            if beat.answer == "unclaimed":
                if held is None and not self.claims_in_flight:
                    unknown.append(beat)
            elif held is not None:
                self._hear_one(held, beat, sent_at)
        again = [beat for beat in unknown if beat.run_id in self._unclaimed]
        self._unclaimed = {beat.run_id for beat in unknown}
        return again

    def _hear_one(self, held: Held, beat: Beat, sent_at: float) -> None:
        if beat.answer == "taken":
            if beat.revision != held.fence.revision or held.leaving is None:
                log.info("run.taken", run_id=str(beat.run_id), revision=beat.revision)
                held.leave(Leaving.TAKEN)
        elif beat.answer != "skipped":
            held.trust.renew(sent_at)
            held.is_pausing = beat.answer == "pause"
            if beat.answer == "stop":
                held.stop_revision = beat.revision
                held.leave(Leaving.STOP)
        held.heard.set()

"""Stopping a run that is held here: signal, drain, finalise (design 02 §7).

The fence was lost with the cancel's commit, so nothing new starts. What is in progress is told to stop or
awaited to its end; then the run ends and says what was done, what isn't known, and what to do next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from fencepost_domain.endings import decide_drained
from fencepost_domain.errors import FencepostError
from fencepost_domain.fence import Fence, FenceKind
from fencepost_domain.run import check_fence
from fencepost_domain.vocabulary import RunStatus, Stop
from fencepost_runtime.failpoints import ahit
from fencepost_runtime.logging import get_logger
from fencepost_store import bindings
from fencepost_store.record import record
from fencepost_store.runs import Locked, settled
from fencepost_store.transaction import Tx

from fencepost_worker.ending import drained
from fencepost_worker.holding import Held
from fencepost_worker.outcome import Recorder

POLL_SECONDS: Final = 0.2
WITHIN: Final = timedelta(seconds=30)  # then open attempts are listed as unconfirmed

log = get_logger(__name__)
Cancel = Callable[[Fence, int], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Drain:
    """One per process. cancel: ask the gateway to stop what an action has outside; best effort."""

    recorder: Recorder
    cancel: Cancel

    async def __call__(self, held: Held) -> None:
        """End a cancelling run under the drain fence, once no attempt is open or its time is over."""
        fence = Fence(held.fence.run_id, held.fence.owner, held.stop_revision or held.fence.revision)
        asking = asyncio.ensure_future(self._ask_to_stop(fence))
        try:
            await self._end(held, fence)
        finally:
            asking.cancel()
        await ahit("worker.drain.after_commit")

    async def _ask_to_stop(self, fence: Fence) -> None:
        """Tell the other side; whether it listens is seen by the attempt's outcome, or never."""
        try:
            async with self.recorder.store.transaction() as tx:
                indexes = await bindings.open_effects(tx, fence.run_id)
            for index in indexes:
                await self.cancel(fence, index)
        except FencepostError as error:
            log.info("drain.not_told", error=str(error))

    async def _end(self, held: Held, fence: Fence) -> None:
        message_id = self.recorder.store.ids.uuid7()
        ends = held.clock.monotonic() + WITHIN.total_seconds()
        ended = False

        async def work(tx: Tx, locked: Locked) -> None:
            nonlocal ended
            run = locked.run
            if run.status is not RunStatus.CANCELLING:
                ended = True
                return
            check_fence(run, fence, FenceKind.DRAIN, locked.now)
            if not await settled(tx, run) and held.clock.monotonic() < ends:
                return
            facts = await bindings.ending_facts(tx, run.id)
            finalization, message = drained(run.stop or Stop.CANCEL, facts, run.locale, message_id)
            await record(tx, run, decide_drained(run, fence, finalization=finalization, message=message))
            await ahit("worker.drain.before_commit")
            ended = True

        async def was_recorded(tx: Tx) -> bool:
            return await bindings.is_recorded(tx, fence.run_id, message_id)

        while not ended:
            await self.recorder.acknowledged(fence, work, was_recorded)
            if not ended:
                await asyncio.sleep(POLL_SECONDS)

"""The group writer: one per process, one connection, no timer (design 02 §2, 09).

Rows gather while a statement is in flight; the next group goes when it returns. A group holds at most one
superstep of a run. `busy` goes again in the next group, the third time by itself and waiting for the lock.
If a statement fails on data, its runs are sent one by one. An answer that was lost is asked for by sending
the same rows again: what is there under its own id answers `written`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar
from uuid import UUID

from fencepost_domain.errors import FenceLost, FencepostError, Unavailable
from fencepost_domain.ports import Ids
from fencepost_runtime.failpoints import ahit
from fencepost_runtime.logging import get_logger
from fencepost_store.checkpoints import Answer, DataRefused, GroupConnection, RunWrites
from fencepost_store.end_group import EndAnswer, RunEnding, end_group

LARGEST_GROUP: Final = 64  # runs in one statement; more only lengthens the wait of the first
BUSY_TRIES: Final = 2  # refusals by SKIP LOCKED before a run is sent by itself and waits
RECONNECT_SECONDS: Final = (
    0.0,
    0.1,
    0.3,
    0.6,
    1.0,
)  # within a lease; then the run's step fails and is deferred

log = get_logger(__name__)
T = TypeVar("T")


@dataclass(slots=True)
class _Item:
    rows: RunWrites
    done: asyncio.Future[None]
    busy: int = 0


@dataclass(slots=True)
class _End:
    """An ending; `done` says whether it was recorded, or is to be recorded by itself."""

    ending: RunEnding
    done: asyncio.Future[bool]
    busy: int = 0


@dataclass(slots=True)
class WriterStats:
    """What was sent, for metrics and tests."""

    statements: int = 0
    items: int = 0
    busy: int = 0
    lost: int = 0
    largest_group: int = 0
    singles: int = 0
    endings: int = 0
    differing: int = 0


@dataclass(slots=True)
class GroupWriter:
    """`write` returns once the rows are durable. Start it with `run`, end it with `close`."""

    connection: GroupConnection
    ids: Ids | None = None  # for endings
    after_hint: Callable[[], None] | None = None
    stats: WriterStats = field(default_factory=WriterStats)
    _queue: deque[_Item] = field(default_factory=deque)
    _ends: deque[_End] = field(default_factory=deque)
    _more: asyncio.Event = field(default_factory=asyncio.Event)

    async def write(self, rows: RunWrites) -> None:
        """Queue a run's rows and wait until they are stored. Raises FenceLost, Unavailable, DataRefused."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(_Item(rows, done))
        self._more.set()
        await done

    async def end(self, ending: RunEnding) -> bool:
        """Queue a run's ending; False when it has to be recorded by itself, nothing being written.

        Raises FenceLost, Unavailable.
        """
        if self.ids is None:
            return False
        done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._ends.append(_End(ending, done))
        self._more.set()
        return await done

    async def run(self) -> None:
        """Send groups until cancelled; no failure of one ends the writing of the next."""
        try:
            while True:
                await self._more.wait()
                self._more.clear()
                while self._queue or self._ends:
                    if self._queue:
                        await self._send(self._take())
                    if self._ends:
                        await self._send_ends()
        finally:
            self._fail_all(self._queue, Unavailable("the writer ended"))
            self._fail_all(self._ends, Unavailable("the writer ended"))
            await self.connection.drop()

    async def _send_ends(self) -> None:
        """One group of endings. What the statement can't vouch for is left to the caller."""
        group = [self._ends.popleft() for _ in range(min(len(self._ends), LARGEST_GROUP))]
        group = [item for item in group if not item.done.done()]
        if not group:
            return
        try:
            await ahit("worker.finalize.before_commit")
            answers, has_hint = await self._again(
                lambda: end_group(self.connection, [item.ending for item in group], self._known_ids()),
                len(group),
            )
            await ahit("worker.finalize.after_commit")
        except DataRefused:
            answers, has_hint = {}, False
        except FencepostError as error:
            self._fail_all(group, error)
            return
        if has_hint and self.after_hint is not None:
            self.after_hint()
        for item in group:
            self._settle_end(item, answers.get(item.ending.fence.run_id, "differs"))

    def _known_ids(self) -> Ids:
        assert self.ids is not None  # endings are only sent with it
        return self.ids

    def _settle_end(self, item: _End, answer: EndAnswer) -> None:
        if item.done.done():
            return
        if answer == "busy" and item.busy < BUSY_TRIES:
            item.busy += 1
            self._ends.append(item)
            self._more.set()
        elif answer == "lost":
            self.stats.lost += 1
            item.done.set_exception(FenceLost(item.ending.fence.run_id, "an ending was refused"))
        else:
            self.stats.endings += answer == "written"
            self.stats.differing += answer != "written"
            item.done.set_result(answer == "written")

    def _take(self) -> list[_Item]:
        """The next group: in order of arrival, one item a run; a run that was busy too often goes alone."""
        if self._queue[0].busy > BUSY_TRIES:
            return [self._queue.popleft()]
        group: dict[UUID, _Item] = {}
        left: deque[_Item] = deque()
        while self._queue and len(group) < LARGEST_GROUP:
            item = self._queue.popleft()
            if item.done.done():
                continue  # its step was cancelled
            run_id = item.rows.fence.run_id
            if run_id in group or item.busy > BUSY_TRIES:
                left.append(item)
            else:
                group[run_id] = item
        self._queue.extendleft(reversed(left))
        return list(group.values())

    async def _send(self, group: list[_Item]) -> None:
        if not group:
            return
        wait = group[0].busy > BUSY_TRIES
        try:
            await ahit("worker.checkpoint.before_commit")
            answers = await self._write([item.rows for item in group], wait=wait)
            await ahit("worker.checkpoint.after_commit")
        except DataRefused as error:
            if len(group) == 1:
                self._fail_all(group, error)
                return
            self.stats.singles += len(group)
            for item in group:
                await self._send([item])
            return
        except FencepostError as error:
            self._fail_all(group, error)
            return
        for item in group:
            self._settle(item, answers.get(item.rows.fence.run_id, "lost"))

    async def _write(self, rows: Sequence[RunWrites], *, wait: bool) -> dict[UUID, Answer]:
        answers = await self._again(lambda: self.connection.write(rows, wait=wait), len(rows))
        self.stats.items += len(rows)
        return answers

    async def _again(self, send: Callable[[], Awaitable[T]], runs: int) -> T:
        """One statement; after a lost answer the same again, which finds what is there."""
        for delay in RECONNECT_SECONDS:
            if delay:
                await asyncio.sleep(delay)
            try:
                answer = await send()
            except Unavailable as error:
                log.warning("writer.answer_lost", runs=runs, error=str(error))
                continue
            self.stats.statements += 1
            self.stats.largest_group = max(self.stats.largest_group, runs)
            return answer
        raise Unavailable("the database does not answer")

    def _settle(self, item: _Item, answer: Answer) -> None:
        if item.done.done():
            return
        if answer == "written":
            item.done.set_result(None)
        elif answer == "busy":
            self.stats.busy += 1
            item.busy += 1
            self._queue.append(item)
            self._more.set()
        else:
            self.stats.lost += 1
            item.done.set_exception(FenceLost(item.rows.fence.run_id, "a checkpoint was refused"))

    def _fail_all(self, items: Iterable[_Item | _End], error: Exception) -> None:
        for item in items:
            if not item.done.done():
                item.done.set_exception(error)

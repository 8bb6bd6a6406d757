"""The fenced checkpoint saver. There is no unfenced mode: a thread is written only while its run is open
here under a fence, and `thread_id == run_id`, always (I03, I05).

Ordinary pending writes wait a moment and are dropped when their superstep's checkpoint arrives (which holds
their effect); when siblings are slower they are stored. Special writes (error, interrupt, resume) go at once.
A run that was never checkpointed is known to be fresh from its claim, and needs no load.

Where the caller promises a closing statement (`closes`), the input's checkpoint and the last one travel with
the run's next statement instead of taking one each: before the first nothing was done, after the last nothing
is. A read, a special write or `flush` sends what waits; a run that is dropped does its last superstep again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final, cast
from uuid import UUID

from fencepost_domain.errors import FenceLost
from fencepost_domain.fence import Fence
from fencepost_store import checkpoints
from fencepost_store.checkpoints import NewCheckpoint, NewWrite, RunWrites
from fencepost_store.storable import as_json
from fencepost_store.transaction import Store
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_serializable_checkpoint_metadata,
)
from sqlalchemy import RowMapping

from fencepost_worker.engine.langgraph.open_run import OpenRun, Place
from fencepost_worker.engine.langgraph.serde import make_serde
from fencepost_worker.engine.langgraph.shapes import bare, copied, is_last
from fencepost_worker.engine.langgraph.writer import GroupWriter

NOT_OPEN: Final = "the run is not open in this process"
HOLD_SECONDS: Final = 0.01  # an ordinary write waits this long for its superstep's checkpoint


class FencedSaver(BaseCheckpointSaver[int]):
    """LangGraph's saver on our tables. Async only; `open_run` before a graph runs, `close_run` after."""

    def __init__(self, store: Store, writer: GroupWriter) -> None:
        super().__init__(serde=make_serde())
        self._store = store
        self._writer = writer
        self._runs: dict[UUID, OpenRun] = {}

    # ── which runs may be written ───────────────────────────────────────────────────────────────────

    def open_run(self, fence: Fence, *, fresh: bool = False, closes: bool = False) -> None:
        """Allow this run to be written under `fence`. fresh: it has no checkpoint, nothing need be loaded.

        closes: `carried` or `flush` follows when the graph has left, whatever it left for.
        """
        self._runs[fence.run_id] = OpenRun(fence, (None,) if fresh else None, closes)

    def carried(self, run_id: UUID) -> tuple[NewCheckpoint, ...]:
        """Checkpoints that wait: the caller stores them with the run's next statement, or not at all."""
        run = self._runs.get(run_id)
        return run.taken() if run is not None else ()

    async def flush(self, run_id: UUID) -> None:
        """Store what waits, under the fence. Raises FenceLost."""
        run = self._runs.get(run_id)
        if run is not None and run.waiting:
            await self._writer.write(RunWrites(run.fence, held=run.taken()))

    def close_run(self, run_id: UUID) -> None:
        """Forget the run; writes that still wait are dropped: their superstep will run again."""
        run = self._runs.pop(run_id, None)
        if run is not None:
            for timer in run.timers.values():
                timer.cancel()

    def _open(self, config: RunnableConfig) -> OpenRun:
        thread = config["configurable"]["thread_id"]
        run = self._runs.get(_run_id(thread))
        if run is None:
            raise FenceLost(thread, NOT_OPEN)
        return run

    # ── writing ─────────────────────────────────────────────────────────────────────────────────────

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint in the next group; returns when it is durable. Raises FenceLost."""
        run = self._open(config)
        space = config["configurable"].get("checkpoint_ns", "")
        parent = get_checkpoint_id(config)
        if parent is not None:
            self._drop_held(run, (space, parent))
        meta = get_serializable_checkpoint_metadata(config, metadata)
        serde, body = self.serde.dumps_typed(bare(checkpoint))
        row = NewCheckpoint(space, checkpoint["id"], parent, serde, body, _json(meta))
        if space == "":
            run.newest = None
        may_wait = space == "" and (metadata.get("source") == "input" or is_last(checkpoint))
        await self._store_row(run, row, waits=may_wait)
        return _config(run.fence.run_id, space, checkpoint["id"])

    async def put_superstep(
        self, run_id: UUID, checkpoint: Checkpoint, parent: str | None, metadata: str, *, waits: bool
    ) -> None:
        """`aput` for the direct path, which knows its metadata and whether the checkpoint may wait."""
        run = self._runs.get(run_id)
        if run is None:
            raise FenceLost(run_id, NOT_OPEN)
        serde, body = self.serde.dumps_typed(checkpoint)
        run.newest = None
        await self._store_row(
            run, NewCheckpoint("", checkpoint["id"], parent, serde, body, metadata), waits=waits
        )

    async def _store_row(self, run: OpenRun, row: NewCheckpoint, *, waits: bool) -> None:
        if waits and run.closes:
            run.waiting.append(row)
        else:
            await self._writer.write(RunWrites(run.fence, row, held=run.taken()))

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Note what a task wrote. Special writes are durable on return, ordinary ones may wait."""
        run = self._open(config)
        space = config["configurable"].get("checkpoint_ns", "")
        checkpoint_id = config["configurable"]["checkpoint_id"]
        rows: dict[tuple[str, int], NewWrite] = {}
        for position, (channel, value) in enumerate(writes):
            serde, body = self.serde.dumps_typed(value)
            place = WRITES_IDX_MAP.get(channel, position)
            rows[task_id, place] = NewWrite(
                space, checkpoint_id, task_id, place, channel, task_path, serde, body
            )
        run.newest = None
        at = (space, checkpoint_id)
        run.held.setdefault(at, []).extend(rows.values())
        if any(row.place < 0 for row in rows.values()):
            await self._flush(run, at)
        elif at not in run.timers:
            loop = asyncio.get_running_loop()
            run.timers[at] = loop.call_later(HOLD_SECONDS, self._flush_later, run, at)

    def _flush_later(self, run: OpenRun, at: Place) -> None:
        task = asyncio.ensure_future(self._flush(run, at))
        run.flushes.add(task)
        task.add_done_callback(run.flushes.discard)
        task.add_done_callback(_seen)

    async def _flush(self, run: OpenRun, at: Place) -> None:
        timer = run.timers.pop(at, None)
        if timer is not None:
            timer.cancel()
        rows = {(row.task_id, row.place): row for row in run.held.pop(at, [])}
        if rows:
            await self._writer.write(RunWrites(run.fence, None, tuple(rows.values()), run.taken()))

    def _drop_held(self, run: OpenRun, at: Place) -> None:
        run.held.pop(at, None)
        timer = run.timers.pop(at, None)
        if timer is not None:
            timer.cancel()

    async def _flush_all(self, run_id: UUID) -> None:
        run = self._runs.get(run_id)
        if run is not None:
            for at in list(run.held):
                await self._flush(run, at)
            await self.flush(run_id)
            if run.flushes:
                await asyncio.gather(*run.flushes, return_exceptions=True)

    # ── reading ─────────────────────────────────────────────────────────────────────────────────────

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The named checkpoint, or the newest of the thread."""
        run_id = _run_id(config["configurable"]["thread_id"])
        space = config["configurable"].get("checkpoint_ns", "")
        checkpoint_id = get_checkpoint_id(config)
        run = self._runs.get(run_id)
        wants_newest = checkpoint_id is None and space == ""
        if run is not None and wants_newest and run.newest is not None:
            return copied(run.newest[0])
        await self._flush_all(run_id)
        async with self._store.transaction() as tx:
            if checkpoint_id is None:
                row = await checkpoints.newest(tx, run_id, space)
            else:
                row = await checkpoints.by_id(tx, run_id, space, checkpoint_id)
            pending = (
                await checkpoints.pending(tx, run_id, space, row["checkpoint_id"]) if row is not None else ()
            )
        found = self._tuple(run_id, row, pending) if row is not None else None
        if run is not None and wants_newest:
            run.newest = (found,)
        return copied(found)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """A thread's checkpoints, newest first. Without a thread there is nothing to list."""
        if config is None:
            raise ValueError("a thread is needed: checkpoints are never listed across runs")
        run_id = _run_id(config["configurable"]["thread_id"])
        await self._flush_all(run_id)
        async with self._store.transaction() as tx:
            rows = await checkpoints.listed(
                tx,
                run_id,
                space=config["configurable"].get("checkpoint_ns"),
                checkpoint_id=get_checkpoint_id(config),
                before=get_checkpoint_id(before) if before else None,
                filter_json=_json(filter or {}),
                limit=limit,
            )
            found = [
                (row, await checkpoints.pending(tx, run_id, row["checkpoint_ns"], row["checkpoint_id"]))
                for row in rows
            ]
        for row, pending in found:
            yield self._tuple(run_id, row, pending)

    async def adelete_thread(self, thread_id: str) -> None:
        """Forget the run's graph state, under its fence."""
        run = self._runs.get(_run_id(thread_id))
        if run is None:
            if await self.aget_tuple({"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}) is None:
                return  # nothing is there to forget
            raise FenceLost(thread_id, NOT_OPEN)
        for at in list(run.held):
            self._drop_held(run, at)
        run.waiting = []
        async with self._store.transaction() as tx:
            await checkpoints.delete(tx, run.fence)
        run.newest = None

    def _tuple(self, run_id: UUID, row: RowMapping, pending: Sequence[RowMapping]) -> CheckpointTuple:
        space = row["checkpoint_ns"]
        parent = row["parent_id"]
        return CheckpointTuple(
            config=_config(run_id, space, row["checkpoint_id"]),
            checkpoint=self.serde.loads_typed((row["serde"], row["body"])),
            metadata=cast(CheckpointMetadata, row["metadata"]),
            parent_config=_config(run_id, space, parent) if parent else None,
            pending_writes=[
                (w["task_id"], w["channel"], self.serde.loads_typed((w["serde"], w["body"]))) for w in pending
            ],
        )


def _seen(task: asyncio.Task[None]) -> None:
    """A late write that failed is told by the superstep's checkpoint, which fails for the same reason."""
    if not task.cancelled():
        task.exception()


def _run_id(thread: object) -> UUID:
    """A thread's run. Raises ValueError: a thread that is no run's id doesn't exist here."""
    return thread if isinstance(thread, UUID) else UUID(str(thread))


def _config(run_id: UUID, space: str, checkpoint_id: str) -> RunnableConfig:
    return {
        "configurable": {"thread_id": str(run_id), "checkpoint_ns": space, "checkpoint_id": checkpoint_id}
    }


def _json(value: Any) -> str:
    return as_json(value, default=str)

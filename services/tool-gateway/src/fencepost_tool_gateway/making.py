"""Tools that take their time: made outside any transaction, recorded in one with their files.

What is being made is known by its fence and place, so that a commit asked for again waits for it and doesn't
begin another. Who waits is told to ask again before their own patience ends; the work goes on meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from fencepost_contracts.tools import CommitAnswer, CommitRequest, InProgress
from fencepost_domain.errors import Refused
from fencepost_domain.fence import Fence
from fencepost_store.effects import Outcome
from fencepost_store.transaction import Tx

from fencepost_tool_gateway.execute import Guarded, ToolFailed, check_relied_on, make
from fencepost_tool_gateway.files import Kept
from fencepost_tool_gateway.gateway import Gateway
from fencepost_tool_gateway.judge import SHORTEST_RETRY, Authorised

Produce = Callable[[Tx, Authorised], Awaitable[Outcome]]
Answer = CommitAnswer | InProgress
Record = Callable[[Produce, tuple[Kept, ...]], Awaitable[Answer]]
PATIENCE: Final = 15.0  # seconds; half of what a worker waits for an answer


async def made(
    gateway: Gateway, fence: Fence, request: CommitRequest, may: Authorised, record: Record
) -> Answer:
    """The recorded outcome, or InProgress while it is still being made.

    record: writes an outcome and its files' rows in one transaction. Raises what `make` and `record` raise.
    """
    place = (fence.header(), request.index, request.n)
    task = gateway.making.get(place)
    if task is None:
        task = asyncio.create_task(_made(gateway, may, record))
        gateway.making[place] = task
        task.add_done_callback(lambda _: gateway.making.pop(place, None))
    done, _ = await asyncio.wait({task}, timeout=PATIENCE)
    return task.result() if done else InProgress(retry_after_seconds=SHORTEST_RETRY)


async def _made(gateway: Gateway, may: Authorised, record: Record) -> Answer:
    executor = gateway.catalogs.executor
    outcome, files = await make(executor, gateway.store, may.bound, may.call)
    async with Guarded():
        kept = await executor.shelf.keep(may.run, files)

    async def produce(tx: Tx, now: Authorised) -> Outcome:
        await check_relied_on(executor, tx, now.call, now.action)
        return outcome

    try:
        answer = await record(produce, kept)
    except (Refused, ToolFailed):  # surely not recorded; after any other failure it may be
        await executor.shelf.drop(may.run, kept)
        raise
    if isinstance(answer, InProgress) or answer.replayed:
        await executor.shelf.drop(may.run, kept)  # a twin in another process was quicker
    return answer

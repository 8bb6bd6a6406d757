"""Appends to one run, in a process of its own.

`python -m tests.support.append_many DSN TENANT RUN COUNT`, started by a line on standard input.
"""

import asyncio
import sys
from uuid import UUID

from fencepost_domain.decision import Decision, NewEvent
from fencepost_domain.vocabulary import Ev
from fencepost_runtime.system import SystemIds
from fencepost_store.engine import make_engine
from fencepost_store.record import record
from fencepost_store.runs import lock_run
from fencepost_store.transaction import Store


async def main(dsn: str, tenant: UUID, run_id: UUID, count: int) -> None:
    store = Store(make_engine(dsn), SystemIds())

    async def append() -> None:
        async with store.transaction(tenant) as tx:
            locked = await lock_run(tx, run_id)
            event = NewEvent(tx.ids.uuid7(), Ev.TOOL_REFUSED, {"tool": "x"}, "test")
            await record(tx, locked.run, Decision(None, events=(event,)))

    sys.stdin.readline()  # all processes start their appends at the same moment
    await asyncio.gather(*(append() for _ in range(count)))
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], UUID(sys.argv[2]), UUID(sys.argv[3]), int(sys.argv[4])))

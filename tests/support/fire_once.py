"""One round of the reminder loop in a process of its own, so that a test may kill it.

`python -m tests.support.fire_once DSN`
"""

import asyncio
import sys

from fencepost_reconciler.loops.fire_reminders import FireReminders
from fencepost_runtime.system import SystemIds
from fencepost_store.engine import make_engine
from fencepost_store.transaction import Store


async def main(dsn: str) -> None:
    store = Store(make_engine(dsn), SystemIds())
    print(await FireReminders(store).run_once())
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))

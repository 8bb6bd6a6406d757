"""Asks the gateway after tasks that run elsewhere: at 500 ms doubling to 5 s, whatever their runs do.

No graph is started for it. Taking a task moves its next time, so each is asked after by one reconciler; what
the gateway hears it records, and `tell_tasks` wakes the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Final

from fencepost_runtime.failpoints import ahit
from fencepost_store.tasks import take_due_tasks
from fencepost_store.transaction import Store

from fencepost_reconciler.loops.look_up_effects import Asker

EVERY: Final = timedelta(seconds=0.25)
BATCH: Final = 32  # asked after at once


class PollTasks:
    def __init__(self, store: Store, asker: Asker | None, on_end: Callable[[], None] = lambda: None) -> None:
        """on_end: a task is over; who tells runs needn't wait for its next look."""
        self._store, self._asker, self._on_end = store, asker, on_end

    async def run_once(self) -> dict[str, int]:
        if self._asker is None:
            return {}
        async with self._store.transaction() as tx:
            due = await take_due_tasks(tx, BATCH)
        if not due:
            return {}
        await ahit("reconciler.poll_tasks.before_ask")
        answers = await self._asker.ask_tasks(due)
        await ahit("reconciler.poll_tasks.after_answer")
        words = {True: "over", False: "running", None: "not_answered"}
        counts = Counter(words[answer] for answer in answers)
        if counts["over"]:
            self._on_end()
        if len(due) == BATCH:
            counts["more"] = 1
        return {name: count for name, count in counts.items() if count and name != "running"}

"""Fires reminders: each due time exactly once, with any number of reconcilers (I31)."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Final
from zoneinfo import ZoneInfo

from fencepost_domain.errors import Unavailable
from fencepost_runtime.failpoints import ahit
from fencepost_runtime.logging import get_logger
from fencepost_store import firings
from fencepost_store.firings import DueReminder, Firing
from fencepost_store.sweeps import FIRST, was_slow
from fencepost_store.transaction import Store, Tx

from fencepost_reconciler.occurrences import Plan, plan
from fencepost_reconciler.words import Text, say

EVERY: Final = timedelta(seconds=0.5)  # how late a reminder is at most when nothing is wrong
BATCH: Final = 100

log = get_logger(__name__)


class FireReminders:
    def __init__(self, store: Store, batch: int = BATCH) -> None:
        self._store = store
        self._batch = batch
        self._after = FIRST
        self._are_here = False

    async def run_once(self) -> dict[str, int]:
        """Counts `fired`, `skipped` (missed ones), `failed`. Nothing without the module that owns them."""
        async with self._store.transaction() as tx:
            self._are_here = self._are_here or await firings.reminders_are_here(tx)
            found = await firings.find_due(tx, self._after, self._batch) if self._are_here else []
        counts: Counter[str] = Counter()
        for due in found:
            counts.update(await self._fire(due))
        full = len(found) == self._batch
        self._after = found[-1].id if full else FIRST
        if full:
            counts["more"] = 1
        return dict(counts)

    async def _fire(self, due: DueReminder) -> dict[str, int]:
        try:
            firing = to_firing(due)

            async def work(tx: Tx) -> bool:
                message_id = await firings.fire(tx, due, firing)
                await ahit("reconciler.fire.before_commit")
                return message_id is not None

            told = await self._store.run(None, work)
            await ahit("reconciler.fire.after_commit")
        except firings.NotDue:
            return {}
        except Unavailable as error:
            if was_slow(error):
                return {"busy": 1}
            raise
        except Exception:  # a rule that can't be read must not silence everybody else's reminders
            log.exception("reminder.failed", reminder_id=str(due.id))
            return {"failed": 1}
        more = firing.fires is None
        return {"fired": int(told), "skipped": len(firing.skipped), **({"more": 1} if more else {})}


def to_firing(due: DueReminder) -> Firing:
    """What to record and say. Raises ValueError for a rule or zone that can't be read."""
    planned = plan(
        rule=due.rrule,
        dtstart=due.dtstart,
        zone=due.zone,
        next_at=due.next_at,
        now=due.now,
        exdates=due.exdates,
    )
    return Firing(
        planned.fires,
        planned.late,
        planned.skipped,
        planned.following,
        _text(due, planned),
        say(Text.REMINDERS_TITLE, due.locale),
    )


def _text(due: DueReminder, planned: Plan) -> str:
    if not planned.late or planned.fires is None:
        return say(Text.REMINDER, due.locale, title=due.title)
    local = planned.fires.astimezone(ZoneInfo(due.zone))
    return say(Text.REMINDER_LATE, due.locale, title=due.title, due=f"{local:%Y-%m-%d %H:%M}")

"""Numbers for places in a brought graph: given once, under the run's lock, and the same ever after.

Our own graph keeps its actions in its state, so their number is their index. An author's graph keeps what it
likes; its nodes run again from their first line, in branches beside each other. So the index of an action,
or of a question, is an event of the run's log, found again by the place that asked for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal
from uuid import UUID

from fencepost_contracts.evidence.log import LogEvent
from fencepost_domain.decision import Decision, NewEvent
from fencepost_domain.fence import Fence, FenceKind
from fencepost_domain.run import check_fence
from fencepost_domain.vocabulary import Ev

from fencepost_store.event_log import log_of
from fencepost_store.record import record
from fencepost_store.runs import lock_run
from fencepost_store.transaction import Tx

What = Literal["action", "question"]
_ONLY: Final = frozenset({str(Ev.ACTION_NUMBERED)})


async def number(tx: Tx, fence: Fence, *, what: What, place: str, count: int) -> list[int]:
    """`count` numbers of a place, in order; those it was given before come first and are never changed.

    Actions and questions are numbered apart, each from 0. Raises FenceLost.
    """
    locked = await lock_run(tx, fence.run_id)
    check_fence(locked.run, fence, FenceKind.RECORD, locked.now)
    given = [
        told
        for told in map(_told, await log_of(tx, fence.run_id, locked.run.event_seq, only=_ONLY))
        if told["what"] == what
    ]
    mine = [n for told in given if told["place"] == place for n in _numbers(told)]
    missing = count - len(mine)
    if missing > 0:
        first = sum(told["count"] for told in given)
        payload = {"what": what, "place": place, "first": first, "count": missing}
        event = NewEvent(tx.ids.uuid7(), Ev.ACTION_NUMBERED, payload, "worker")
        decision = Decision(None, events=(event,), fence=fence, fence_kind=FenceKind.RECORD)
        await record(tx, locked.run, decision)
        mine += _numbers(payload)
    return mine[:count]


async def rejected(tx: Tx, run_id: UUID) -> list[tuple[int, str, str]]:
    """(index, tool, hash of the arguments) of the run's actions that a person said no to."""
    rows = await tx.rows("rejected_actions", run_id=run_id)
    return [(row["index"], row["tool"], row["arguments_hash"]) for row in rows]


def _told(event: LogEvent) -> Mapping[str, Any]:
    if event.payload is None:
        raise LookupError(f"event {event.seq} of a live run has no content")
    return event.payload


def _numbers(told: Mapping[str, Any]) -> list[int]:
    return list(range(told["first"], told["first"] + told["count"]))

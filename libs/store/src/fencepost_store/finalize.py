"""What is written with a run's end or pause of work: finalization, message, the conversation given back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from fencepost_domain.decision import Decision, NewEvent, NewFeed
from fencepost_domain.errors import Conflict
from fencepost_domain.ports import Ids
from fencepost_domain.run import RESUMABLE, Run
from fencepost_domain.vocabulary import Ev, Reason, RunMode

from fencepost_store.storable import as_json, loggable, storable
from fencepost_store.transaction import Tx

DIVERGED: Final = "diverged"  # the finalization's code of a simulation that left what is known


def events_of(decision: Decision, ids: Ids, *, simulated: bool = False) -> tuple[NewEvent, ...]:
    """The events every ending has: the message completed, then the terminal event, which is the last.

    A simulation says nothing to anybody: its answer stands in `simulation.ended`.
    """
    events: list[NewEvent] = []
    if simulated and decision.finalization is not None:
        events.append(NewEvent(ids.uuid7(), Ev.SIMULATION_ENDED, _simulated(decision)))
    elif decision.message is not None:
        said = {"message_id": str(decision.message.id), "text": storable(decision.message.text)}
        events.append(NewEvent(ids.uuid7(), Ev.MESSAGE_COMPLETED, said))
    if decision.finalization is not None:
        f = decision.finalization
        payload = {
            "status": str(f.status),
            "reason": str(f.reason),
            "code": f.code,
            "decided_by": f.decided_by,
        }
        events.append(NewEvent(ids.uuid7(), Ev.RUN_FINALIZED, payload))
    return tuple(events)


def _simulated(decision: Decision) -> dict[str, Any]:
    f = decision.finalization
    assert f is not None
    if f.code == DIVERGED:
        return {"outcome": "diverged", "text": None, "wanted": _wanted(f.evidence)}
    if f.reason in (Reason.USER_CANCELLED, Reason.DEADLINE_EXCEEDED):
        return {"outcome": "stopped", "text": None}
    return {"outcome": "completed", "text": storable(decision.message.text) if decision.message else None}


def _wanted(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """What the simulation looked for, as the engine told it."""
    try:
        found = json.loads(str(evidence.get("detail", "")))
    except ValueError:
        found = {"detail": str(evidence.get("detail", ""))}
    return dict(loggable(found)) if isinstance(found, Mapping) else {}


@dataclass(frozen=True, slots=True)
class Closed:
    """What is told of questions that nobody needs to answer any more."""

    events: tuple[NewEvent, ...] = ()
    feed: tuple[NewFeed, ...] = ()


async def withdraw(tx: Tx, run: Run, decision: Decision) -> Closed:
    """A run that ends asks nobody anything: its open interrupt is withdrawn, and log and feed say so."""
    if decision.finalization is None:
        return Closed()
    rows = await tx.rows("withdraw_open_interrupts", run_id=run.id)
    told = [{"interrupt_id": str(row["id"]), "kind": row["kind"]} for row in rows]
    return Closed(
        tuple(NewEvent(tx.ids.uuid7(), Ev.INTERRUPT_WITHDRAWN, one) for one in told),
        tuple(NewFeed("interrupt.closed", {**one, "run_id": str(run.id)}) for one in told),
    )


async def write(tx: Tx, run: Run, decision: Decision) -> None:
    """The rows beside the run's: after it in the lock order (conversation, outbox)."""
    if decision.finalization is not None:
        f = decision.finalization
        await tx.execute(
            "insert_finalization",
            {
                "run_id": run.id,
                "tenant_id": run.tenant_id,
                "status": str(f.status),
                "reason": str(f.reason),
                "code": f.code,
                "node": f.node,
                "explanation": storable(f.explanation),
                "decided_by": f.decided_by,
                "evidence": as_json(f.evidence),
                "left_undone": as_json(f.left_undone),
                "unconfirmed_effects": as_json(f.unconfirmed_effects),
                "usage": as_json(f.usage),
            },
        )
    if decision.message is not None and run.mode is RunMode.LIVE:
        m = decision.message
        await add_message(tx, run, m.id, "assistant", m.text, list(m.artifacts))
    if decision.release:
        released = await tx.execute(
            "release_conversation",
            {
                "run_id": run.id,
                "conversation_id": run.conversation_id,
                "outbox_id": tx.ids.uuid7(),
                "event_type": RESUMABLE,
            },
        )
        tx.has_hint |= released.rowcount > 0


async def add_message(
    tx: Tx, run: Run, message_id: object, author: str, words: str, artifacts: list[str]
) -> int:
    """Append to the run's conversation and tell the feed. Returns the message's seq."""
    row = await tx.row(
        "insert_message",
        id=message_id,
        conversation_id=run.conversation_id,
        tenant_id=run.tenant_id,
        user_id=run.user_id,
        run_id=run.id,
        author=author,
        text=storable(words),
        artifacts=as_json(artifacts),
    )
    if row is None:
        raise Conflict("conversation_missing", f"conversation {run.conversation_id} is not there")
    seq: int = row["seq"]
    return seq

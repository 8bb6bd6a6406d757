"""The one write door of a run (design 01, 02 §2).

`record` turns a Decision into one transaction's writes: the fenced change of the run's row, the chained
events, the outbox rows, and what must be true at the same moment: the finalization, the final message, the
conversation given back, the caller's feed. The run's row is locked first; the chain head is in it, so two
appends cannot read the same previous hash, and an append to an empty chain has a row to lock as well.

The SQL carries the whole fence in its WHERE clause. No row back means the fence is lost (owner's writes)
or the row was not what was decided upon (all others), never a reason to try again with the same decision.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Final

import rfc8785
from fencepost_domain.decision import Decision, NewEvent, NewFeed
from fencepost_domain.errors import Conflict, FenceLost
from fencepost_domain.run import Run
from fencepost_domain.vocabulary import TERMINAL, RunMode, RunStatus
from sqlalchemy import TextClause, text

from fencepost_store import finalize
from fencepost_store.sql import source
from fencepost_store.transaction import Tx

# Column -> the expression that sets it. Only these may be changed through a decision.
SETTABLE: Final[Mapping[str, str]] = {
    **{
        name: f":{name}"
        for name in (
            "waiting_on", "stop", "pause_asked", "next_counts", "lease_owner", "module", "rerouted",
            "graph_version", "manifest_fp", "catalog_fp",
        )
    },
    "lease_expires_at": "CAST(:lease_expires_at AS timestamptz)",
    "claim_nonce": "CAST(:claim_nonce AS uuid)",
    "available_at": "CAST(:available_at AS timestamptz)",
    "deadline_at": "coalesce(CAST(:deadline_at AS timestamptz), 'infinity')",
    "deadline_left": "CAST(:deadline_left AS interval)",
    "paused_until": "CAST(:paused_until AS timestamptz)",
    # How long a cancelling run's open attempts are waited for.
    "drain_from": "drain_until = passed.at + interval '30 seconds'",
    "wake": "wakes = r.wakes + 1",
    "progress": "r.progress + 1",
    "attempt_progress": "r.progress",  # from here on only what is stored later is progress
    "gate_revision": "r.revision",  # the recovery gate lets this revision start something new
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Recorded:
    """What the run's row says after the write. `at` is the database's instant of it."""

    revision: int
    event_seq: int
    wakes: int
    status: RunStatus
    at: datetime


@cache
def _statement(columns: tuple[str, ...], to: bool, terminal: bool) -> TextClause:
    sets = []
    for column in columns:
        expression = SETTABLE[column]
        sets.append(expression if "=" in expression else f"{column} = {expression}")
    if to:
        sets += ["status = :to_status", "revision = r.revision + 1"]
    if terminal:
        sets.append("finished_at = passed.at")
    return text(source("record_run").replace("{sets}", "".join(f",\n       {s}" for s in sets)))


def canonical(payload: Mapping[str, Any]) -> bytes:
    """RFC 8785 bytes of a payload: what is hashed and stored."""
    return rfc8785.dumps(dict(payload))


def event_params(events: Sequence[NewEvent]) -> dict[str, list[Any]]:
    """The events as the parallel arrays the appending statements take."""
    return {
        "event_ids": [e.id for e in events],
        "event_types": [str(e.type) for e in events],
        "event_versions": [e.schema_version for e in events],
        "event_actors": [e.actor for e in events],
        "event_causes": [e.causation_id for e in events],
        "event_payloads": [canonical(e.payload) for e in events],
    }


async def record(tx: Tx, run: Run, decision: Decision) -> Recorded:
    """Make a decision true. `run` is the locked row the decision was made on.

    Raises FenceLost for an owner whose fence does not hold any more, Conflict run_changed for any other
    writer whose decision was made on another row.
    """
    columns = tuple(sorted(decision.sets))
    to = decision.to is not None and decision.to is not run.status
    terminal = to and decision.to in TERMINAL
    closed = await finalize.withdraw(tx, run, decision)
    events = (
        *decision.events,
        *closed.events,
        *finalize.events_of(decision, tx.ids, simulated=run.mode is RunMode.SIMULATION),
    )
    params: dict[str, Any] = {
        "run_id": run.id,
        "from_status": str(run.status),
        "from_revision": decision.fence.revision if decision.fence else run.revision,
        "fence": str(decision.fence_kind or "none"),
        "owner": decision.fence.owner if decision.fence else "",
        "correlation_id": None,
        "traceparent": None,
        "outbox_ids": [tx.ids.uuid7() for _ in decision.outbox],
        "outbox_modules": [o.module for o in decision.outbox],
        "outbox_types": [o.event_type for o in decision.outbox],
        "outbox_ats": [o.publish_at for o in decision.outbox],
        **event_params(events),
        **{k: v for k, v in decision.sets.items() if f":{k}" in SETTABLE[k]},
    }
    if to:
        params["to_status"] = str(decision.to)
    result = await tx.connection.execute(_statement(columns, to, terminal), params)
    row = result.mappings().one_or_none()
    if row is None:
        if decision.fence is not None:
            raise FenceLost(run.id)
        raise Conflict("run_changed", f"run {run.id} is not what it was")
    tx.has_hint |= any(hint.publish_at is None or hint.publish_at <= row["at"] for hint in decision.outbox)
    await finalize.write(tx, run, decision)
    await write_feed(tx, run, (*closed.feed, *decision.feed))
    return Recorded(row["revision"], row["event_seq"], row["wakes"], RunStatus(row["status"]), row["at"])


async def write_feed(tx: Tx, run: Run, feed: Sequence[NewFeed]) -> None:
    """Lines for the caller's feed, in the same transaction as what they tell."""
    if not feed:
        return
    await tx.execute(
        "insert_feed",
        {
            "tenant_id": run.tenant_id,
            "user_id": run.user_id,
            "conversation_id": run.conversation_id,
            "kinds": [line.kind for line in feed],
            "datas": [rfc8785.dumps(dict(line.data)).decode() for line in feed],
        },
    )

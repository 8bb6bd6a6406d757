"""What the recovery gate reads and writes: facts in one statement, its answer in one record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from fencepost_domain.decision import Decision, NewEvent
from fencepost_domain.fence import Fence, FenceKind
from fencepost_domain.recovery import GATE_INDEX, MAY_START, Answer, Check, EffectFact, Person, Verdict
from fencepost_domain.run import Run
from fencepost_domain.vocabulary import EffectClass, EffectState, Ev

from fencepost_store.record import Recorded, record
from fencepost_store.transaction import Tx


@dataclass(frozen=True, slots=True)
class Stood:
    """How a run stands, as read. pending: rows of actions nothing was started for; `n_to_ask`: of the gate's
    next question, or of the one that is open.
    """

    now: datetime
    module: str
    catalog_fp: str | None
    user_id: str
    requester: Person
    effects: tuple[EffectFact, ...]
    pending: Sequence[Mapping[str, Any]]
    spent: Mapping[str, Any]
    limits: Mapping[str, Any]
    artifacts_bad: tuple[str, ...]
    said_since: int
    state_since: int
    n_to_ask: int


@dataclass(frozen=True, slots=True)
class NewerCatalog:
    """The catalog of the module that is in force when the bound one isn't any more."""

    fingerprint: str
    body: str
    in_force_at: datetime


async def read(tx: Tx, run_id: UUID) -> Stood:
    row = await tx.row("recovery_facts", run_id=run_id, gate_index=GATE_INDEX)
    assert row is not None  # its claim was just answered
    asked, budget = row["asked"], row["budget"] or {}
    return Stood(
        now=row["now"],
        module=row["module"],
        catalog_fp=row["catalog_fp"],
        user_id=row["user_id"],
        requester=Person(
            frozenset(row["started_with"]),
            frozenset(row["roles"]) if row["roles"] is not None else None,
            row["seen_at"],
            instant(asked["confirmed_at"]),
            asked["said_stop"],
            asked["never_answered"],
        ),
        effects=tuple(
            EffectFact(
                e["index"], e["tool"], EffectClass(e["class"]), EffectState(e["state"]), instant(e["ends_at"])
            )
            for e in row["effects"]
        ),
        pending=row["pending"],
        spent={
            name: budget.get(name)
            for name in ("model_calls", "input_tokens", "output_tokens", "actions", "cost", "recoveries")
        },
        limits={name: limit for name, limit in (budget.get("limits") or {}).items() if limit is not None},
        artifacts_bad=tuple(row["artifacts_bad"]),
        said_since=row["said_since"],
        state_since=row["state_since"],
        n_to_ask=asked["open"] or asked["asked"] + 1,
    )


async def newer_catalog(tx: Tx, module: str, bound: str | None) -> NewerCatalog | None:
    row = await tx.row("newer_catalog", module=module, catalog=bound)
    return NewerCatalog(row["fingerprint"], row["body"], row["in_force_at"]) if row is not None else None


async def note(tx: Tx, run: Run, fence: Fence, verdict: Verdict) -> Recorded:
    """Store the gate's answer for this revision: an event a check, and whether something new may be started.

    While it is waited for, what is in order isn't said again each time. Withdraws the approvals that don't
    hold any more. `run` is as claimed; the write judges the fence. Raises FenceLost.
    """
    told = verdict.checks if verdict.answer is not Answer.WAIT else [c for c in verdict.checks if _matters(c)]
    events = [NewEvent(tx.ids.uuid7(), Ev.RECOVERY_CHECKED, check.told()) for check in told]
    events += [
        NewEvent(
            tx.ids.uuid7(),
            Ev.ACTION_WITHDRAWN,
            {"index": action.index, "n": action.n, "tool": action.tool, "note": "recovery"},
        )
        for action in verdict.withdrawn
    ]
    sets = {"gate_revision": True} if verdict.answer in MAY_START else {}
    decision = Decision(None, sets=sets, events=tuple(events), fence=fence, fence_kind=FenceKind.RECORD)
    recorded = await record(tx, run, decision)
    if verdict.withdrawn:
        await tx.execute(
            "withdraw_void_approvals",
            {
                "run_id": run.id,
                "indexes": [action.index for action in verdict.withdrawn],
                "ns": [action.n for action in verdict.withdrawn],
            },
        )
    return recorded


def _matters(check: Check) -> bool:
    return check.answer is not Answer.OK


def instant(value: Any) -> datetime | None:
    """An instant from JSON."""
    return datetime.fromisoformat(value) if value else None

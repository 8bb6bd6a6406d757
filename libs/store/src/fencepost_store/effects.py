"""Effects and their attempts: what happened to the world, written down once (design 02 §5).

An attempt is opened under the run's start fence; its outcome is a compare-and-set on the attempt itself.
For class `local` both are in the transaction of the business write.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import rfc8785
from fencepost_domain.action import Action
from fencepost_domain.effect import check_effect_transition, effect_key
from fencepost_domain.vocabulary import AttemptState, EffectClass, EffectState
from sqlalchemy import RowMapping

from fencepost_store.transaction import Tx


@dataclass(frozen=True, slots=True)
class Effect:
    """An effect's row. attempt_ends_at: of its newest attempt; until then it is in progress for everyone."""

    key: str
    n: int
    tool: str
    effect_class: EffectClass
    state: EffectState
    result: Any
    result_invalid: bool
    error: dict[str, Any] | None
    attempts: int
    attempt_ends_at: datetime | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an attempt ended. error: `{code, detail}` of a failure. result: as the tool gave it, checked."""

    state: EffectState
    result: Any = None
    error: dict[str, Any] | None = None
    result_invalid: bool = False


_ATTEMPT = {
    EffectState.COMPLETED: AttemptState.COMPLETED,
    EffectState.FAILED: AttemptState.FAILED,
    EffectState.UNKNOWN: AttemptState.UNKNOWN,
}


def _to_effect(row: RowMapping) -> Effect:
    return Effect(
        key=row["effect_key"],
        n=row["n"],
        tool=row["tool"],
        effect_class=EffectClass(row["class"]),
        state=EffectState(row["state"]),
        result=row["result"],
        result_invalid=row["result_invalid"],
        error=row["error"],
        attempts=row["attempts"],
        attempt_ends_at=row["attempt_ends_at"],
    )


async def lock_effect(tx: Tx, run_id: UUID, index: int) -> tuple[Effect, datetime] | None:
    """The effect of an action, locked, and the database's instant; None before any attempt."""
    row = await tx.row("lock_effect", run_id=run_id, index=index)
    return (_to_effect(row), row["now"]) if row is not None else None


async def look_at_effect(tx: Tx, run_id: UUID, index: int) -> tuple[Effect, datetime] | None:
    """The same without a lock, for who only asks."""
    row = await tx.row("look_at_effect", run_id=run_id, index=index)
    return (_to_effect(row), row["now"]) if row is not None else None


@dataclass(frozen=True, slots=True)
class Lost:
    """Between these instants an attempt may have been made that isn't on record."""

    after: datetime
    until: datetime


async def open_attempt(
    tx: Tx,
    action: Action,
    *,
    root_run_id: UUID,
    request: bytes,
    boot: str,
    timeout_seconds: float,
    compensates: str | None = None,
    lost: Lost | None = None,
) -> datetime:
    """Write effect and first attempt as `started`; returns when the attempt ends.

    The caller holds the run's row and has judged its start fence. request: the exact bytes that are done.
    compensates: the key of the effect that this one undoes. lost: attempt 1 is one that may have been made
    before a restore, and unknown; nothing is sent for it.
    Raises Conflict effect_exists or attempt_open.
    """
    params = {
        "effect_key": effect_key(action.run_id, action.index),
        "run_id": action.run_id,
        "root_run_id": root_run_id,
        "tenant_id": action.tenant_id,
        "index": action.index,
        "n": action.n,
        "tool": action.tool,
        "class": str(action.effect_class),
        "arguments_hash": action.arguments_hash,
        "request": request,
        "timeout_seconds": timeout_seconds,
        "compensates": compensates,
    }
    if lost is None:
        row = await tx.row("open_attempt", boot=boot, **params)
    else:
        row = await tx.row("open_lost_attempt", lost_after=lost.after, recovered_at=lost.until, **params)
    assert row is not None  # an INSERT ... VALUES returns its row or raises
    ends_at: datetime = row["attempt_ends_at"]
    return ends_at


async def settle_attempt(tx: Tx, action: Action, attempt: int, outcome: Outcome, *, boot: str) -> bool:
    """Record an attempt's outcome, once. False: it was settled before; nothing was changed."""
    check_effect_transition(EffectState.STARTED, outcome.state)
    told = {"result": outcome.result, "error": outcome.error, "result_invalid": outcome.result_invalid}
    row = await tx.row(
        "settle_attempt",
        effect_key=effect_key(action.run_id, action.index),
        attempt=attempt,
        boot=boot,
        state=str(outcome.state),
        attempt_state=str(_ATTEMPT[outcome.state]),
        outcome=_json(told),
        result=_json(outcome.result) if outcome.result is not None else None,
        result_invalid=outcome.result_invalid,
        error=_json(outcome.error) if outcome.error is not None else None,
    )
    return row is not None


def _json(value: Any) -> str:
    return rfc8785.dumps(value).decode()

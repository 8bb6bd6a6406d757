"""Effects that leave the house: their whole history locked, repeated, settled, and observed (design 02 §5).

Whoever writes here holds the run's row, then the effect's; attempts change only under that. What to write is
decided by `fencepost_domain.settlement` and `fencepost_domain.effect.next_step`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import rfc8785
from fencepost_domain.effect import Unsettled
from fencepost_domain.errors import Conflict
from fencepost_domain.settlement import Attempt
from fencepost_domain.vocabulary import AttemptState, EffectClass, EffectState
from sqlalchemy import RowMapping

from fencepost_store.transaction import Tx


@dataclass(frozen=True, slots=True)
class WholeEffect:
    """An effect's row with its attempts. now: the database's instant, above the lock where one was taken."""

    key: str
    run_id: UUID
    root_run_id: UUID
    tenant_id: UUID
    index: int
    n: int
    tool: str
    effect_class: EffectClass
    state: EffectState
    arguments_hash: str
    request: bytes
    result: Any
    result_invalid: bool
    error: dict[str, Any] | None
    external_id: str | None
    looks: int
    next_look_at: datetime | None
    resolution: Mapping[str, Any] | None
    compensates: str | None
    attempts: tuple[Attempt, ...]
    now: datetime

    @property
    def ends_at(self) -> datetime:
        return self.attempts[-1].ends_at

    def unsettled(self, *, has_lookup: bool, key_memory: timedelta | None, timeout: timedelta) -> Unsettled:
        """What its next step is decided on, with what the contract says."""
        return Unsettled(
            self.effect_class,
            self.state,
            len(self.attempts),
            self.looks,
            sum(one.state is AttemptState.UNKNOWN for one in self.attempts),
            self.attempts[0].started_at,
            self.ends_at,
            self.next_look_at,
            has_lookup,
            key_memory,
            timeout,
        )


async def lock_whole_effect(tx: Tx, key: str) -> WholeEffect | None:
    """The run's row is held already. None: no attempt was ever opened."""
    return await _whole(tx, await tx.row("lock_whole_effect", effect_key=key))


async def look_at_whole_effect(tx: Tx, key: str) -> WholeEffect | None:
    return await _whole(tx, await tx.row("look_at_whole_effect", effect_key=key))


async def _whole(tx: Tx, row: RowMapping | None) -> WholeEffect | None:
    if row is None:
        return None
    attempts = await tx.rows("attempts_of", effect_key=row["effect_key"])
    return WholeEffect(
        key=row["effect_key"],
        run_id=row["run_id"],
        root_run_id=row["root_run_id"],
        tenant_id=row["tenant_id"],
        index=row["index"],
        n=row["n"],
        tool=row["tool"],
        effect_class=EffectClass(row["class"]),
        state=EffectState(row["state"]),
        arguments_hash=row["arguments_hash"],
        request=bytes(row["request"]),
        result=row["result"],
        result_invalid=row["result_invalid"],
        error=row["error"],
        external_id=row["external_id"],
        looks=row["looks"],
        next_look_at=row["next_look_at"],
        resolution=row["resolution"],
        compensates=row["compensates"],
        attempts=tuple(_to_attempt(one) for one in attempts),
        now=row["now"],
    )


def _to_attempt(row: RowMapping) -> Attempt:
    return Attempt(
        row["attempt"],
        AttemptState(row["state"]),
        row["executor_boot"],
        row["started_at"],
        row["attempt_ends_at"],
        row["landed"],
        row["external_id"],
    )


async def reopen_attempt(tx: Tx, effect: WholeEffect, *, boot: str, timeout_seconds: float) -> int:
    """Write the next attempt as `started`; returns its number. Raises Conflict attempt_open."""
    row = await tx.row(
        "reopen_attempt",
        effect_key=effect.key,
        attempts=len(effect.attempts),
        boot=boot,
        timeout_seconds=timeout_seconds,
    )
    if row is None:
        raise Conflict("attempt_open", "another attempt of this effect was opened meanwhile")
    number: int = row["attempt"]
    return number


async def settle_outside(
    tx: Tx,
    key: str,
    attempt: Attempt,
    state: AttemptState,
    outcome: Mapping[str, Any],
    *,
    by: str,
    boot: str | None,
) -> bool:
    """The attempt's outcome, once. boot: of the executor whose outcome it is; None for a look-up's answer."""
    row = await tx.row(
        "settle_outside",
        effect_key=key,
        attempt=attempt.number,
        attempt_state=str(state),
        before=str(attempt.state),
        outcome=_json(outcome),
        by=by,
        boot=boot,
    )
    return row is not None


async def observe_attempt(tx: Tx, key: str, attempt: int, observation: Mapping[str, Any]) -> None:
    """Keep what was heard beside an attempt that was settled already."""
    await tx.execute(
        "observe_attempt", {"effect_key": key, "attempt": attempt, "observation": _json(observation)}
    )


async def move_effect(
    tx: Tx,
    effect: WholeEffect,
    state: EffectState,
    *,
    result: Any = None,
    result_invalid: bool = False,
    error: Mapping[str, Any] | None = None,
    external_id: str | None = None,
    looked: bool = False,
    next_in: timedelta | None = None,
) -> None:
    """Raises IllegalTransition by the database's own table."""
    await tx.execute(
        "move_effect",
        {
            "effect_key": effect.key,
            "state": str(state),
            "result": _json(result) if result is not None else None,
            "result_invalid": result_invalid,
            "error": _json(error) if error is not None else None,
            "external_id": external_id,
            "looks": int(looked),
            "next_in": next_in.total_seconds() if next_in is not None else None,
        },
    )


async def attempts_are_absent(tx: Tx, key: str, *, by: str) -> None:
    await tx.execute("attempts_are_absent", {"effect_key": key, "by": by})


@dataclass(frozen=True, slots=True)
class Earlier:
    """What another run of the lineage did, or may have done, with the same tool and arguments."""

    key: str
    run_id: UUID
    state: EffectState
    at: datetime


async def earlier_in_lineage(
    tx: Tx, *, root_run_id: UUID, run_id: UUID, tool: str, arguments_hash: str
) -> list[Earlier]:
    rows = await tx.rows(
        "earlier_in_lineage", root_run_id=root_run_id, run_id=run_id, tool=tool, arguments_hash=arguments_hash
    )
    return [Earlier(r["effect_key"], r["run_id"], EffectState(r["state"]), r["updated_at"]) for r in rows]


def _json(value: Any) -> str:
    return rfc8785.dumps(value).decode()

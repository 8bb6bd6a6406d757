"""Mutants of decisions, of attempts and of what a token binds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final
from uuid import UUID

from fencepost_store import interrupts
from fencepost_store.transaction import Store, Tx
from fencepost_tool_gateway import judge, tokens

from tests.mutants import checks
from tests.mutants.mutate import Mutant, Text, functions, schema, texts, together
from tests.store import test_races_effects as effects
from tests.store import test_races_interrupts as decisions
from tests.support import attempts, lives

# ── decisions and effects ───────────────────────────────────────────────────────────────────────────────


def _without_wakes(decide_park: Any) -> Any:
    return lambda run, *args, wakes_seen, **more: decide_park(run, *args, wakes_seen=run.wakes, **more)


_remembered: dict[Any, Any] = {}


def _remembering_approvals(lock_run: Any) -> Any:
    """Reads the approval before the run's lock, as an early look does."""

    async def locked(tx: Tx, run_id: UUID) -> Any:
        row = await tx.connection.exec_driver_sql(
            "SELECT id FROM agent.interrupts WHERE run_id = %s ORDER BY id DESC LIMIT 1", (run_id,)
        )
        interrupt_id = row.scalar_one_or_none()
        async with Store(tx.connection.engine, tx.ids).transaction(tx.tenant_id) as earlier:
            _remembered[run_id] = await _real_lock_approval(earlier, run_id, interrupt_id)
        return await lock_run(tx, run_id)

    return locked


_real_lock_approval = attempts.actions.lock_approval


def _from_memory(_: Any) -> Any:
    async def remembered(_: Tx, run_id: UUID, __: UUID) -> Any:
        return _remembered[run_id]

    return remembered


def _remembering_looks(look_at_approval: Any) -> Any:
    """What the gateway saw in its snapshot is what it goes by."""

    async def looked(tx: Tx, run_id: UUID, interrupt_id: UUID | None) -> Any:
        _remembered[run_id] = await look_at_approval(tx, run_id, interrupt_id)
        return _remembered[run_id]

    return looked


EFFECTS: Final = [
    Mutant(
        "resolution stored whatever was stored before",
        texts(Text("store_resolution", "WHERE id = :id AND status = 'open'", "WHERE id = :id")),
        decisions.a_decision_found_fresh_twice_is_stored_once,
    ),
    Mutant(
        "interrupt's unique constraints dropped",
        together(
            schema("ALTER TABLE agent.interrupts DROP CONSTRAINT interrupts_asked_once",
                   "DROP INDEX agent.interrupts_one_open_per_run"),
            texts(Text("insert_interrupt", "ON CONFLICT ON CONSTRAINT interrupts_asked_once", "ON CONFLICT")),
        ),
        decisions.a_decision_that_lands_before_the_parking_is_not_slept_through,
    ),
    Mutant(
        "effect-key unique constraints dropped",
        schema("ALTER TABLE agent.effects DROP CONSTRAINT effects_pkey CASCADE",
               "ALTER TABLE agent.effects DROP CONSTRAINT effects_one_per_action",
               "ALTER TABLE agent.effect_attempts DROP CONSTRAINT effect_attempts_pkey",
               "DROP INDEX agent.effect_attempts_one_open_per_key"),
        effects.a_second_open_attempt_is_refused,
    ),
    Mutant(
        "parking without wakes: a decision",
        functions((interrupts, "decide_park", _without_wakes)),
        decisions.a_decision_that_lands_before_the_parking_is_not_slept_through,
    ),
    Mutant(
        "parking without wakes: an outcome",
        functions((lives, "decide_park", _without_wakes)),
        decisions.an_outcome_that_lands_before_the_parking_is_not_slept_through,
    ),
    Mutant(
        "approval not re-read at commit",
        functions(
            (attempts, "lock_run", _remembering_approvals), (attempts.actions, "lock_approval", _from_memory)
        ),
        effects.a_commit_judges_the_approval_under_its_lock,
    ),
    Mutant(
        "approval not re-read at commit: the gateway's",
        functions(
            (judge.store, "look_at_approval", _remembering_looks),
            (judge.store, "lock_approval", _from_memory),
        ),
        checks.the_gateway_judges_the_approval_under_its_lock,
    ),
    *(
        Mutant(
            f"settlement fenced by the run: {fate}",
            texts(Text(
                "settle_attempt",
                "SELECT effect_key FROM agent.effects WHERE effect_key = :effect_key",
                "SELECT effect_key FROM agent.effects WHERE effect_key = :effect_key AND EXISTS (SELECT FROM"
                " agent.runs r WHERE r.id = run_id AND r.status = 'running'"
                " AND r.lease_owner = 'slot-1:boot-1' AND r.lease_expires_at > clock_timestamp())",
            )),
            partial(effects.an_outcome_is_recorded_once, fate=fate),
        )
        for fate in effects.FATES
    ),
]  # fmt: skip


# ── tokens ──────────────────────────────────────────────────────────────────────────────────────────────

_BLANK: Final[dict[str, dict[str, Any]]] = {
    "run": {"run_id": UUID(int=0)},
    "arguments": {"arguments_hash": ""},
    "expiry": {"token_expires_at": tokens._EPOCH},
    "index": {"index": 0},
    "tenant": {"tenant_id": UUID(int=0)},
    "tool": {"tool": ""},
}


def _message_without(field: str) -> Callable[[Any], Any]:
    return lambda message: lambda action, user_id: message(replace(action, **_BLANK[field]), user_id)


TOKENS: Final = [
    *(
        Mutant(
            f"token without {field}",
            functions((tokens, "message", _message_without(field))),
            partial(checks.a_changed_row_is_refused, field=field),
        )
        for field in _BLANK
    ),
    Mutant(
        "token not verified at commit",
        functions((tokens, "verify", lambda _: lambda *_, **__: None)),
        checks.the_gateway_refuses_a_changed_row,
    ),
]

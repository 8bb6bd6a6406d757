"""Database errors as domain errors: one table by constraint name, one by SQLSTATE.

`tests/contract` reflects the migrated schema and fails when a constraint has no entry here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

import psycopg
from fencepost_domain.errors import Conflict, FencepostError, IllegalTransition, Unavailable
from sqlalchemy.exc import DBAPIError

Maker = Callable[[str], FencepostError]


def _conflict(code: str, detail: str) -> Maker:
    return lambda _: Conflict(code, detail)


def _illegal(thing: str) -> Maker:
    return lambda message: IllegalTransition(thing, "its state", message)


BY_CONSTRAINT: Final[Mapping[str, Maker]] = {
    "runs_one_per_idempotency_key": _conflict("idempotency_key_in_use", "this key already made a run"),
    "runs_transition_in_table": _illegal("run"),
    "runs_revision_moves_with_status": _illegal("run"),
    "runs_terminal_has_finalization": _illegal("run"),
    "simulation_touches_nothing": _conflict("simulation", "a simulation may not touch the world"),
    "simulations_one_per_idempotency_key": _conflict(
        "idempotency_key_in_use", "this key already made a simulation"
    ),
    "erase_only_finished_runs": _conflict("run_not_finished", "only a run that has ended can be erased"),
    "run_events_id_once": _conflict("event_exists", "this event was appended before"),
    "run_events_parent_once": _conflict("chain_forked", "another event follows the same one"),
    "run_events_pkey": _conflict("chain_forked", "another event has this number"),
    "interrupts_asked_once": _conflict("interrupt_exists", "this was asked before"),
    "interrupts_one_open_per_run": _conflict("interrupt_open", "the run asks something already"),
    "actions_one_current_per_index": _conflict("action_current", "this action has a current preparation"),
    "effects_pkey": _conflict("effect_exists", "this effect is in the ledger already"),
    "effects_one_per_action": _conflict("effect_exists", "this action has an effect already"),
    "effects_transition_in_table": _illegal("effect"),
    "effect_attempts_one_open_per_key": _conflict("attempt_open", "an attempt of this effect is in progress"),
    "effect_attempts_pkey": _conflict("attempt_open", "this attempt of the effect was opened before"),
    "messages_seq_once": _conflict("message_order", "another message has this place"),
    "messages_one_final_per_run": _conflict("message_exists", "the run has its final message"),
    "model_calls_one_answer_per_key": _conflict("answer_exists", "this call has its answer"),
    "tasks_pkey": _conflict("task_exists", "this task was started before"),
    "tasks_one_per_effect": _conflict("task_exists", "this effect has its task already"),
    "tasks_transition_in_table": _illegal("task"),
    "finalizations_pkey": _conflict("run_finished", "the run has its finalization"),
}

_OF_PARTITION: Final = re.compile(
    r"^(?P<table>run_events|run_event_payloads)_(?:\d{6}|default)_(?P<columns>\w+)$"
)
_PARENTS: Final[Mapping[tuple[str, str], str]] = {
    ("run_events", "pkey"): "run_events_pkey",
    ("run_events", "run_id_id_key"): "run_events_id_once",
    ("run_events", "run_id_prev_hash_key"): "run_events_parent_once",
    ("run_event_payloads", "pkey"): "run_event_payloads_pkey",
}
_UNAVAILABLE: Final = ("08", "57P", "53")  # connection, shutdown, resources
_RETRYABLE: Final = frozenset({"40001", "40P01"})


def sqlstate(error: DBAPIError) -> str | None:
    original = error.orig
    return original.sqlstate if isinstance(original, psycopg.Error) else None


def constraint_of(error: DBAPIError) -> str | None:
    """The constraint's name; a month partition's as its parent's (Postgres names the copies anew)."""
    original = error.orig
    name = original.diag.constraint_name if isinstance(original, psycopg.Error) else None
    found = _OF_PARTITION.match(name or "")
    return _PARENTS.get((found["table"], found["columns"]), name) if found else name


def is_retryable(error: DBAPIError) -> bool:
    """Serialization failure or deadlock: run again from load and decision."""
    return sqlstate(error) in _RETRYABLE


def domain_error(error: DBAPIError) -> FencepostError | None:
    """The domain's word for a database error, or None when it is a fault of ours (or to be retried)."""
    state = sqlstate(error)
    if state in _RETRYABLE:
        return None
    name = constraint_of(error)
    if name is not None and name in BY_CONSTRAINT:
        message = error.orig.diag.message_primary if isinstance(error.orig, psycopg.Error) else ""
        return BY_CONSTRAINT[name](message or name)
    if state is None and isinstance(error.orig, psycopg.OperationalError):
        return Unavailable("the database does not answer")
    if state is not None and state.startswith(_UNAVAILABLE):
        return Unavailable(f"the database is not available ({state})")
    if state in {"55P03", "57014", "25P03"}:  # lock, statement, idle-in-transaction timeouts of the role
        return Unavailable(f"the database was too slow ({state})")
    return None

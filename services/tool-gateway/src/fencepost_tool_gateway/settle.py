"""What was heard of an attempt, written down: by its own executor, or by a look-up (design 02 §2, §5).

One transaction under the run's row: attempt, effect, action and event; `wakes` tells who waits. It asks for
no lease, status or deadline: what happened to the world can always be recorded, once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from fencepost_contracts import canonical
from fencepost_contracts.schema import Schema
from fencepost_domain.decision import Decision, NewEvent
from fencepost_domain.effect import Heard, wait_after
from fencepost_domain.errors import NotFound
from fencepost_domain.settlement import Settled, decide_settlement
from fencepost_domain.vocabulary import TERMINAL, ActionStatus, EffectClass, EffectState, Ev
from fencepost_runtime.failpoints import ahit
from fencepost_runtime.logging import get_logger
from fencepost_runtime.telemetry import counter
from fencepost_store import effects_outside as store
from fencepost_store.actions import end_action, lock_action
from fencepost_store.effects_outside import WholeEffect
from fencepost_store.record import record
from fencepost_store.runs import Locked, lock_run
from fencepost_store.tasks import follow_effect
from fencepost_store.transaction import Tx

from fencepost_tool_gateway.catalog import Compiled
from fencepost_tool_gateway.conversation_state import write_result
from fencepost_tool_gateway.executors.port import Told
from fencepost_tool_gateway.gateway import Gateway

log = get_logger(__name__)
_EVENT: Final[Mapping[EffectState, Ev]] = {
    EffectState.COMPLETED: Ev.ACTION_COMMITTED,
    EffectState.FAILED: Ev.ACTION_FAILED,
    EffectState.UNKNOWN: Ev.ACTION_UNKNOWN,
    EffectState.ABSENT: Ev.EFFECT_ABSENT,
}
_STATUS: Final = {EffectState.COMPLETED: ActionStatus.COMMITTED, EffectState.FAILED: ActionStatus.FAILED}


@dataclass(frozen=True, slots=True)
class Report:
    """Whose outcome it is, and what it says. by: who signs; boot: None for a look-up's answer."""

    key: str
    attempt: int
    told: Told
    by: str
    boot: str | None


async def settle(
    gateway: Gateway, tenant: UUID, run_id: UUID, report: Report, bound: Compiled | None
) -> EffectState:
    """Record an outcome; returns the effect's state after it.

    bound: the run's catalog, whose schema a result has to fit; None where it can't be used any more.
    """

    async def write(tx: Tx) -> EffectState:
        return await _write(tx, await lock_run(tx, run_id), report, bound)

    state = await gateway.store.run(tenant, write)
    await ahit("gateway.send.after_commit")
    return state


@dataclass(frozen=True, slots=True)
class Checked:
    """A result as canonical JSON, and what is wrong with it. It is no observation while something is."""

    value: Any
    error: dict[str, Any] | None


def checked_result(told: Told, output: Schema | None) -> Checked:
    if told.heard is not Heard.COMPLETED:
        return Checked(None, {"code": told.code or str(told.heard), "detail": told.detail})
    try:
        plain = canonical.plain(told.result)
        canonical.dumps(plain)
    except ValueError:
        return Checked(None, {"code": "result_invalid", "detail": "the result is no JSON"})
    faults = [] if told.code or output is None else output.faults(plain)
    if told.code or faults:
        detail = told.code or "; ".join(f"{fault.pointer or '/'}: {fault.detail}" for fault in faults)
        return Checked(plain, {"code": "result_invalid", "detail": detail[:1000]})
    return Checked(plain, None)


async def _write(tx: Tx, locked: Locked, report: Report, bound: Compiled | None) -> EffectState:
    seen = await store.look_at_whole_effect(tx, report.key)
    if seen is None:
        raise NotFound("effect", report.key)
    action = await lock_action(tx, seen.run_id, seen.index, seen.n)
    checked = checked_result(report.told, bound.outputs.get(seen.tool) if bound is not None else None)
    effect = await store.lock_whole_effect(tx, report.key)
    assert effect is not None  # effects are never deleted
    told = report.told
    decided = decide_settlement(
        effect.state, effect.effect_class, effect.attempts, report.attempt, told.heard, told.external_id
    )
    await _write_attempt(tx, effect, report, decided, checked)
    state = await _write_effect(tx, effect, report, decided, checked)
    if effect.effect_class is EffectClass.ASYNC:
        code = checked.error["code"] if checked.error else None
        await follow_effect(tx, effect.key, state, external_id=told.external_id, code=code)
    late = locked.run.status in TERMINAL or decided.attempt is None
    events = [NewEvent(tx.ids.uuid7(), *_told(effect, report, decided, state, checked, late), report.by)]
    if decided.effect is EffectState.COMPLETED and checked.error is None and bound and action:
        arguments = json.loads(action[0].arguments)
        events += await write_result(
            tx, locked.run, bound.words, seen.tool, effect.effect_class, arguments, checked.value, report.by
        )
    if decided.duplicated:
        events.append(_duplicated(tx, effect, decided))
    # An accepted task ends no wait, and its own commit is about to begin one.
    sets = {} if state is EffectState.ACCEPTED else {"wake": True}
    await record(tx, locked.run, Decision(None, sets=sets, events=tuple(events)))
    await ahit("gateway.send.before_commit")
    return state


async def _write_attempt(
    tx: Tx, effect: WholeEffect, report: Report, decided: Settled, checked: Checked
) -> None:
    told = report.told
    outcome = {
        "heard": str(told.heard),
        "result": checked.value,
        "error": checked.error,
        "external_id": told.external_id,
        "by": report.by,
    }
    attempt = effect.attempts[report.attempt - 1]
    if decided.attempt is None:
        await store.observe_attempt(tx, effect.key, attempt.number, outcome)
        return
    settled = await store.settle_outside(
        tx, effect.key, attempt, decided.attempt, outcome, by=report.by, boot=report.boot
    )
    if not settled:  # the row is held and was judged: another boot's outcome was passed off as this one's
        raise NotFound("attempt", f"{effect.key}/{attempt.number} of {report.boot}")


async def _write_effect(
    tx: Tx, effect: WholeEffect, report: Report, decided: Settled, checked: Checked
) -> EffectState:
    if decided.effect is None:
        return effect.state
    completed = decided.effect is EffectState.COMPLETED
    await store.move_effect(
        tx,
        effect,
        decided.effect,
        result=checked.value if completed else None,
        result_invalid=completed and checked.error is not None,
        error=checked.error,
        external_id=report.told.external_id,
        next_in=_next_in(effect, report.told, decided.effect),
    )
    if decided.effect in _STATUS:
        action = await lock_action(tx, effect.run_id, effect.index, effect.n)
        if action is not None:
            await end_action(tx, action[0], _STATUS[decided.effect])
    return decided.effect


def _next_in(effect: WholeEffect, told: Told, state: EffectState) -> timedelta | None:
    """When it may be repeated or looked at: what the other side asked for, else a doubled wait."""
    if state is EffectState.ABSENT:
        asked = timedelta(seconds=told.retry_after) if told.retry_after is not None else None
        return asked if asked is not None else wait_after(len(effect.attempts) - 1)
    if state is EffectState.UNKNOWN:
        left = max(effect.ends_at - effect.now, timedelta(0))
        asked = timedelta(seconds=told.retry_after or 0)
        return max(left, asked, wait_after(len(effect.attempts) - 1))
    return None


def _told(
    effect: WholeEffect, report: Report, decided: Settled, state: EffectState, checked: Checked, late: bool
) -> tuple[Ev, dict[str, Any]]:
    base: dict[str, Any] = {
        "index": effect.index, "tool": effect.tool, "effect_key": effect.key, "attempt": report.attempt,
    }  # fmt: skip
    kind = _EVENT.get(state) if decided.effect is not None else None
    if kind in (Ev.ACTION_COMMITTED, Ev.ACTION_FAILED):
        ended = {
            **base, "n": effect.n, "arguments_hash": effect.arguments_hash,
            "effect_class": str(effect.effect_class), "late": late,
        }  # fmt: skip
        if kind is Ev.ACTION_FAILED:
            return kind, {**ended, "error": checked.error}
        return kind, {**ended, "result": checked.value, "result_invalid": checked.error is not None}
    if kind is Ev.ACTION_UNKNOWN:
        return kind, {**base, "n": effect.n, "late": late}
    detail = checked.error["detail"] if checked.error else None
    moved = {
        **base, "state": str(state), "by": report.by, "heard": str(report.told.heard), "detail": detail,
        "external_id": report.told.external_id, "late": late,
    }  # fmt: skip
    return kind or Ev.EFFECT_OBSERVED, moved


def _duplicated(tx: Tx, effect: WholeEffect, decided: Settled) -> NewEvent:
    """To the operator: the world has it twice, and only a person can take one away."""
    counter("fencepost.effect.duplicated", "Effects that proved to have landed more than once").add(1)
    log.error("effect.duplicated", effect_key=effect.key, attempts=list(decided.duplicated))
    told = {"effect_key": effect.key, "attempts": list(decided.duplicated)}
    return NewEvent(tx.ids.uuid7(), Ev.EFFECT_DUPLICATED, told, "gateway")

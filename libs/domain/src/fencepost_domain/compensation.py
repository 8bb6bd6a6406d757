"""What became of undoing an effect: a pure function of the compensating run and its own effect (ADR-0030)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from fencepost_domain.vocabulary import TERMINAL, EffectState, Reason, RunStatus

S = EffectState
DONE: Final = frozenset({S.COMPLETED, S.COMPENSATING, S.COMPENSATED})
NOT_DONE: Final = frozenset({S.FAILED, S.WITHDRAWN, S.ABANDONED})
# Somebody decided that it isn't undone: that is no failure, and the effect stands as it did.
DECIDED: Final = frozenset({Reason.APPROVAL_REJECTED, Reason.USER_CANCELLED})


@dataclass(frozen=True, slots=True)
class Undoing:
    """status, reason: of the compensating run. effect: the state of its own effect; None: never opened."""

    status: RunStatus
    reason: Reason | None
    effect: EffectState | None
    error: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Undone:
    """state: of the first effect from now on. error: why a person is asked."""

    state: EffectState
    error: dict[str, Any] | None = None


def decide_undone(undoing: Undoing) -> Undone | None:
    """None while it isn't known: the run is at work, or its effect is being looked up or a person's."""
    if undoing.effect in DONE:
        return Undone(S.COMPENSATED)
    if undoing.status not in TERMINAL:
        return None
    if undoing.effect is None:
        if undoing.reason in DECIDED:
            return Undone(S.COMPLETED)
        return Undone(S.NEEDS_HUMAN, _failed(f"its run ended as {undoing.status}, {undoing.reason}"))
    if undoing.effect in NOT_DONE:
        told = str((undoing.error or {}).get("detail") or undoing.effect)
        return Undone(S.NEEDS_HUMAN, _failed(told))
    return None


def _failed(detail: str) -> dict[str, Any]:
    return {"code": "compensation_failed", "detail": f"it was not undone: {detail}"[:1000]}

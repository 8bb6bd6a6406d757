"""Effects: the state table of what happened to the world, and what a class allows (design 02 §5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fencepost_domain.errors import IllegalTransition
from fencepost_domain.vocabulary import EffectClass, EffectState, Risk

S = EffectState

EFFECT_TRANSITIONS: Final[Mapping[EffectState, frozenset[EffectState]]] = {
    S.PREPARED: frozenset({S.STARTED, S.WITHDRAWN}),
    S.STARTED: frozenset({S.ACCEPTED, S.COMPLETED, S.FAILED, S.UNKNOWN}),
    S.ACCEPTED: frozenset({S.COMPLETED, S.FAILED, S.UNKNOWN}),
    S.UNKNOWN: frozenset({S.COMPLETED, S.FAILED, S.ABSENT, S.NEEDS_HUMAN}),
    S.NEEDS_HUMAN: frozenset({S.COMPLETED, S.ABSENT, S.ABANDONED}),
    S.ABSENT: frozenset({S.STARTED, S.WITHDRAWN}),
    S.COMPLETED: frozenset({S.COMPENSATING}),
    S.COMPENSATING: frozenset({S.COMPENSATED, S.NEEDS_HUMAN}),
}


def check_effect_transition(before: EffectState, after: EffectState) -> None:
    """Raise IllegalTransition unless the table has the step."""
    if after not in EFFECT_TRANSITIONS.get(before, frozenset()):
        raise IllegalTransition("effect", before, after)


def needs_approval(risk: Risk, effect_class: EffectClass, *, approval: bool | None = None) -> bool:
    """Does a person decide before it happens? Low risk commits at once; opaque effects never do.

    approval: what the contract says besides (True asks even at low risk; it can't waive medium or high).
    """
    return bool(approval) or risk is not Risk.LOW or effect_class is EffectClass.EXTERNAL_OPAQUE


def effect_key(run_id: object, index: int) -> str:
    """The stable key of an action's effect: the same on every attempt and after every crash."""
    return f"{run_id}:action:{index}:commit"


def prepare_key(run_id: object, index: int, n: int) -> str:
    return f"{run_id}:action:{index}:prepare:{n}"

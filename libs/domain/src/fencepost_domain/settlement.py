"""What an outcome means for its effect: the newest attempt's settles, every other is a further observation.

Pure functions of the locked rows. An outcome is taken once per attempt; what a look-up or a person settled
first is not unsaid by it, but proof that something landed is never dropped (design 02 §2, §5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from fencepost_domain.effect import Heard, effect_after
from fencepost_domain.vocabulary import AttemptState, EffectClass, EffectState

S = EffectState


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt's row as locked. landed: by its outcome, or by an observation beside it."""

    number: int
    state: AttemptState
    boot: str
    started_at: datetime
    ends_at: datetime
    landed: bool
    external_id: str | None = None


@dataclass(frozen=True, slots=True)
class Settled:
    """What to write. None: that row keeps its state, and the outcome is kept as an observation.

    duplicated: the attempts that landed, when what landed more than once can't be one and the same.
    """

    effect: EffectState | None
    attempt: AttemptState | None
    duplicated: tuple[int, ...] = ()


def decide_settlement(
    state: EffectState,
    effect_class: EffectClass,
    attempts: Sequence[Attempt],
    number: int,
    heard: Heard,
    external_id: str | None,
) -> Settled:
    """attempts: all of the effect, in order. number: whose outcome it is."""
    mine = attempts[number - 1]
    others = [one for one in attempts if one.number != number]
    duplicated = _duplicated(effect_class, mine, others, external_id) if heard is Heard.COMPLETED else ()
    is_newest = number == len(attempts)
    if heard is Heard.ACCEPTED and state is S.ACCEPTED:
        return Settled(None, None)
    if is_newest and state in (S.STARTED, S.ACCEPTED) and mine.state is AttemptState.STARTED:
        # What an earlier attempt was seen to have done stands, whatever this one told.
        seen = any(one.landed for one in others)
        unsure = any(one.state is AttemptState.UNKNOWN for one in others)
        after = S.COMPLETED if seen else effect_after(heard, unsure_before=unsure, attempt=number)
        return Settled(after, AttemptState.COMPLETED if seen else attempt_after(heard), duplicated)
    if state not in (S.UNKNOWN, S.NEEDS_HUMAN, S.ABSENT):
        return Settled(None, None, duplicated)  # settled, or another attempt is at work
    if heard is Heard.COMPLETED:
        return Settled(S.COMPLETED, AttemptState.COMPLETED, duplicated)
    if heard is Heard.UNKNOWN or mine.state is not AttemptState.UNKNOWN or state is S.ABSENT:
        return Settled(None, None)
    return _refused_late(state, others, number, heard)


def _refused_late(state: EffectState, others: Sequence[Attempt], number: int, heard: Heard) -> Settled:
    if any(one.state is AttemptState.UNKNOWN for one in others):
        return Settled(None, AttemptState.FAILED)
    if state is S.NEEDS_HUMAN:
        return Settled(S.ABSENT, AttemptState.FAILED)
    return Settled(effect_after(heard, unsure_before=False, attempt=number), AttemptState.FAILED)


def attempt_after(heard: Heard) -> AttemptState:
    match heard:
        case Heard.COMPLETED:
            return AttemptState.COMPLETED
        case Heard.UNKNOWN:
            return AttemptState.UNKNOWN
        case Heard.ACCEPTED:
            return AttemptState.STARTED
        case _:
            return AttemptState.FAILED


def _duplicated(
    effect_class: EffectClass, mine: Attempt, others: Sequence[Attempt], external_id: str | None
) -> tuple[int, ...]:
    """Under a provider's key a second answer is the first one again, unless it names another thing."""
    landed = [one for one in others if one.landed]
    if effect_class is EffectClass.EXTERNAL_IDEMPOTENT:
        landed = [
            one
            for one in landed
            if None not in (one.external_id, external_id) and one.external_id != external_id
        ]
    return tuple(sorted({mine.number, *(one.number for one in landed)})) if landed else ()

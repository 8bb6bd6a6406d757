"""Effects: the state table of what happened to the world, and what a class allows (design 02 §5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from fencepost_domain.errors import IllegalTransition
from fencepost_domain.vocabulary import EffectClass, EffectState, Risk

S = EffectState

# ADR-0030: a person may say `compensated` of what was being undone, and then never `absent`.
# ADR-0014: `absent` is also what a refusal leaves that invites a repeat; a repeat by key leaves `unknown`.
EFFECT_TRANSITIONS: Final[Mapping[EffectState, frozenset[EffectState]]] = {
    S.PREPARED: frozenset({S.STARTED, S.WITHDRAWN}),
    S.STARTED: frozenset({S.ACCEPTED, S.COMPLETED, S.FAILED, S.UNKNOWN, S.ABSENT}),
    S.ACCEPTED: frozenset({S.COMPLETED, S.FAILED, S.UNKNOWN}),
    S.UNKNOWN: frozenset({S.STARTED, S.COMPLETED, S.FAILED, S.ABSENT, S.NEEDS_HUMAN}),
    S.NEEDS_HUMAN: frozenset({S.COMPLETED, S.ABSENT, S.ABANDONED, S.COMPENSATED}),
    S.ABSENT: frozenset({S.STARTED, S.WITHDRAWN, S.COMPLETED, S.UNKNOWN}),
    S.COMPLETED: frozenset({S.COMPENSATING}),
    S.COMPENSATING: frozenset({S.COMPENSATED, S.NEEDS_HUMAN, S.COMPLETED}),
}
EXTERNAL: Final = frozenset(
    {EffectClass.EXTERNAL_IDEMPOTENT, EffectClass.EXTERNAL_QUERYABLE, EffectClass.EXTERNAL_OPAQUE}
)
MOST_ATTEMPTS: Final = 5  # of one effect by the machine; then the last refusal stands, or a person decides
MOST_LOOKS: Final = 8  # look-ups without an answer, about four minutes of them; then a person decides
FIRST_WAIT: Final = timedelta(seconds=1)  # before a look-up or repeat is tried again; doubled each time
LONGEST_WAIT: Final = timedelta(minutes=5)
ROOM: Final = 0.75  # of an attempt's time has to be left when the send begins, or it doesn't begin


class Heard(StrEnum):
    """What a send told.

    REJECTED: the other side says it did nothing. LATER: nothing was done, and a repeat is welcome (429, or
    nothing ever left the house). UNKNOWN: a time-out is no proof of anything.
    """

    COMPLETED = "completed"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    LATER = "later"
    UNKNOWN = "unknown"


class Seen(StrEnum):
    """What a look-up saw."""

    FOUND = "found"
    ABSENT = "absent"
    UNSURE = "unsure"


class Next(StrEnum):
    """What may be done about an effect that isn't settled."""

    WAIT = "wait"
    LOOK = "look"
    REPEAT = "repeat"
    PERSON = "person"


@dataclass(frozen=True, slots=True)
class Unsettled:
    """What the next step is decided on. Instants are the database's.

    first_started_at: of attempt 1. ends_at: of the newest attempt. next_look_at: not before; None: at once.
    key_memory: how long the provider knows a key; None: not at all. unsure: attempts that may have landed.
    """

    effect_class: EffectClass
    state: EffectState
    attempts: int
    looks: int
    unsure: int
    first_started_at: datetime
    ends_at: datetime
    next_look_at: datetime | None
    has_lookup: bool
    key_memory: timedelta | None
    timeout: timedelta


def check_effect_transition(before: EffectState, after: EffectState) -> None:
    """Raise IllegalTransition unless the table has the step."""
    if after not in EFFECT_TRANSITIONS.get(before, frozenset()):
        raise IllegalTransition("effect", before, after)


def effect_after(heard: Heard, *, unsure_before: bool, attempt: int) -> EffectState:
    """The effect's state after an attempt that told `heard`.

    unsure_before: an earlier attempt may have landed. Then a refusal of this one proves nothing about that:
    a credential that expired in between is refused before the key is looked at.
    """
    match heard:
        case Heard.COMPLETED:
            return S.COMPLETED
        case Heard.ACCEPTED:
            return S.ACCEPTED
        case Heard.UNKNOWN:
            return S.UNKNOWN
        case _ if unsure_before:
            return S.UNKNOWN
        case Heard.LATER if attempt < MOST_ATTEMPTS:
            return S.ABSENT
        case _:
            return S.FAILED


def next_step(effect: Unsettled, now: datetime) -> tuple[Next, datetime | None]:
    """What may be done now, and for WAIT until when.

    Opaque effects are a person's as soon as their attempt ended. A repeat by key has to end, as a whole,
    while the provider still knows the key.
    """
    if effect.state in (S.STARTED, S.ACCEPTED, S.UNKNOWN) and now < effect.ends_at:
        return Next.WAIT, effect.ends_at
    if effect.state is S.NEEDS_HUMAN:
        return Next.PERSON, None
    if effect.state in (S.STARTED, S.ACCEPTED):
        return Next.WAIT, now + FIRST_WAIT  # the sweep calls it unknown within a moment
    if effect.effect_class not in EXTERNAL or (
        effect.state is S.UNKNOWN and effect.effect_class is EffectClass.EXTERNAL_OPAQUE
    ):
        return Next.PERSON, None
    if effect.next_look_at is not None and now < effect.next_look_at:
        return Next.WAIT, effect.next_look_at
    if effect.state is S.ABSENT:
        return (Next.REPEAT, None) if effect.attempts < MOST_ATTEMPTS else (Next.PERSON, None)
    if effect.has_lookup:
        return (Next.LOOK, None) if effect.looks < MOST_LOOKS else (Next.PERSON, None)
    return (Next.REPEAT, None) if _key_is_known(effect, now) else (Next.PERSON, None)


def _key_is_known(effect: Unsettled, now: datetime) -> bool:
    return (
        effect.effect_class is EffectClass.EXTERNAL_IDEMPOTENT
        and effect.key_memory is not None
        and effect.attempts < MOST_ATTEMPTS
        and now + effect.timeout < effect.first_started_at + effect.key_memory
    )


def wait_after(tries: int) -> timedelta:
    """How long until the next look-up or repeat: doubled from a second, five minutes at most."""
    return min(FIRST_WAIT * (1 << min(tries, 16)), LONGEST_WAIT)


def needs_approval(risk: Risk, effect_class: EffectClass, *, approval: bool | None = None) -> bool:
    """Does a person decide before it happens? Low risk commits at once; opaque effects never do.

    approval: what the contract says besides (True asks even at low risk; it can't waive medium or high).
    """
    return bool(approval) or risk is not Risk.LOW or effect_class is EffectClass.EXTERNAL_OPAQUE


def effect_key(run_id: object, index: int) -> str:
    """The stable key of an action's effect: the same on every attempt and after every crash."""
    return f"{run_id}:action:{index}:commit"

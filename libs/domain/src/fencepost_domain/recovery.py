"""The recovery gate: may a run that was worked on before go on as it is? (design 02 §6)

Pure judgement of facts that were read under the run's claim. Each check answers `ok`, `repair` (mended at
once, then it goes on), `wait` (looked at again), `human` (a person has to say) or `stop`. The hardest answer
of all checks is the gate's; with `ok` or `repair` something new may be started under this revision.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from fencepost_domain.errors import FenceLost
from fencepost_domain.run import Run
from fencepost_domain.vocabulary import EffectClass, EffectState

FIRST_REVISION: Final = 1  # of a run's first claim: nothing was done before it
SEEN_WITHIN: Final = timedelta(days=30)  # rights older than this are nobody's rights of today
GATE_INDEX: Final = -1  # of the gate's own questions; actions and an agent's questions count from 0
GO_ON: Final = "go_on"
STOP: Final = "stop"


class Answer(StrEnum):
    OK = "ok"
    REPAIR = "repair"
    WAIT = "wait"
    HUMAN = "human"
    STOP = "stop"


HARDNESS: Final = (Answer.OK, Answer.REPAIR, Answer.WAIT, Answer.HUMAN, Answer.STOP)
MAY_START: Final = frozenset({Answer.OK, Answer.REPAIR})


@dataclass(frozen=True, slots=True)
class Check:
    """One check's answer. until: when a `wait` is over at the latest."""

    name: str
    answer: Answer
    detail: str
    until: datetime | None = None

    def told(self) -> dict[str, str]:
        """The payload of recovery.checked."""
        return {"check": self.name, "answer": str(self.answer), "detail": self.detail}


@dataclass(frozen=True, slots=True)
class EffectFact:
    """An effect that isn't settled. ends_at: of its open attempt, None without one."""

    index: int
    tool: str
    effect_class: EffectClass
    state: EffectState
    ends_at: datetime | None


@dataclass(frozen=True, slots=True)
class PendingAction:
    """A preparation that nothing was started for. decider_*: of who approved it, as seen last.

    changed: what its tool's contract is now differs from the one it was approved under.
    """

    index: int
    n: int
    tool: str
    is_approved: bool
    needs_approval: bool
    token_expires_at: datetime
    decided_by: str | None = None
    decider_roles: tuple[str, ...] | None = None
    needed_roles: tuple[str, ...] = ()
    changed: str = ""


@dataclass(frozen=True, slots=True)
class Person:
    """A requester. roles, seen_at: None for somebody never seen. confirmed_at: said that it shall go on."""

    started_with: frozenset[str]
    roles: frozenset[str] | None
    seen_at: datetime | None
    confirmed_at: datetime | None = None
    said_stop: bool = False
    never_answered: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """What the gate judges. broken: why what the run is bound to can't be used, '' if it can.

    spent, limits: of the lineage's budget, by name. secrets_missing, artifacts_bad: by name.
    said_since, state_since: messages and changes of state by others since this run was worked on last.
    """

    now: datetime
    broken: str
    requester: Person
    effects: Sequence[EffectFact] = ()
    pending: Sequence[PendingAction] = ()
    spent: Mapping[str, Any] = field(default_factory=dict)
    limits: Mapping[str, Any] = field(default_factory=dict)
    secrets_missing: Sequence[str] = ()
    artifacts_bad: Sequence[str] = ()
    said_since: int = 0
    state_since: int = 0


@dataclass(frozen=True, slots=True)
class Verdict:
    """The gate's answer. withdrawn: pending actions whose approval doesn't hold any more."""

    checks: tuple[Check, ...]
    withdrawn: tuple[PendingAction, ...] = ()

    @property
    def answer(self) -> Answer:
        return max((check.answer for check in self.checks), key=HARDNESS.index)

    @property
    def deciding(self) -> Check:
        """The first check that gave the gate's answer."""
        return next(check for check in self.checks if check.answer is self.answer)


def check_gate(run: Run, gate_revision: int | None) -> None:
    """Raise FenceLost unless the gate let this revision through. A run's first claim needs no gate.

    A worker that didn't ask, or was told no, is treated as one whose fence is lost: it drops the run.
    """
    if run.revision > FIRST_REVISION and gate_revision != run.revision:
        raise FenceLost(run.id, f"the recovery gate did not let revision {run.revision} through")


def judge(facts: Facts) -> Verdict:
    """All checks, in the order in which they are told."""
    void = {(action.index, action.n): why for action in facts.pending if (why := _void(action, facts.now))}
    checks = (
        _binding(facts),
        _effects(facts),
        _calls(facts),
        _approvals(facts, void),
        _rights(facts),
        _artifacts(facts),
        _secrets(facts),
        _budget(facts),
        _changed(facts),
    )
    return Verdict(checks, tuple(a for a in facts.pending if (a.index, a.n) in void))


def _binding(facts: Facts) -> Check:
    if facts.broken:
        return Check("binding", Answer.STOP, facts.broken)
    return Check("binding", Answer.OK, "graph, manifest and catalog hash to what the run is bound to")


def _effects(facts: Facts) -> Check:
    """Open attempts have an end; until then nobody looks up or repeats (design 02 §5)."""
    working = [e for e in facts.effects if e.ends_at is not None and e.ends_at > facts.now]
    if working:
        until = max(e.ends_at for e in working if e.ends_at is not None)
        return Check(
            "effects", Answer.WAIT, f"{_names(working)} in progress until {until.isoformat()}", until
        )
    person = [e for e in facts.effects if _is_for_a_person(e)]
    if person:
        return Check("effects", Answer.HUMAN, f"a person has to say what became of {_names(person)}")
    if facts.effects:
        return Check("effects", Answer.WAIT, f"what became of {_names(facts.effects)} is being looked up")
    return Check("effects", Answer.OK, "none is open or unsettled")


def _is_for_a_person(effect: EffectFact) -> bool:
    return effect.state is EffectState.NEEDS_HUMAN or effect.effect_class is EffectClass.EXTERNAL_OPAQUE


def _calls(facts: Facts) -> Check:
    """Calls without a result are closed in what a provider is sent, never in what is stored (I18)."""
    undone = sum(not action.is_approved or bool(_void(action, facts.now)) for action in facts.pending)
    unknown = len(facts.effects)
    if not unknown and not undone:
        next_one = ", or is approved and carried out next" if facts.pending else ""
        return Check("tool_calls", Answer.OK, f"every call has its result{next_one}")
    said = [f"{unknown} closed as outcome_unknown"] if unknown else []
    said += [f"{undone} as not_executed"] if undone else []
    return Check("tool_calls", Answer.REPAIR, "for a provider: " + ", ".join(said))


def _approvals(facts: Facts, void: Mapping[tuple[int, int], str]) -> Check:
    if not void:
        count = sum(a.is_approved for a in facts.pending)
        return Check("approvals", Answer.OK, f"{count} approved and not carried out yet, all hold")
    said = "; ".join(f"action {index}: {why}" for (index, _), why in sorted(void.items()))
    return Check("approvals", Answer.REPAIR, f"withdrawn, to be asked again: {said}")


def _void(action: PendingAction, now: datetime) -> str:
    """Why an approval doesn't hold any more; '' while it does, or there is none."""
    if not action.is_approved:
        return ""
    if action.token_expires_at <= now:
        return "its preparation is too old"
    if not action.needs_approval or action.decided_by is None:
        return ""
    if action.changed:
        return action.changed
    if action.decider_roles is None:
        return "who approved it is not known any more"
    if action.needed_roles and not set(action.needed_roles) & set(action.decider_roles):
        return "who approved it may not approve any more"
    return ""


def _rights(facts: Facts) -> Check:
    who, now = facts.requester, facts.now
    if who.said_stop:
        return Check("rights", Answer.STOP, "the person asked said that it shall not go on")
    if who.never_answered:
        return Check("rights", Answer.STOP, "nobody said in time whether it shall go on")
    if who.confirmed_at is not None and who.confirmed_at > now - SEEN_WITHIN:
        return Check("rights", Answer.OK, f"confirmed at {who.confirmed_at.isoformat()}")
    if who.roles is None or who.seen_at is None:
        return Check("rights", Answer.HUMAN, "the requester's rights of today are not known")
    if who.seen_at <= now - SEEN_WITHIN:
        return Check("rights", Answer.HUMAN, f"the requester was seen last at {who.seen_at.isoformat()}")
    if who.started_with and not who.started_with & who.roles:
        return Check("rights", Answer.HUMAN, "the requester has none of the roles it was started with")
    gone = sorted(who.started_with - who.roles)
    said = f", without {', '.join(gone)} since" if gone else ""
    return Check("rights", Answer.OK, f"{', '.join(sorted(who.roles)) or 'no role'}{said}")


def _artifacts(facts: Facts) -> Check:
    if facts.artifacts_bad:
        # What is left is said as such; a run isn't stopped for a file that nothing may need any more (I29).
        return Check("artifacts", Answer.REPAIR, f"shown as lost: {', '.join(facts.artifacts_bad)}")
    return Check("artifacts", Answer.OK, "each is there and as it was")


def _secrets(facts: Facts) -> Check:
    if facts.secrets_missing:
        return Check("secrets", Answer.WAIT, f"not to be had here now: {', '.join(facts.secrets_missing)}")
    return Check("secrets", Answer.OK, "taken anew, kept nowhere")


def _budget(facts: Facts) -> Check:
    over = [
        name
        for name, limit in sorted(facts.limits.items())
        if _amount(facts.spent.get(name)) > _amount(limit)
    ]
    if over:
        return Check("budget", Answer.STOP, f"exceeded: {', '.join(over)}")
    left = [
        f"{name} {_amount(limit) - _amount(facts.spent.get(name)):g}"
        for name, limit in sorted(facts.limits.items())
    ]
    return Check("budget", Answer.OK, f"left: {', '.join(left)}" if left else "no limit but the graph's own")


def _changed(facts: Facts) -> Check:
    if not facts.said_since and not facts.state_since:
        return Check("changed", Answer.OK, "nothing was said or changed since")
    said = f"{facts.said_since} messages and {facts.state_since} changes of state since: read anew"
    return Check("changed", Answer.REPAIR, said)


def _amount(value: Any) -> float:
    return float(value) if value is not None else 0.0


def _names(effects: Sequence[EffectFact]) -> str:
    return ", ".join(f"{e.tool} (action {e.index}, {e.state})" for e in effects)

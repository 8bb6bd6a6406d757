"""How a run's end is said: its finalization and its one final message, from what is stored and nothing else.

Pure functions; `outcome` records what they return. Whatever a graph proposed, an effect that isn't settled
keeps the run from succeeding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from fencepost_domain.decision import Finalization, FinalMessage
from fencepost_domain.endings import stopped
from fencepost_domain.termination import Ending, Standing, decide_termination
from fencepost_domain.vocabulary import EffectClass, Reason, RunStatus, Stop
from fencepost_store.bindings import EndingFacts

from fencepost_worker.flow.wording import explain, nothing_done, stopped_text

DECIDED_BY: Final = "termination"
GOOD: Final = frozenset({RunStatus.SUCCEEDED, RunStatus.PARTIALLY_SUCCEEDED})
End = tuple[Finalization, FinalMessage]


def proposed(proposal: Mapping[str, Any], facts: EndingFacts, locale: str, message_id: UUID) -> End:
    """The graph's own proposal, unless an effect is unsettled that it didn't know of."""
    ending = Ending(RunStatus(proposal["status"]), Reason(proposal["reason"]), proposal["code"])
    text, explanation = proposal["text"], proposal["explanation"]
    if facts.unsettled and ending.status in GOOD:
        ending = decide_termination(Standing(answered=True, unsettled=len(facts.unsettled)))
        explanation = explain(ending, locale)
        text = f"{explanation}\n{text}"
    left = tuple(proposal["left_undone"])
    unproven = tuple(proposal.get("unproven", ()))
    return _end(ending, facts, explanation, text, message_id, left_undone=left, unproven=unproven)


def broken(reason: Reason, code: str, detail: str, facts: EndingFacts, locale: str, message_id: UUID) -> End:
    """A run that cannot go on: what was done before is said, or that nothing was done."""
    done = _changes(facts)
    standing = Standing(
        failure=reason, failure_code=code, completed=len(done), unsettled=len(facts.unsettled)
    )
    ending = decide_termination(standing)
    explanation = explain(ending, locale)
    if done or facts.unsettled:
        text = stopped_text(explanation, done, facts.unsettled, locale)
    else:
        text = nothing_done(ending.reason, locale)
    return _end(ending, facts, explanation, text, message_id, detail=detail)


def drained(stop: Stop, facts: EndingFacts, locale: str, message_id: UUID) -> End:
    """A cancelled or expired run: done, unconfirmed, and what to do next."""
    plain = stopped(stop, "", "worker")
    explanation = explain(Ending(plain.status, plain.reason), locale)
    done = _changes(facts)
    text = stopped_text(explanation, done, facts.unsettled, locale)
    finalization = replace(
        plain,
        explanation=text.replace("\n", " "),
        evidence={"completed": [effect["effect_key"] for effect in done]},
        unconfirmed_effects=facts.unsettled,
        usage=facts.usage,
    )
    return finalization, FinalMessage(message_id, text)


def _end(
    ending: Ending,
    facts: EndingFacts,
    explanation: str,
    text: str,
    message_id: UUID,
    *,
    left_undone: tuple[str, ...] = (),
    detail: str = "",
    unproven: tuple[str, ...] = (),
) -> End:
    evidence: dict[str, Any] = {"detail": detail} if detail else {}
    if unproven:
        evidence["unproven"] = list(unproven)
    finalization = Finalization(
        ending.status,
        ending.reason,
        explanation,
        DECIDED_BY,
        code=ending.code,
        evidence=evidence,
        left_undone=left_undone,
        unconfirmed_effects=facts.unsettled,
        usage=facts.usage,
    )
    return finalization, FinalMessage(message_id, text)


def _changes(facts: EndingFacts) -> list[dict[str, Any]]:
    """Completed effects that changed something; a reading changes nothing."""
    return [effect for effect in facts.completed if effect["class"] != EffectClass.NONE]

"""The question that an approval is, and what a person's answer makes of the actions it was about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fencepost_contracts.tools import Refusal
from fencepost_domain.vocabulary import InterruptKind, Risk

from fencepost_worker.flow.state import APPROVED, PROPOSED, REJECTED
from fencepost_worker.flow.step import Question
from fencepost_worker.flow.wording import approval_question, asked_again

Action = dict[str, Any]
_RISKS: Final = (Risk.LOW, Risk.MEDIUM, Risk.HIGH)


def question_of(asked: Sequence[Action], locale: str) -> Question:
    first = asked[0]
    ends = sorted(a["expires_at"] for a in asked if a["expires_at"])
    return Question(
        InterruptKind.APPROVAL,
        first["index"],
        first["n"],
        asked_again(asked, locale) + approval_question([a["preview"] for a in asked], locale),
        actions=tuple((a["index"], a["n"]) for a in asked),
        preview=[_shown(a) for a in asked],
        change=[{"index": a["index"], **a["change"]} for a in asked],
        risk=str(max((Risk(a["risk"]) for a in asked), key=_RISKS.index)),
        expires_at=ends[0] if ends else None,
    )


def _shown(action: Action) -> dict[str, Any]:
    """One action as the person sees it; `arguments` so that they can be edited, and what an edit changed."""
    shown = {name: action[name] for name in ("index", "n", "tool", "risk", "arguments", "preview")}
    return {**shown, "edited_from": action["edited_from"]} if action.get("edited_from") is not None else shown


def read_decisions(resolution: Mapping[str, Any], indexes: Sequence[int]) -> dict[int, Mapping[str, Any]]:
    """index -> {decision, arguments?, note?}; one decision without an index counts for every action asked."""
    several = resolution.get("decisions")
    if several:
        return {int(one["index"]): one for one in several}
    return dict.fromkeys(indexes, resolution)


def decided(action: Action, decision: Mapping[str, Any], interrupt_id: str) -> Action:
    if decision.get("decision") != "approve":
        return {**action, "status": REJECTED, "note": decision.get("note")}
    edited = decision.get("arguments")
    if edited is not None and edited != action["arguments"]:
        return {
            **action,
            "status": PROPOSED,
            "n": action["n"] + 1,
            "arguments": edited,
            "edited_from": action["arguments"],
            "edited_by": interrupt_id,
        }
    return {**action, "status": APPROVED}


def edits_taken_back(actions: Sequence[Action], refusals: Sequence[Refusal]) -> list[Action]:
    """What a person edited and the gateway refused is asked of a person again, as it was, with the reason."""
    why = {refusal.index: refusal.detail for refusal in refusals}
    return [
        {
            **without_edit(a),
            "arguments": a["edited_from"],
            "again": "edit_refused",
            "again_detail": why[a["index"]],
        }
        if a["status"] == PROPOSED and a.get("edited_by") and a["index"] in why
        else a
        for a in actions
    ]


def without_edit(action: Action) -> Action:
    return {key: value for key, value in action.items() if key not in ("edited_by", "edited_from")}

"""observe, response_gate, finalize: what the user is told, and how the run ends."""

from __future__ import annotations

from typing import Any, Final

from fencepost_domain.termination import Standing, decide_termination
from fencepost_domain.vocabulary import Reason

from fencepost_worker.flow.state import DONE, FAILED, REJECTED, UNSETTLED, Patch, State
from fencepost_worker.flow.step import Step
from fencepost_worker.flow.wording import done_text, final_text

LONGEST_ANSWER: Final = 60_000  # characters


async def observe(state: State, step: Step) -> Patch:
    """Turn results into words. A failed action is said as such; nothing is claimed that isn't in a result."""
    said = done_text(state["actions"], step.facts.locale)
    extra = state["reply"].get("text", "")
    return {"route": "response_gate", "reply": {**state["reply"], "text": said, "model_text": extra}}


async def response_gate(state: State, step: Step) -> Patch:
    """Exact repeats are removed by code; an answer without words, or without an end, is not delivered."""
    text = without_repeats(state["reply"].get("text", ""))
    if not text:
        failure = {"reason": Reason.QUALITY_FAILED, "code": "response_quality_failed", "detail": "no text"}
        return {"route": "finalize", "failure": state["failure"] or failure}
    return {"route": "finalize", "reply": {**state["reply"], "text": text[:LONGEST_ANSWER]}}


def without_repeats(text: str) -> str:
    """Paragraphs that stand twice in a row, once."""
    kept: list[str] = []
    for paragraph in text.strip().split("\n\n"):
        if not kept or paragraph.strip() != kept[-1].strip():
            kept.append(paragraph)
    return "\n\n".join(kept)


async def finalize(state: State, step: Step) -> Patch:
    """The proposal of an ending: a pure function of the state. Only the worker's record makes it true."""
    return proposed(state, step, standing_of(state))


def proposed(state: State, step: Step, standing: Standing) -> Patch:
    """What a run that stands so proposes."""
    ending = decide_termination(standing)
    message, explanation = final_text(ending, state, step.facts.locale, step.facts.currency)
    return {
        "route": "end",
        "ending": {
            "status": str(ending.status),
            "reason": str(ending.reason),
            "code": ending.code,
            "text": message[:LONGEST_ANSWER],
            "explanation": explanation,
            "left_undone": list(state["left_undone"]),
            "unproven": list(ending.unproven),
        },
    }


def standing_of(state: State) -> Standing:
    """What the state says about how the run stands. The first failure counts, later ones don't mend it."""
    actions = state["actions"]
    failure: dict[str, Any] = state["failure"]
    failed = [a for a in actions if a["status"] == FAILED]
    reason = Reason(failure["reason"]) if failure else _reason_of(failed[0]) if failed else None
    code = failure.get("code") if failure else failed[0]["error"]["code"] if failed else None
    denied = reason is Reason.POLICY_DENIED
    out_of_budget = reason is Reason.BUDGET_EXHAUSTED
    return Standing(
        policy_violation=code if denied else None,
        budget_exhausted=out_of_budget,
        budget_code=code if out_of_budget else None,
        failure=None if denied or out_of_budget else reason,
        failure_code=code,
        rejected=state["rejected"],
        approval_expired=state["approval_expired"] or state["question_expired"],
        answered=bool(state["reply"].get("text", "").strip()),
        completed=sum(a["status"] == DONE and a["effect_class"] != "none" for a in actions),
        left_undone=tuple(state["left_undone"]),
        unsettled=sum(a["status"] == UNSETTLED for a in actions),
        evidence={
            f"action_{a['index']}": a["status"] for a in actions if a["status"] in (DONE, FAILED, REJECTED)
        },
    )


def _reason_of(action: dict[str, Any]) -> Reason:
    """A right that was taken away before it was used is policy, not a failure of the tool."""
    revoked = action["error"]["code"] == "permission_revoked"
    if action["error"]["code"] == "budget_exhausted":
        return Reason.BUDGET_EXHAUSTED
    return Reason.POLICY_DENIED if revoked else Reason.REQUIRED_TASK_FAILED

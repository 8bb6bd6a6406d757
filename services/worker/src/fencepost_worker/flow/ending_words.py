"""What a run that took several steps answers: what was made and found, without the readings on the way."""

from __future__ import annotations

from fencepost_worker.flow.state import State
from fencepost_worker.flow.wording import done_text


def answer_text(state: State, locale: str) -> str:
    """Words for the results of the plan; what a step only worded comes behind what was done."""
    last = state["plan"].get("steps", ())
    needed = {need for one in last for need in one["needs"]}
    shown = [a for a in state["actions"] if not (a.get("effect_class") == "none" and a.get("step") in needed)]
    # A step done again: its last action is what counts.
    newest = {a.get("step") or f"#{a['index']}": a for a in shown}
    said = [done_text(list(newest.values()), locale), *state["reply"].get("said", ())]
    if not state["plan"]:
        said = [state["reply"].get("text", "")]
    return "\n\n".join(part for part in said if part.strip())

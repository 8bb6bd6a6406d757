"""What a run that took several steps answers: what was made and found, without the readings on the way."""

from __future__ import annotations

from fencepost_worker.flow.plan import told
from fencepost_worker.flow.state import State
from fencepost_worker.flow.wording import done_text


def answer_text(state: State, locale: str) -> str:
    """Words for the results of the plan; what a step only worded comes behind what was done."""
    actions = told(state["plan"], state["actions"])
    said = [done_text(actions, locale), *state["reply"].get("said", ())]
    if not state["plan"]:
        said = [state["reply"].get("text", "")]
    return "\n\n".join(part for part in said if part.strip())

"""When only a person can say what became of an action, its run waits for that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from fencepost_contracts.tools import CommitAnswer
from fencepost_domain.vocabulary import InterruptKind

from fencepost_worker.flow.step import GatewayConflict, Question, Step
from fencepost_worker.flow.wording import reconcile_question


async def settled(action: Mapping[str, Any], step: Step) -> CommitAnswer:
    """The action's outcome; where only a person can say what became of it, the run waits for that (02 §5).

    Asked once per attempt. Whoever says so settles the effect; this commits again and hears it.
    Raises GatewayConflict; `reconcile` when nobody said so in time, or what was said settled nothing.
    """
    index, n, token = action["index"], action["n"], UUID(action["token_id"])
    asked: set[int] = set()
    while True:
        try:
            return await step.commit(index, n, token)
        except GatewayConflict as error:
            attempts = int(error.effect.get("attempts", -1))
            if error.code != "reconcile" or attempts < 0 or attempts in asked:
                raise
            asked.add(attempts)
            answer = step.pause(_reconcile_question(action, error.effect, attempts, step.facts.locale))
            if answer["status"] == "expired":
                raise


def _reconcile_question(
    action: Mapping[str, Any], effect: Mapping[str, Any], attempts: int, locale: str
) -> Question:
    text = reconcile_question(action.get("preview", {}), locale)
    shown = {
        **{name: action[name] for name in ("index", "n", "tool", "risk", "arguments", "preview")},
        "effect_key": effect.get("effect_key"),
        "state": effect.get("state"),
    }
    return Question(InterruptKind.RECONCILE, action["index"], attempts, text, preview=[shown])

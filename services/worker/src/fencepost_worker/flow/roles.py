"""Asking a role: a context for what it needs to know, one tool to answer with, and a second try when the
answer isn't one. The answer's arguments are data; what they mean is the node's to decide."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from fencepost_domain.budget import BudgetExhausted
from fencepost_domain.vocabulary import Reason

from fencepost_worker.flow.role_context import Given
from fencepost_worker.flow.state import Patch, fail
from fencepost_worker.flow.step import Step
from fencepost_worker.models.guard import Refusal, check_calls
from fencepost_worker.models.pairing import paired
from fencepost_worker.models.port import Answer, Call, Message, ModelFailed, ToolSpec

TRIES: Final = 2  # a role's answer that isn't one is asked for once more, with what was wrong


class RoleFailed(Exception):
    """The role gave no answer that can be used: `failure` is the patch that ends the run for it."""

    def __init__(self, failure: Patch) -> None:
        self.failure = failure
        super().__init__(str(failure))


async def ask(step: Step, given: Given, *, message_id: str = "") -> dict[str, Any]:
    """The arguments of the role's one call, valid by the tool's schema.

    Raises RoleFailed (no usable answer, budget used up), ModelFailed that may be tried again, FenceLost.
    """
    role, (tool,) = given.context.role, given.context.tools
    context = replace(given.about, task=given.task)
    said: list[Message] = list(given.context.messages)
    for remaining in reversed(range(TRIES)):
        try:
            answer = await step.ask_role(role, context, paired(said), (tool,), message_id)
        except BudgetExhausted as error:
            raise RoleFailed(fail(Reason.BUDGET_EXHAUSTED, error.limit, role)) from None
        except ModelFailed as error:
            if error.retryable:
                raise
            raise RoleFailed(fail(Reason.MODEL_FAILED, error.code, error.detail)) from error
        calls, refusals = _read(answer, tool, role, TRIES - 1 - remaining)
        if not refusals:
            return dict(calls[0].arguments)
        said += _told(answer, calls, refusals)
    detail = "; ".join(f"{r.pointer}: {r.detail}" for r in refusals[:3])
    raise RoleFailed(fail(Reason.MODEL_FAILED, f"{role}_invalid", detail))


def _read(answer: Answer, tool: ToolSpec, role: str, tried: int) -> tuple[list[Call], list[Refusal]]:
    calls = [Call(f"{role}_{tried}_{place}", c.name, c.arguments) for place, c in enumerate(answer.calls)]
    if len(calls) != 1:
        detail = f"answer with exactly one call of {tool.name}"
        return calls, [Refusal(c.id, "arguments_invalid", tool.name, "", detail) for c in calls] or [
            Refusal("", "arguments_invalid", tool.name, "", detail)
        ]
    return calls, check_calls(calls, (tool,))


def _told(answer: Answer, calls: Sequence[Call], refusals: Sequence[Refusal]) -> list[Message]:
    """What was wrong, for the second try: each call with its answer, so that the list stays paired."""
    told: list[Message] = [Message("assistant", answer.text, tuple(calls))] if calls or answer.text else []
    for call in calls:
        reasons = [r.to_json() for r in refusals if r.call_id == call.id]
        body = {"status": "refused", "reasons": reasons}
        told.append(Message("tool", json.dumps(body, ensure_ascii=False), call_id=call.id))
    if not calls:
        told.append(Message("user", json.dumps({"refused": [r.to_json() for r in refusals]})))
    return told

"""A run that was ordered to do one call, as a compensation is: decided by a person, so no model is asked.

The call goes the way of every other: gate, prepare, approval, commit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fencepost_domain.vocabulary import Reason

from fencepost_worker.flow.state import Patch, State, fail
from fencepost_worker.models.port import Answer, Call


def ordered_answer(order: Mapping[str, Any]) -> Answer:
    """The order as if a model had answered with it."""
    return Answer("", (Call("ordered", str(order["tool"]), dict(order["arguments"])),), "tool_calls")


def order_refused(state: State) -> Patch | None:
    """A refused order isn't asked again: there is nobody who would say it otherwise."""
    if not state["exchanges"]:
        return None
    last = state["exchanges"][-1]
    reasons = [*last["told"], *(one for said in last["reasons"].values() for one in said)]
    why = reasons[0] if reasons else {}
    code, detail = str(why.get("code", "order_refused")), str(why.get("detail", ""))
    return fail(Reason.REQUIRED_TASK_FAILED, code, detail)

"""What the graph remembers of a run: JSON values only, one writer a key.

Control state (status, lease) and business facts live elsewhere; here is what the next node needs. `route`
names the next node and must be an edge of the definition.
"""

from __future__ import annotations

from typing import Any, Final, TypedDict

# Statuses of an action in graph state.
PROPOSED: Final = "proposed"
PREPARED: Final = "prepared"
APPROVED: Final = "approved"
REJECTED: Final = "rejected"
DONE: Final = "done"
FAILED: Final = "failed"
UNSETTLED: Final = "unsettled"

Patch = dict[str, Any]


class State(TypedDict, total=False):
    """route: next node. actions: in source order, by index. exchanges: refused answers, for the next request.

    answers: what the person said to questions. ending: the proposal, once finalize has run.
    """

    module: str
    route: str
    mode: str
    message_id: str
    answers: list[dict[str, Any]]
    exchanges: list[dict[str, Any]]
    refused: list[dict[str, Any]]
    re_asks: int
    asked: dict[str, Any]
    questions: int
    hand_over_to: str
    reply: dict[str, Any]
    calls: list[dict[str, Any]]
    actions: list[dict[str, Any]]
    left_undone: list[str]
    failure: dict[str, Any]
    rejected: bool
    approval_expired: bool
    question_expired: bool
    ending: dict[str, Any]


FRESH: Final[State] = {
    "module": "",
    "route": "",
    "mode": "",
    "message_id": "",
    "answers": [],
    "exchanges": [],
    "refused": [],
    "re_asks": 0,
    "asked": {},
    "questions": 0,
    "hand_over_to": "",
    "reply": {},
    "calls": [],
    "actions": [],
    "left_undone": [],
    "failure": {},
    "rejected": False,
    "approval_expired": False,
    "question_expired": False,
    "ending": {},
}


def fail(reason: str, code: str, detail: str = "") -> Patch:
    """A patch that ends the run as failed, by way of finalize."""
    return {"route": "finalize", "failure": {"reason": reason, "code": code, "detail": detail[:500]}}

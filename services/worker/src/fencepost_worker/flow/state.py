"""What the graph remembers of a run: JSON values only; `flow.reducers` says how patches combine.

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
ACCEPTED: Final = "accepted"  # a tool works on it as a task of its own

Patch = dict[str, Any]


class State(TypedDict, total=False):
    """route: next node. actions: in source order, by index. exchanges: refused answers, for the next request.

    answers: what the person said to questions. ending: the proposal, once finalize has run.
    contract: the task contract, compiled once. plan: see flow.plan; current: the step in work. batches: its
    branches; batch: one branch's own (of a branch alone). findings: branches' results by
    `step:revision:index`. evidence: by id. reports: gates' results by `gate:attempt`. violations: what a
    repair or another try has to mend. progress: a line per look at the plan. spent: counts by kind.
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
    contract: dict[str, Any]
    plan: dict[str, Any]
    current: str
    batches: list[dict[str, Any]]
    batch: dict[str, Any]
    findings: dict[str, Any]
    evidence: dict[str, Any]
    gate_rewrites: dict[str, int]
    reports: dict[str, Any]
    violations: list[dict[str, Any]]
    progress: list[str]
    spent: dict[str, int]
    risk: str


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
    "contract": {},
    "plan": {},
    "current": "",
    "batches": [],
    "findings": {},
    "evidence": {},
    "gate_rewrites": {},
    "reports": {},
    "violations": [],
    "progress": [],
    "spent": {},
    "risk": "",
}


def reset(**more: Any) -> Patch:
    """A patch that begins afresh: nothing of the state before it stays."""
    return {**FRESH, "reset": True, **more}


def fail(reason: str, code: str, detail: str = "") -> Patch:
    """A patch that ends the run as failed, by way of finalize."""
    return {"route": "finalize", "failure": {"reason": reason, "code": code, "detail": detail[:500]}}

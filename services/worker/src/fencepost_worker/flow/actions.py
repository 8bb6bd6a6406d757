"""arguments_gate, prepare, approval, commit: from a call to an effect, in steps that may each run again.

An action is its index; an edit, a changed precondition or an expired token makes it prepare n + 1. The
gateway keys everything by (run, index, n), so a step that runs again finds what it did before.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final
from uuid import UUID

from fencepost_contracts.tools import CommitAnswer, PrepareCall, PreparedAction, Refusal
from fencepost_domain.vocabulary import Reason

from fencepost_worker.flow.agent import exchange, tool_specs
from fencepost_worker.flow.asking import decided, edits_taken_back, question_of, read_decisions
from fencepost_worker.flow.reconcile import settled
from fencepost_worker.flow.state import (
    APPROVED,
    DONE,
    FAILED,
    PREPARED,
    PROPOSED,
    REJECTED,
    UNSETTLED,
    Patch,
    State,
    fail,
)
from fencepost_worker.flow.step import GatewayConflict, GatewayRefused, Step, TaskRunning
from fencepost_worker.models.guard import check_calls
from fencepost_worker.models.port import Call

Action = dict[str, Any]
# Prepare n + 1 mends these: what was approved doesn't stand any more, so a person is asked anew.
ANEW: Final = frozenset(
    {"precondition_changed", "token_expired", "withdrawn", "approval_revoked", "attachment_changed"}
)


async def arguments_gate(state: State, step: Step) -> Patch:
    """The last look before anything leaves the worker; decides the mode and gives the actions their index."""
    facts = step.facts
    calls = [Call(c["id"], c["name"], c["arguments"]) for c in state["calls"]]
    refusals = [
        r.to_json() | {"call_id": r.call_id} for r in check_calls(calls, tool_specs(facts, acted=True))
    ]
    if refusals:
        return {
            "route": "reject_tool",
            "refused": refusals,
            "exchanges": exchange(state, state["reply"].get("text", ""), calls, refusals),
        }
    for call in calls:
        tool = facts.catalog.tool(call.name) if facts.catalog is not None else None
        if tool is not None and (tool.requires_plan or tool.repeatable or tool.intermediate):
            return fail(Reason.REQUIRED_TASK_FAILED, "agentic_not_available", call.name)
    first = len(state["actions"])
    if first + len(calls) > action_limit(step):
        return fail(Reason.BUDGET_EXHAUSTED, "actions")
    proposed = [
        {
            "index": first + place,
            "n": 1,
            "tool": c.name,
            "arguments": dict(c.arguments),
            "call_id": c.id,
            "status": PROPOSED,
        }
        for place, c in enumerate(calls)
    ]
    return {
        "route": "prepare",
        "mode": "single_action",
        "calls": [],
        "actions": [*state["actions"], *proposed],
    }


def action_limit(step: Step) -> int:
    asked = (step.facts.budget or {}).get("actions")
    limit = step.facts.definition.limits.actions
    return min(limit, asked) if isinstance(asked, int) else limit


async def prepare(state: State, step: Step) -> Patch:
    """Prepare what is proposed: no side effect, a preview and what would change for each."""
    proposed = [a for a in state["actions"] if a["status"] == PROPOSED]
    calls = [
        PrepareCall(
            index=a["index"],
            n=a["n"],
            tool=a["tool"],
            arguments=a["arguments"],
            edited_by=UUID(a["edited_by"]) if a.get("edited_by") else None,
        )
        for a in proposed
    ]
    try:
        answer = await step.prepare(calls)
    except GatewayRefused as error:
        return _refused(state, proposed, error.refusals)
    except GatewayConflict as error:
        if error.code == "prepare_differs":
            return _again(state, proposed, step)
        return _stuck(state, error)
    prepared = {one.index: one for one in answer.actions}
    actions = [_prepared(a, prepared[a["index"]]) if a["index"] in prepared else a for a in state["actions"]]
    waits = any(a["status"] == PREPARED and a["approval"] for a in actions)
    return {"route": "approval" if waits else "commit", "actions": actions}


def _prepared(action: Action, answer: PreparedAction) -> Action:
    return {
        **action,
        "status": APPROVED if answer.status == "approved" else PREPARED,
        "approval": answer.approval,
        "arguments": answer.arguments,
        "risk": str(answer.risk),
        "effect_class": str(answer.effect_class),
        "preview": answer.preview.model_dump(mode="json"),
        "change": answer.change.model_dump(mode="json"),
        "token_id": str(answer.token_id),
        "expires_at": answer.expires_at.isoformat() if answer.expires_at else None,
    }


def _refused(state: State, proposed: Sequence[Action], refusals: Sequence[Refusal]) -> Patch:
    """The gateway refused: the model hears why. What a person edited can't be asked of the model again."""
    if any(a.get("edited_by") for a in proposed):
        mended = edits_taken_back(state["actions"], refusals)
        if mended != state["actions"]:
            return {"route": "prepare", "actions": mended}
        return fail(Reason.REQUIRED_TASK_FAILED, refusals[0].code, refusals[0].detail)
    by_index = {a["index"]: a for a in proposed}
    told = [
        {
            "call_id": by_index[r.index]["call_id"] if r.index in by_index else "",
            "code": r.code,
            "tool": r.tool,
            "pointer": r.pointer,
            "detail": r.detail,
            "allowed": list(r.allowed),
        }
        for r in refusals
    ]
    calls = [Call(a["call_id"], a["tool"], a["arguments"]) for a in proposed]
    kept = [a for a in state["actions"] if a["status"] != PROPOSED]
    return {
        "route": "reject_tool",
        "refused": told,
        "exchanges": exchange(state, state["reply"].get("text", ""), calls, told),
        "actions": kept,
    }


async def approval(state: State, step: Step) -> Patch:
    """One question for all actions that need a person, a decision for each. Nothing happens before it."""
    asked = [a for a in state["actions"] if a["status"] == PREPARED and a["approval"]]
    answer = step.pause(question_of(asked, step.facts.locale))
    if answer["status"] != "resolved":
        return {"route": "finalize", "approval_expired": True}
    decisions = read_decisions(answer["resolution"], [a["index"] for a in asked])
    actions = [
        decided(a, decisions[a["index"]], answer["interrupt_id"])
        if a["index"] in decisions and a in asked
        else a
        for a in state["actions"]
    ]
    patch: Patch = {"actions": actions}
    if any(a["status"] == PROPOSED for a in actions):
        over = [a for a in actions if a["n"] > step.facts.definition.limits.prepares + 1]
        return {**patch, "route": "prepare"} if not over else {**patch, **fail(Reason.NO_PROGRESS, "edits")}
    if all(a["status"] == REJECTED for a in actions):
        return {**patch, "route": "finalize", "rejected": True}
    return {**patch, "route": "commit"}


async def commit(state: State, step: Step) -> Patch:
    """Commit in source order. Running again repeats under the same keys and gets the stored results."""
    actions: list[Action] = []
    expired = False
    running: TaskRunning | None = None
    for action in state["actions"]:
        if action["status"] == APPROVED or (action["status"] == PREPARED and not action["approval"]):
            try:
                action, is_expired = await _commit(action, step)
            except TaskRunning as error:  # the others are begun all the same; then it waits for all
                running = error
                continue
            expired = expired or is_expired
        actions.append(action)
    if running is not None:
        raise running
    patch: Patch = {"actions": actions}
    if any(a["status"] == PROPOSED for a in actions):
        if any(a["n"] > step.facts.definition.limits.prepares + 1 for a in actions):
            return {**patch, **fail(Reason.NO_PROGRESS, "precondition_changed")}
        return {**patch, "route": "prepare"}
    if expired and not any(a["status"] == DONE for a in actions):
        return {**patch, "route": "finalize", "approval_expired": True}
    if all(a["status"] == REJECTED for a in actions):
        return {**patch, "route": "finalize", "rejected": True}
    return {**patch, "route": "observe"}


async def _commit(action: Action, step: Step) -> tuple[Action, bool]:
    return await committed(action, lambda: settled(action, step))


async def committed(action: Action, ask: Callable[[], Awaitable[CommitAnswer]]) -> tuple[Action, bool]:
    """The action after its commit, and whether its approval had expired. ask: commits, as the graph does
    it."""
    try:
        answer = await ask()
    except GatewayConflict as error:
        if error.code in ANEW:
            anew = {key: value for key, value in action.items() if key != "edited_by"}
            why = {"again": error.code, "again_detail": str(error)}
            return {**anew, **why, "status": PROPOSED, "n": action["n"] + 1}, False
        if error.code in ("rejected", "not_approved"):
            return {**action, "status": REJECTED}, False
        status = UNSETTLED if error.code == "reconcile" else FAILED
        told: dict[str, Any] = {"code": error.code, "detail": str(error)}
        if status == UNSETTLED:
            told["effect"] = dict(error.effect)
        failed = {**action, "status": status, "error": told}
        return failed, error.code == "approval_expired"
    if answer.state == "completed":
        return {
            **action,
            "status": DONE,
            "result": answer.result,
            "result_invalid": answer.result_invalid,
        }, False
    why = (
        answer.error.model_dump(mode="json")
        if answer.error is not None
        else {"code": "tool_failed", "detail": ""}
    )
    return {**action, "status": FAILED, "error": why}, False


def _again(state: State, proposed: Sequence[Action], step: Step) -> Patch:
    """Other arguments lie under this n: ours are the next preparation."""
    indexes = {a["index"] for a in proposed}
    actions = [{**a, "n": a["n"] + 1} if a["index"] in indexes else a for a in state["actions"]]
    if any(a["n"] > step.facts.definition.limits.prepares + 1 for a in actions):
        return fail(Reason.NO_PROGRESS, "prepare_differs")
    return {"route": "prepare", "actions": actions}


def _stuck(state: State, error: GatewayConflict) -> Patch:
    if error.code == "reconcile":
        actions = [{**a, "status": UNSETTLED} if a["status"] == PROPOSED else a for a in state["actions"]]
        return {"route": "finalize", "actions": actions}
    return fail(Reason.REQUIRED_TASK_FAILED, error.code, str(error))

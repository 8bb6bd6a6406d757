"""prepare to observe in `core` 2.0.0: what `flow.actions` does, with a place for each thing that may come up.

A tool's task is waited for in tool_wait, an effect nobody knows the outcome of in reconcile_side_effect, and
what has to be asked anew goes through continue_action, which counts. Each is a checkpoint of its own: what
other actions came to is kept meanwhile.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final
from uuid import UUID

from fencepost_contracts.tools import CommitAnswer
from fencepost_domain.vocabulary import Reason

from fencepost_worker.flow import actions as first
from fencepost_worker.flow.actions import Action, committed
from fencepost_worker.flow.agent import POLICY_CODES
from fencepost_worker.flow.gating import AGENTIC, violation_of
from fencepost_worker.flow.reconcile import settled
from fencepost_worker.flow.state import (
    ACCEPTED,
    APPROVED,
    DONE,
    PREPARED,
    PROPOSED,
    REJECTED,
    UNSETTLED,
    Patch,
    State,
    fail,
)
from fencepost_worker.flow.step import Step, TaskRunning

RECOVERIES: Final = 120  # where a definition names no limit
_RISKS: Final = ("low", "medium", "high")


async def prepare(state: State, step: Step) -> Patch:
    """As in 1.0.0; what the gateway refuses of a plan's step goes to the repairer, not to the module's
    agent."""
    patch = await first.prepare(state, step)
    risks = [a["risk"] for a in patch.get("actions", ()) if a.get("risk")]
    if risks:
        patch["risk"] = max(risks, key=_RISKS.index)
    if patch["route"] != "reject_tool" or state["mode"] != AGENTIC:
        return patch
    refused = patch["refused"]
    denied = sorted({str(r["code"]) for r in refused} & POLICY_CODES)
    if denied:
        return {
            "actions": patch["actions"],
            **fail(Reason.POLICY_DENIED, denied[0], str(refused[0]["detail"])),
        }
    calls = [
        {"id": a["call_id"], "name": a["tool"], "arguments": a["arguments"]}
        for a in state["actions"]
        if a["status"] == PROPOSED
    ]
    violations = [violation_of(one) for one in refused]
    return {"route": "repairer", "actions": patch["actions"], "calls": calls, "violations": violations}


async def approval(state: State, step: Step) -> Patch:
    """As in 1.0.0; a no to a plan's step is an observation, and that action isn't proposed again."""
    patch = await first.approval(state, step)
    if state["mode"] == AGENTIC and patch.pop("rejected", False):
        patch["route"] = "observe"
    return patch


async def commit(state: State, step: Step) -> Patch:
    """Commit in source order. Running again repeats under the same keys and gets the stored results."""

    def ready(action: Action) -> bool:
        is_free = action["status"] == PREPARED and not action["approval"]
        return action["status"] == APPROVED or is_free

    return await _commit_all(state, step, ready, lambda action: _plainly(action, step))


async def tool_wait(state: State, step: Step) -> Patch:
    """Commit again what was accepted as a task: its stored outcome, or the run goes on waiting."""
    patch = await _commit_all(
        state, step, lambda action: action["status"] == ACCEPTED, lambda action: _plainly(action, step)
    )
    if patch["route"] == "tool_wait":
        raise TaskRunning
    return patch


async def reconcile_side_effect(state: State, step: Step) -> Patch:
    """Where only a person can say what became of an action, its run waits for that (02 §5). Nothing is
    repaired and nothing new is begun before."""
    return await _commit_all(state, step, _is_open, lambda action: settled(action, step), asked=True)


def _is_open(action: Action) -> bool:
    """Unsettled, and nobody was asked yet."""
    return action["status"] == UNSETTLED and not action.get("asked")


async def _plainly(action: Action, step: Step) -> CommitAnswer:
    return await step.commit(action["index"], action["n"], UUID(action["token_id"]))


async def _commit_all(
    state: State,
    step: Step,
    ready: Callable[[Action], bool],
    ask: Callable[[Action], Awaitable[CommitAnswer]],
    *,
    asked: bool = False,
) -> Patch:
    actions: list[Action] = []
    expired = False
    for action in state["actions"]:
        if ready(action):
            try:
                action, is_expired = await committed(action, lambda a=action: ask(a))  # type: ignore[misc]
                expired = expired or is_expired
            except TaskRunning:  # the others are begun all the same; then it waits for all
                action = {**action, "status": ACCEPTED}
            if asked and action["status"] == UNSETTLED:
                action = {**action, "asked": True}
        actions.append(action)
    return {"actions": actions, **_after(state, actions, expired=expired)}


def _after(state: State, actions: Sequence[Action], *, expired: bool) -> Patch:
    """Where a commit leads: what is open first, then what has to be asked anew, then the results."""
    if any(a["status"] == ACCEPTED for a in actions):
        return {"route": "tool_wait"}
    if any(_is_open(a) for a in actions):
        return {"route": "reconcile_side_effect"}
    if any(a["status"] == UNSETTLED for a in actions):
        return {"route": "finalize"}
    if any(a["status"] == PROPOSED for a in actions):
        return {"route": "continue_action"}
    if expired and not any(a["status"] == DONE for a in actions):
        return {"route": "finalize", "approval_expired": True}
    if state["mode"] != AGENTIC and all(a["status"] == REJECTED for a in actions):
        return {"route": "finalize", "rejected": True}
    return {"route": "observe"}


async def continue_action(state: State, step: Step) -> Patch:
    """Prepare anew what no longer stands as it was approved, a bounded number of times a run and an
    action."""
    limits = step.facts.definition.limits
    proposed = [a for a in state["actions"] if a["status"] == PROPOSED]
    over = [a for a in proposed if a["n"] > limits.prepares + 1]
    if over:
        return fail(Reason.NO_PROGRESS, over[0].get("again") or "precondition_changed", over[0]["tool"])
    if state["spent"].get("recoveries", 0) >= (limits.recoveries or RECOVERIES):
        return fail(Reason.NO_PROGRESS, "recoveries")
    route: dict[str, Any] = {"route": "prepare" if proposed else "observe"}
    return {**route, "spent": {"recoveries": 1}}

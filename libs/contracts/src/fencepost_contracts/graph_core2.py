"""`core` 2.0.0: the whole graph of design 04, each node with its contract.

Beside 1.0.0 (`graphs.CORE`), which stays served for the runs bound to it. What a node may read, write, call,
append and end a run for is said here and held by `fencepost_worker.flow.contracts`; a change of any of it is
a new version.
"""

from __future__ import annotations

from typing import Final, Literal

from fencepost_contracts.graphs import END, FanOut, GraphDefinition, Limits, Node, Port

_PURE_SECONDS: Final = 30.0  # for what only computes
_MODEL_SECONDS: Final = 600.0  # one node's model calls with their retries; each has its own, shorter end
_GATEWAY_SECONDS: Final = 900.0  # a commit waits for its tool's own timeout
# A node that waits for a person leaves; it never runs while it waits.


def _pure(
    edges: tuple[str, ...], inputs: tuple[str, ...], outputs: tuple[str, ...],
    errors: tuple[str, ...] = (), events: tuple[str, ...] = (),
) -> Node:  # fmt: skip
    """Computes a patch from the state alone; with events it appends them under ids of their place."""
    return Node(
        edges=edges,
        ports=("log",) if events else (),
        inputs=inputs,
        outputs=outputs,
        timeout_seconds=_PURE_SECONDS,
        retry="run",
        idempotency="keyed" if events else "pure",
        errors=errors,
        events=events,
    )


def _asks(
    edges: tuple[str, ...], inputs: tuple[str, ...], outputs: tuple[str, ...],
    errors: tuple[str, ...], events: tuple[str, ...] = (), ports: tuple[Port, ...] = (),
    fan_out: FanOut | None = None,
) -> Node:  # fmt: skip
    """Asks a model through the ledger, by the key of its place."""
    return Node(
        edges=edges,
        ports=("model", *ports, *(("log",) if events else ())),
        inputs=inputs,
        outputs=outputs,
        timeout_seconds=_MODEL_SECONDS,
        retry="run",
        idempotency="keyed",
        errors=errors,
        events=events,
        fan_out=fan_out,
    )


def _acts(
    edges: tuple[str, ...], inputs: tuple[str, ...], outputs: tuple[str, ...], errors: tuple[str, ...],
    *, ports: tuple[Port, ...], side_effects: bool = False, retry: Literal["run", "none"] = "run",
) -> Node:  # fmt: skip
    """Acts through the gateway or asks a person, by the key of its action."""
    return Node(
        edges=edges,
        ports=ports,
        side_effects=side_effects,
        inputs=inputs,
        outputs=outputs,
        timeout_seconds=_GATEWAY_SECONDS,
        retry=retry,
        idempotency="keyed",
        errors=errors,
        events=(),
    )


_PLAN: Final = ("contract", "plan", "current")
_MODEL_ERRORS: Final = ("budget_exhausted", "model_failed")
_ASKED: Final = ("answers", "exchanges", "re_asks", "questions", "actions", "message_id")
# What an ending is made of.
_STANDING: Final = (
    "module", "mode", "failure", "actions", "rejected", "approval_expired", "question_expired", "reply",
    "left_undone", "contract", "plan", "evidence", "reports", "gate_rewrites", "progress", "spent", "risk",
)  # fmt: skip
_EVERY_START: Final = (
    "module", "route", "mode", "message_id", "answers", "exchanges", "refused", "re_asks", "asked",
    "questions", "hand_over_to", "reply", "calls", "actions", "left_undone", "failure", "rejected",
    "approval_expired", "question_expired", "ending", "contract", "plan", "current", "batches", "findings",
    "evidence", "gate_rewrites", "reports", "violations", "progress", "spent", "risk", "reset",
)  # fmt: skip

CORE_2: Final = GraphDefinition(
    name="core",
    version="2.0.0",
    entry="supervisor",
    limits=Limits(recursion=240, plan_steps=8, plans=3, batch_records=60, recoveries=120),
    nodes={
        "supervisor": _pure(
            ("module_agent", "finalize"),
            ("module",),
            _EVERY_START,
            ("required_task_failed",),
            ("contract.compiled",),
        ),
        "module_agent": _asks(
            ("response_gate", "arguments_gate", "planner", "ask", "hand_over", "reject_tool", "finalize"),
            (*_ASKED, "contract"),
            ("exchanges", "refused", "reply", "left_undone", "hand_over_to", "asked", "questions", "calls",
             "mode", "failure"),
            _MODEL_ERRORS,
            ports=("history", "state"),
        ),
        "reject_tool": _pure(
            ("module_agent", "finalize"),
            ("refused", "re_asks"),
            ("re_asks", "refused", "failure"),
            ("policy_denied", "model_failed"),
            ("tool.refused",),
        ),
        "ask": _acts(
            ("module_agent", "finalize"),
            ("asked", "questions", "answers"),
            ("answers", "asked", "re_asks", "question_expired", "failure"),
            ("required_task_failed",),
            ports=("person",),
        ),
        "hand_over": _pure(
            (END, "finalize"), ("hand_over_to", "actions"), ("ending", "failure"), ("required_task_failed",)
        ),
        "planner": _asks(
            ("router", "finalize"),
            (*_PLAN, "calls", "actions", "answers", "findings"),
            ("plan", "calls", "failure", "spent", "violations"),
            (*_MODEL_ERRORS, "required_task_failed", "no_progress"),
            ("plan.created", "tool.refused"),
        ),
        "router": _pure(
            ("composer", "artifact_gate", "finalize"),
            (*_PLAN, "actions", "violations"),
            ("plan", "current", "batches", "failure"),
            ("required_task_failed", "budget_exhausted", "no_progress"),
            ("plan.advanced",),
        ),
        "composer": _asks(
            ("join",),
            (*_PLAN, "batch", "violations"),
            ("findings", "spent"),
            (),
            fan_out=FanOut(into="join"),
        ),
        "join": _pure(
            ("arguments_gate", "assessor", "finalize"),
            (*_PLAN, "batches", "findings", "reply"),
            ("calls", "plan", "findings", "batches", "failure", "violations", "reply"),
            ("conflict_unresolved", "budget_exhausted", "model_failed"),
            ("branches.joined", "plan.advanced"),
        ),
        "arguments_gate": _pure(
            ("prepare", "reject_tool", "repairer", "assessor", "finalize"),
            (*_PLAN, "mode", "calls", "reply", "exchanges", "actions", "gate_rewrites", "failure",
             "progress"),
            ("refused", "exchanges", "calls", "actions", "violations", "reports", "failure", "mode", "plan",
             "progress"),
            ("budget_exhausted", "quality_failed", "no_progress", "policy_denied"),
            ("gate.judged", "tool.refused", "plan.advanced"),
        ),
        "repairer": _asks(
            ("arguments_gate", "reconcile_side_effect", "finalize"),
            ("calls", "violations", "gate_rewrites", "contract", "actions", "mode"),
            ("calls", "gate_rewrites", "violations", "failure", "spent"),
            (*_MODEL_ERRORS, "quality_failed"),
        ),
        "prepare": _acts(
            ("approval", "commit", "prepare", "repairer", "reject_tool", "finalize"),
            ("actions", "reply", "exchanges", "mode", "plan", "current", "gate_rewrites"),
            ("actions", "refused", "exchanges", "calls", "violations", "failure", "risk"),
            ("required_task_failed", "no_progress", "policy_denied", "budget_exhausted"),
            ports=("gateway",),
        ),
        "approval": _acts(
            ("commit", "prepare", "observe", "finalize"),
            ("actions", "mode"),
            ("actions", "approval_expired", "rejected", "failure"),
            ("no_progress",),
            ports=("person",),
        ),
        "commit": _acts(
            ("observe", "continue_action", "tool_wait", "reconcile_side_effect", "finalize"),
            ("actions", "mode"),
            ("actions", "approval_expired", "rejected"),
            (),
            ports=("gateway",),
            side_effects=True,
        ),
        "tool_wait": _acts(
            ("observe", "continue_action", "reconcile_side_effect", "finalize"),
            ("actions", "mode"),
            ("actions", "approval_expired", "rejected"),
            (),
            ports=("gateway",),
            side_effects=True,
        ),
        "continue_action": _pure(
            ("prepare", "observe", "finalize"), ("actions", "spent"), ("failure", "spent"), ("no_progress",)
        ),
        "reconcile_side_effect": _acts(
            ("observe", "continue_action", "tool_wait", "finalize"),
            ("actions", "mode"),
            ("actions", "approval_expired", "rejected"),
            (),
            ports=("gateway", "person"),
            side_effects=True,
        ),
        "observe": _pure(
            ("response_gate", "artifact_gate", "assessor"),
            (*_PLAN, "actions", "mode", "reply"),
            ("reply", "plan", "evidence", "violations", "progress"),
            (),
            ("plan.advanced",),
        ),
        "assessor": _asks(
            ("router", "planner", "artifact_gate", "finalize"),
            (*_PLAN, "actions", "progress", "failure", "findings"),
            ("plan", "failure", "progress", "spent"),
            (*_MODEL_ERRORS, "required_task_failed", "no_progress", "quality_failed"),
            ("plan.advanced",),
        ),
        "artifact_gate": _pure(
            ("router", "response_gate", "finalize"),
            (*_PLAN, "actions", "mode", "gate_rewrites", "failure", "reply"),
            ("reports", "gate_rewrites", "plan", "violations", "failure", "reply"),
            ("quality_failed",),
            ("gate.judged", "plan.advanced"),
        ),
        "response_gate": _pure(
            ("revise_response", "finalize"),
            ("reply", "gate_rewrites", "failure", "contract", "mode", "actions"),
            ("reply", "reports", "violations", "failure"),
            ("quality_failed",),
            ("gate.judged",),
        ),
        "revise_response": _asks(
            ("response_gate", "finalize"),
            ("reply", "violations", "gate_rewrites", "contract", "message_id"),
            ("reply", "gate_rewrites", "failure", "spent"),
            (*_MODEL_ERRORS, "quality_failed"),
        ),
        "finalize": _pure((END,), _STANDING, ("ending",)),
    },
)  # fmt: skip

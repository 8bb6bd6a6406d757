"""Nodes are held to what they declare; patches combine by reducers; branches know when they are enough."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from fencepost_contracts.graph_core2 import CORE_2
from fencepost_contracts.graphs import CORE, FanOut, GraphDefinition, Node
from fencepost_domain.errors import IllegalTransition
from fencepost_domain.vocabulary import Ev, Reason
from fencepost_worker.engine.port import check_definition
from fencepost_worker.flow import plan as plans
from fencepost_worker.flow.contracts import (
    ContractBroken,
    NodeTimedOut,
    branches_of,
    kept,
    run_node,
)
from fencepost_worker.flow.joining import arguments_of, conflicts_of
from fencepost_worker.flow.nodes import CORE_2_NODES, CORE_NODES
from fencepost_worker.flow.reducers import MOST_SPENT, merged
from fencepost_worker.flow.repair import coerced
from fencepost_worker.flow.siblings import Siblings, Stopped
from fencepost_worker.flow.state import FRESH, Patch, State, fail, reset
from fencepost_worker.flow.step import Step

PUBLISHED = "7dab811fd9ae2015b8a8f8017bbd887afef7ff5aeb37074ea6002846b13e6a88"
NODE = Node(
    edges=("next",),
    inputs=("plan",),
    outputs=("plan",),
    timeout_seconds=0.2,
    errors=("no_progress",),
    events=(),
)


class Ports:
    """A step that would do anything it is asked."""

    facts = None

    def __getattr__(self, name: str) -> Any:
        async def port(*_: Any, **__: Any) -> str:
            return name

        return port


async def ran(function: Any, node: Node = NODE, state: dict[str, Any] | None = None) -> Patch:
    given = cast(State, {"plan": {"a": 1}, "reply": {}} if state is None else state)
    return await run_node("node", node, function, given, cast(Step, Ports()))


def test_i16_core_1_keeps_the_fingerprint_it_was_published_under() -> None:
    assert CORE.fingerprint() == PUBLISHED
    check_definition(CORE, CORE_NODES)
    check_definition(CORE_2, CORE_2_NODES)


def test_every_node_of_core_2_declares_its_whole_contract() -> None:
    state = {*State.__annotations__, "reset"}
    for name, node in CORE_2.nodes.items():
        declared = (node.inputs, node.outputs, node.timeout_seconds, node.retry, node.idempotency,
                    node.errors, node.events)  # fmt: skip
        assert None not in declared, name
        assert set(node.inputs or ()) | set(node.outputs or ()) <= state, name
        assert set(node.errors or ()) <= {str(reason) for reason in Reason}, name
        assert set(node.events or ()) <= {str(kind) for kind in Ev}, name
        assert node.side_effects == (name in {"commit", "tool_wait", "reconcile_side_effect"}), name


async def test_a_node_sees_only_what_it_declares() -> None:
    seen: list[str] = []

    async def node(state: State, step: Step) -> Patch:
        seen.extend(state)
        return {"route": "next"}

    await ran(node)
    assert seen == ["plan"]


@pytest.mark.parametrize(
    "patch",
    [
        {"route": "next", "reply": {}},
        {"route": "next", **fail(Reason.MODEL_FAILED, "x"), "plan": {}},
        {"route": "elsewhere"},
        {},
    ],
)
async def test_a_patch_that_was_not_declared_is_refused(patch: Patch) -> None:
    async def node(state: State, step: Step) -> Patch:
        return patch

    with pytest.raises(ContractBroken):
        await ran(node)


@pytest.mark.parametrize(
    "call",
    [
        lambda step: step.ask_role("planner", None, (), ()),
        lambda step: step.ask_model(None, (), (), ""),
        lambda step: step.prepare(()),
        lambda step: step.commit(0, 1, None),
        lambda step: step.history(),
        lambda step: step.conversation_state(acted=False),
        lambda step: step.note(Ev.PLAN_CREATED, "1", {}),
        lambda step: step.note_refusals([{}]),
    ],
)
async def test_a_port_that_was_not_declared_raises(call: Any) -> None:
    async def node(state: State, step: Step) -> Patch:
        await call(step)
        return {"route": "next"}

    with pytest.raises(ContractBroken):
        await ran(node)


async def test_a_person_is_asked_only_by_nodes_that_declare_it() -> None:
    async def node(state: State, step: Step) -> Patch:
        step.pause(cast(Any, None))
        return {"route": "next"}

    with pytest.raises(ContractBroken):
        await ran(node)


async def test_a_commit_needs_a_declared_side_effect_beside_the_port() -> None:
    async def node(state: State, step: Step) -> Patch:
        await step.commit(0, 1, cast(Any, None))
        return {"route": "next"}

    with pytest.raises(ContractBroken, match="side effect"):
        await ran(node, NODE.model_copy(update={"ports": ("gateway",)}))


async def test_a_node_that_takes_too_long_is_stopped_and_its_run_deferred() -> None:
    async def node(state: State, step: Step) -> Patch:
        await asyncio.Event().wait()
        return {"route": "next"}

    with pytest.raises(NodeTimedOut) as raised:
        await ran(node)
    assert raised.value.retryable


def test_a_fan_out_gives_each_branch_what_its_node_declares_and_its_batch() -> None:
    nodes = {
        "first": Node(edges=("work",)),
        "work": Node(edges=("first",), inputs=("plan", "batch"), fan_out=FanOut(into="first", most=2)),
    }
    graph = GraphDefinition(name="g", version="1", entry="first", nodes=nodes)
    patch = {"route": "work", "plan": {"b": 2}, "branches": [{"index": 0}, {"index": 1}]}
    sent = branches_of(graph, "first", patch, cast(State, {"plan": {}, "reply": {"long": "text"}}))
    assert sent == ("work", [{"plan": {"b": 2}, "batch": {"index": n}} for n in (0, 1)])
    assert "branches" not in kept(patch)
    with pytest.raises(ContractBroken):
        branches_of(graph, "first", {**patch, "branches": [{}, {}, {}]}, cast(State, {}))


def test_patches_combine_by_their_reducers() -> None:
    state = merged(cast(State, {}), reset(module="work"))
    assert state["module"] == "work" and "reset" not in state
    for patch in (
        {"evidence": {"a": 1}, "spent": {"x": 2}, "risk": "low", "gate_rewrites": {"g": 1}},
        {"evidence": {"a": 9, "b": 2}, "spent": {"x": MOST_SPENT}, "risk": "high", "gate_rewrites": {"g": 0}},
        {"risk": "medium", **fail(Reason.QUALITY_FAILED, "first")},
        fail(Reason.MODEL_FAILED, "second"),
        {"failure": {}},
    ):
        state = merged(state, patch)
    assert state["evidence"] == {"a": 1, "b": 2}
    assert state["spent"] == {"x": MOST_SPENT}
    assert state["risk"] == "high"
    assert state["gate_rewrites"] == {"g": 1}
    assert state["failure"]["code"] == "first", "nothing takes a failure back (I25)"
    assert merged(state, {"findings": None})["findings"] == {}
    assert merged(state, reset()) == dict(FRESH)


def test_a_step_moves_by_its_table_alone() -> None:
    plan = {"steps": [{"id": "a", "status": plans.PENDING, "detail": "", "tries": 0}]}
    working = plans.moved(plan, "a", "chosen")
    assert working["steps"][0] == {"id": "a", "status": "working", "detail": "", "tries": 1}
    for event in ("done", "failed", "rejected"):
        with pytest.raises(IllegalTransition):
            plans.moved(plan, "a", event)
    with pytest.raises(IllegalTransition):
        plans.moved(plans.moved(working, "a", "failed"), "a", "done")


def test_parts_join_in_source_order_and_conclusions_must_agree() -> None:
    parts = [
        {"index": n, "arguments": {"title": f"t{n}", "rows": [{"n": n}], "sources": ["a", f"s{n}"]}}
        for n in range(3)
    ]
    assert arguments_of(parts) == {
        "title": "t0",
        "rows": [{"n": 0}, {"n": 1}, {"n": 2}],
        "sources": ["a", "s0", "s1", "s2"],
    }
    said = [{"index": n, "conclusions": {"total": total}} for n, total in enumerate(("12 ", "12", "13"))]
    assert conflicts_of(said[:2]) == []
    assert [one["name"] for one in conflicts_of(said)] == ["total"]


@pytest.mark.parametrize(
    ("value", "schema", "wanted"),
    [
        ("3", {"type": "integer"}, 3),
        ("3.5", {"type": "integer"}, "3.5"),
        ("3.50", {"type": "number"}, "3.50"),
        (3.0, {"type": "integer"}, 3),
        ("1e400", {"type": "number"}, "1e400"),
        ("true", {"type": "integer"}, "true"),
        ("true", {"type": "boolean"}, True),
        (" a ", {"type": "string"}, "a"),
        (12, {"type": "string"}, "12"),
        (True, {"type": "string"}, True),
        ("a", {"type": "array", "items": {"type": "string"}}, ["a"]),
        ({"a": None, "b": None}, {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["b"]},
         {"b": None}),
    ],
)  # fmt: skip
def test_coercions_lose_nothing(value: Any, schema: dict[str, Any], wanted: Any) -> None:
    assert coerced(value, schema) == wanted


@pytest.mark.parametrize(
    ("ok", "needed", "cancel_rest", "stops"),
    [
        (True, 1, False, True),  # enough
        (False, 2, True, True),  # not to be had any more
        (False, 1, True, False),  # the other may still do
        (False, 2, False, False),  # the rest goes on, for what it finds
    ],
)
async def test_branches_stop_when_the_join_is_decided(
    ok: bool, needed: int, cancel_rest: bool, stops: bool
) -> None:
    siblings = Siblings()
    siblings.agree(needed, 2, cancel_rest=cancel_rest)
    waiting = asyncio.ensure_future(siblings.run(asyncio.sleep(60 if stops else 0)))
    await siblings.run(asyncio.sleep(0))
    siblings.settled(ok=ok)
    assert siblings.is_over is stops
    if not stops:
        await waiting
        return
    with pytest.raises(Stopped):
        await waiting
    with pytest.raises(Stopped):
        await siblings.run(asyncio.sleep(60))


async def test_a_branch_that_is_cancelled_from_outside_is_not_taken_for_stopped() -> None:
    siblings = Siblings()
    siblings.agree(2, 2, cancel_rest=True)
    task = asyncio.ensure_future(siblings.run(asyncio.sleep(60)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

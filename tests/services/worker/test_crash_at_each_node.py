"""A run that dies at each of its nodes in turn, once what the node does is done and before anything of it is
kept: as often asked, as often done and as often told as one that lives.

Everything the process held of the run is gone (no checkpoint of the node, none that waited to be written with
it); what a provider, the gateway and the log have stays. Real SIGKILLs at failpoints: test_agentic_crashes.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final
from uuid import UUID

import pytest
from fencepost_contracts.graph_core2 import CORE_2
from fencepost_contracts.graphs import Node
from fencepost_worker.engine.langgraph import registry
from fencepost_worker.flow.contracts import run_node
from fencepost_worker.flow.state import Patch, State
from fencepost_worker.flow.step import NodeFunction, Step

from tests.services.worker.stage import NOTE, SEND, TASK, Stage, call_of, unknown_outcome

YES: Final = {"decision": "approve"}
SAID: Final = "Your report was sent to the whole team this morning."
ALIKE: Final = f"{SAID}\n\nYour report was sent to the entire team this morning."
Scene = Callable[[Stage], Awaitable[UUID]]


class Died(BaseException):
    """The process is gone: nothing may catch it, or write anything for it."""


async def report(stage: Stage) -> UUID:
    stage.plays()
    return await stage.begins("a report")


async def repaired(stage: Stage) -> UUID:
    stage.acting("agentic", composer=[call_of(nothing=1)], repairer=[{"arguments": {"title": "good"}}])
    return await stage.begins()


async def asked_anew(stage: Stage) -> UUID:
    """A refused call, an approval, a precondition that changed, an approval again."""
    stage.plays(module=[(SEND, {"nothing": 1}), (SEND, {"title": "one"})])
    stage.bench.gateway.stands[0, 1] = "precondition_changed"
    run_id = await stage.begins()
    await stage.answers(run_id, YES)
    await stage.answers(run_id, YES)
    return run_id


async def waited_for(stage: Stage) -> UUID:
    """A task inside a plan, whose outcome a person has to tell."""
    stage.acting("agentic")
    stage.bench.gateway.stands[0, 1] = TASK
    run_id = await stage.begins()
    await stage.bench.reaches(run_id, "waiting")
    stage.bench.gateway.stands[0, 1] = unknown_outcome()
    await stage.task_ends(run_id)
    asked = await stage.bench.asked(run_id)
    del stage.bench.gateway.stands[0, 1]
    await stage.bench.resolve(run_id, asked["id"], {"outcome": "completed"})
    return run_id


async def revised(stage: Stage) -> UUID:
    stage.plays(
        module=[("ask", {"question": "Which one?", "slot": "title"}), ALIKE], responder=[{"text": SAID}]
    )
    run_id = await stage.begins("was it sent?")
    await stage.answers(run_id, {"text": "the report"}, "input")
    return run_id


async def handed_over(stage: Stage) -> UUID:
    stage.plays(module=[("hand_over", {"module": "life"}), (NOTE, {"title": "one"})])
    return await stage.begins(module="companion")


_START: Final = ("supervisor", "module_agent")
_END: Final = ("response_gate", "finalize")
_PLAN: Final = ("planner", "router", "composer", "join", "arguments_gate")
_ACT: Final = ("prepare", "commit", "observe")
SCENES: Final[dict[Scene, tuple[str, ...]]] = {
    report: (*_START, *_PLAN, *_ACT, "assessor", "artifact_gate", *_END),
    repaired: (*_START, *_PLAN, "repairer", *_ACT, "assessor", "artifact_gate", *_END),
    asked_anew: (*_START, "reject_tool", "arguments_gate", *_ACT, "approval", "continue_action", *_END),
    waited_for: (
        *_START,
        *_PLAN,
        *_ACT,
        "tool_wait",
        "reconcile_side_effect",
        "assessor",
        "artifact_gate",
        *_END,
    ),
    revised: (*_START, "ask", "revise_response", *_END),
    handed_over: (*_START, "hand_over", "arguments_gate", *_ACT, *_END),
}


def test_each_node_dies_in_a_scene() -> None:
    assert {node for nodes in SCENES.values() for node in nodes} == set(CORE_2.nodes)


@asynccontextmanager
async def dying(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[list[str]]:
    """Each node's first time ends in the death of the run's process; its lease is past, and it goes on."""
    died: list[str] = []
    dead: asyncio.Queue[UUID] = asyncio.Queue()

    async def mortal(name: str, node: Node, function: NodeFunction, state: State, step: Step) -> Patch:
        patch = await run_node(name, node, function, state, step)
        if name not in died:
            died.append(name)
            dead.put_nowait(step.facts.run_id)
            raise Died
        return patch

    async def revive() -> None:
        while True:
            run_id = await dead.get()
            past = "UPDATE agent.runs SET lease_expires_at = clock_timestamp() WHERE id = %s"
            await stage.bench.runs.run(past, run_id)
            await stage.bench.expire_lease(run_id)

    monkeypatch.setattr(registry, "run_node", mortal)
    reviving = asyncio.ensure_future(revive())
    try:
        yield died
    finally:
        reviving.cancel()
        with suppress(asyncio.CancelledError):
            await reviving
        monkeypatch.setattr(registry, "run_node", run_node)


async def told(stage: Stage, run_id: UUID) -> Counter[str]:
    """What the log says of the work itself, by type: not of claims, leases and the gate of those."""
    kinds = await stage.bench.events(run_id)
    own = ("plan.", "branches.", "gate.", "contract.", "tool.", "model.", "message.", "interrupt.", "action.")
    return Counter(kind for kind in kinds if kind.startswith(own))


@pytest.mark.parametrize("scene", SCENES, ids=lambda one: str(one.__name__))
async def test_i15_dead_at_each_node_it_asks_does_and_tells_each_thing_once(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, scene: Scene
) -> None:
    unhurt = await scene(stage)
    ending, asked, wanted = await stage.ending(unhurt), stage.roles.asked, await told(stage, unhurt)
    done = len(stage.bench.gateway.effects)
    stage.clear()
    async with dying(stage, monkeypatch) as died:
        run_id = await scene(stage)
        assert await stage.ending(run_id) == ending
    assert sorted(died) == sorted(SCENES[scene])
    assert stage.roles.asked == asked, "an answer that was given is not asked for again"
    assert len(stage.bench.gateway.effects) == done
    assert await told(stage, run_id) == wanted
    assert len(await stage.bench.final_messages(run_id)) == 1
    assert await stage.said(run_id) == await stage.said(unhurt)

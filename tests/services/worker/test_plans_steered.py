"""A plan in the middle of its work: paused and gone on with, cancelled, past its deadline, handed over; and
seen after each step as it stands."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest
from fencepost_api.work import work
from fencepost_domain.decision import FinalMessage
from fencepost_domain.endings import decide_stop, stopped
from fencepost_domain.vocabulary import Stop

from tests.services.worker.agentic import PLAN, READ, records
from tests.services.worker.stage import NOTE, SEND, TASK, Stage, call_of, plan_of, step
from tests.support.eventually import eventually
from tests.support.scripted_model import tool_answer

DONE = ("succeeded", "acceptance_met", None)
TWO = plan_of(step("one", NOTE), step("two", NOTE))


class Held:
    """A composer whose second answer begins and waits."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.asked = 0

    def __call__(self, body: dict[str, Any]) -> dict[str, Any] | list[Any]:
        self.asked += 1
        if self.asked != 2:
            return call_of(title=f"no {self.asked}")
        return [self.go, *tool_answer("compose", call_of(title="no 2"))]


async def half_done(stage: Stage, **more: Any) -> tuple[UUID, Held]:
    """A run whose first step is done and whose second is being composed."""
    held = Held()
    stage.plays(planner=[TWO], composer=[held])
    run_id = await stage.begins(**more)
    await eventually(lambda: held.asked == 2)
    return run_id, held


async def beaten(stage: Stage, run_id: UUID, times: int) -> None:
    """Waits for renewals of the run's lease."""

    async def until() -> object:
        ((at,),) = await stage.bench.runs.fetch(
            "SELECT lease_expires_at FROM agent.runs WHERE id = %s", run_id
        )
        return at

    for _ in range(times):
        before = await until()

        async def renewed(before: object = before) -> bool:
            return await until() != before

        await eventually(renewed)


async def test_a_plan_that_is_paused_stops_at_the_next_node_and_goes_on_without_asking_again(
    stage: Stage,
) -> None:
    run_id, held = await half_done(stage)
    await stage.bench.pause(run_id)
    await beaten(stage, run_id, 2)  # the first tells of it, the second comes when it was heard
    held.go.set()
    await stage.bench.reaches(run_id, "paused")
    assert len(stage.bench.gateway.effects) == 1
    await stage.bench.resume(run_id)
    assert await stage.ending(run_id) == DONE
    assert stage.roles.asked == {"module": 1, "planner": 1, "composer": 2, "assessor": 1}
    assert len(stage.bench.gateway.effects) == 2


@pytest.mark.parametrize(
    ("stop", "ending"),
    [
        (Stop.CANCEL, ("cancelled", "user_cancelled", None)),
        (Stop.DEADLINE, ("expired", "deadline_exceeded", None)),
        (Stop.HANDOFF, ("blocked", "handed_over", None)),
    ],
)
async def test_a_plan_that_is_stopped_begins_nothing_more(stage: Stage, stop: Stop, ending: Any) -> None:
    """The request on its way is given up and settled as such; what was done stays done."""
    run_id, _ = await half_done(stage)
    await stopping(stage, run_id, stop)
    assert await stage.ending(run_id) == ending
    assert len(stage.bench.gateway.effects) == 1
    assert stage.roles.asked["assessor"] == 0
    open_calls = "SELECT count(*) FROM agent.model_calls WHERE state = 'started' AND run_id = %s"
    assert await stage.bench.count(open_calls, run_id) == 0
    assert await stage.moves(run_id) == [("one", "working"), ("one", "done"), ("two", "working")]


async def stopping(stage: Stage, run_id: UUID, stop: Stop) -> None:
    """As the api (a person) or the reconciler (a deadline) does."""
    await stage.bench.change(
        run_id,
        lambda run, event_id, now: decide_stop(
            run,
            event_id,
            stop=stop,
            actor="user",
            settled=False,
            finalization=stopped(stop, "", "test"),
            message=FinalMessage(stage.bench.runs.ids.uuid7(), "Stopped."),
        ),
    )


@pytest.mark.parametrize("waits_for", ["approval", "task"])
async def test_a_plan_that_waits_is_cancelled_at_once(stage: Stage, waits_for: str) -> None:
    stage.acting("agentic", SEND if waits_for == "approval" else NOTE)
    if waits_for == "task":
        stage.bench.gateway.stands[0, 1] = TASK
    run_id = await stage.begins()
    await stage.bench.reaches(run_id, "waiting")
    await stage.bench.cancel(run_id)
    assert await stage.ending(run_id) == ("cancelled", "user_cancelled", None)
    assert stage.bench.gateway.effects == {}


async def test_a_plan_is_seen_after_each_step_as_it_stands(stage: Stage) -> None:
    """What the run's view folds and its stream tells, at every event of the plan."""
    stage.plays()
    stage.bench.gateway.results[READ] = {"records": records(3)}
    run_id = await stage.begins()
    assert await stage.ending(run_id) == DONE
    rows = await stage.bench.runs.fetch(
        "SELECT e.seq, e.type, convert_from(p.payload, 'UTF8')::jsonb FROM agent.run_events e"
        " JOIN agent.run_event_payloads p USING (run_id, seq)"
        " WHERE e.run_id = %s AND e.type LIKE 'plan.%%' ORDER BY e.seq",
        run_id,
    )
    events = [{"seq": seq, "type": kind, "said": said} for seq, kind, said in rows]
    seen = []
    for upto in range(1, len(events) + 1):
        plan = work(events[:upto], "en")["plan"]
        assert [one["id"] for one in plan["steps"]] == [one["id"] for one in PLAN["steps"]]  # type: ignore[index]
        seen.append(tuple(one["status"] for one in plan["steps"]))
    assert seen == [
        ("pending", "pending"),
        ("working", "pending"),
        ("done", "pending"),
        ("done", "working"),
        ("done", "done"),
    ]


async def test_a_run_that_continues_a_plan_plans_what_is_left(stage: Stage) -> None:
    """Handed over half done: the run that goes on is told of it, and makes a plan of its own."""
    first, _ = await half_done(stage)
    await stopping(stage, first, Stop.HANDOFF)
    assert (await stage.ending(first))[1] == "handed_over"
    stage.plays(planner=[plan_of(step("two", NOTE))], composer=[call_of(title="no 2")])
    brief = {"goal": "two notes", "done": [{"tool": NOTE}], "plan_left": ["two"], "note": "away"}
    assert await stage.ends("go on", facts={"continues": brief}) == DONE
    asked = stage.bench.model.requests[2 + 1 + 1]
    told = [m["content"] for m in asked["messages"] if m["role"] == "system"]
    assert any("handed over" in text and NOTE in text for text in told)

"""The agentic mode on the real compiled graph: plan, read, compose, act, assess, answer; passes and exits."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from fencepost_domain.vocabulary import Risk

from tests.services.worker.agentic import MAKE, PLAN, READ, planned, records
from tests.services.worker.bench import Bench

pytestmark = pytest.mark.transcript


async def payloads(bench: Bench, run_id: UUID, kind: str) -> list[dict[str, Any]]:
    rows = await bench.runs.fetch(
        "SELECT convert_from(p.payload, 'UTF8')::jsonb FROM agent.run_events e"
        " JOIN agent.run_event_payloads p USING (run_id, seq)"
        " WHERE e.run_id = %s AND e.type = %s ORDER BY e.seq",
        run_id,
        kind,
    )
    return [row for (row,) in rows]


def made_of(bench: Bench) -> dict[str, Any]:
    """Arguments of what was prepared last."""
    last: dict[str, Any] = bench.gateway.prepared[-1]["calls"][0]
    return last


async def test_a_tool_that_needs_a_plan_is_planned_composed_and_answered(bench: Bench) -> None:
    roles = await planned(bench)
    async with bench.working():
        run_id = await bench.runs.queued("a report of everything")
        assert await bench.ended(run_id) == "succeeded"
    assert roles.asked == {"module": 1, "planner": 1, "composer": 2, "assessor": 1}
    assert [c["index"] for c in bench.gateway.committed] == [0, 1]
    assert made_of(bench)["tool"] == MAKE
    assert made_of(bench)["arguments"]["rows"] == [{"name": f"a-{n}"} for n in range(3)]
    assert await bench.final_messages(run_id) == ["The report is made."]
    [plan] = await payloads(bench, run_id, "plan.created")
    assert [step["tool"] for step in plan["steps"]] == [READ, MAKE]
    moves = [(p["step"], p["status"]) for p in await payloads(bench, run_id, "plan.advanced")]
    assert moves == [("read", "working"), ("read", "done"), ("make", "working"), ("make", "done")]
    assert await bench.violations() == []


async def test_i26_branches_join_in_source_order(bench: Bench) -> None:
    """150 records of three sources, in batches of at most 60: four branches, asked at once, joined in
    order."""
    roles = await planned(bench)
    found = [*records(70, "b"), *records(50, "a"), *records(30, "c")]
    bench.gateway.results[READ] = {"records": found}
    async with bench.working():
        run_id = await bench.runs.queued("a report of everything")
        assert await bench.ended(run_id, 30.0) == "succeeded"
    assert roles.asked["composer"] == 1 + 4
    rows = made_of(bench)["arguments"]["rows"]
    assert rows == [{"name": record["fields"]["name"]} for record in found]
    joined = (await payloads(bench, run_id, "branches.joined"))[-1]
    assert [(b["index"], b["source"]) for b in joined["branches"]] == [
        (0, "b"), (1, "b"), (2, "a"), (3, "c"),
    ]  # fmt: skip


async def test_an_action_of_a_plan_waits_for_its_approval(bench: Bench) -> None:
    roles = await planned(bench, risk=Risk.MEDIUM)
    async with bench.working():
        run_id = await bench.runs.queued("a report")
        interrupt = await bench.asked(run_id)
        assert [c["index"] for c in bench.gateway.committed] == [0]
        await bench.resolve(run_id, interrupt["id"], {"decision": "approve"})
        assert await bench.ended(run_id) == "succeeded"
    assert len(bench.gateway.effects) == 2
    assert roles.asked["composer"] == 2


async def test_a_no_is_an_observation_and_the_action_is_not_proposed_again(bench: Bench) -> None:
    roles = await planned(
        bench, risk=Risk.MEDIUM, assessor=[{"verdict": "continue", "reasons": [{"text": "not yet"}]}]
    )
    async with bench.working():
        run_id = await bench.runs.queued("a report")
        interrupt = await bench.asked(run_id)
        await bench.resolve(run_id, interrupt["id"], {"decision": "reject"})
        assert await bench.ended(run_id) in ("failed", "partially_succeeded", "cancelled")
    assert [c["index"] for c in bench.gateway.committed] == [0]
    assert len([p for p in bench.gateway.prepared if p["calls"][0]["tool"] == MAKE]) == 1
    assert roles.asked["planner"] >= 2, "it was planned anew, without the tool that was refused"


async def test_a_plan_with_faults_is_told_them_and_mended(bench: Bench) -> None:
    bad = {
        "objective": "x",
        "steps": [{"id": "go", "title": "go", "tool": "life.no_such", "observable": "it went"}],
        "success_criteria": ["gone"],
    }
    roles = await planned(bench, planner=[bad, PLAN])
    async with bench.working():
        run_id = await bench.runs.queued("a report")
        assert await bench.ended(run_id) == "succeeded"
    assert roles.asked["planner"] == 2


async def test_a_plan_that_stays_bad_ends_the_run_before_anything_is_done(bench: Bench) -> None:
    bad = {
        "objective": "x",
        "steps": [{"id": "go", "title": "go", "tool": "life.no_such", "observable": "it went"}],
        "success_criteria": ["gone"],
    }
    await planned(bench, planner=[bad])
    async with bench.working():
        run_id = await bench.runs.queued("a report")
        assert await bench.ended(run_id) == "failed"
    assert bench.gateway.prepared == []
    assert await bench.finalization(run_id) == ("failed", "required_task_failed")

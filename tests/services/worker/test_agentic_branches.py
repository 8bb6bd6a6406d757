"""A step's branches on the compiled graph: all, a quorum, the first; what a failure does to the others."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from fencepost_worker.flow.siblings import Siblings

from tests.services.worker.agentic import MAKE, READ, composed, records
from tests.services.worker.stage import Stage, call_of, plan_of, step
from tests.services.worker.walks import walks
from tests.support.scripted_model import tool_answer
from tests.support.scripted_roles import text_of

DONE = ("succeeded", "acceptance_met", None)
ALL = {"verdict": "completed", "reasons": [{"text": "all there"}]}
BLOCKED = {"verdict": "blocked", "reasons": [{"text": "it failed"}]}


class Parts:
    """A composer of three parts, a, b and c. held: answers when the event is set; bad: never answers well."""

    def __init__(self, *, bad: str = "", held: str = "", good: bool = False) -> None:
        self.bad, self.held = bad, held
        self.verdict = ALL if good else BLOCKED
        self.go = asyncio.Event()

    def __call__(self, body: dict[str, Any]) -> dict[str, Any] | str | list[Any]:
        said = text_of(body)
        part = next((one for one in "abc" if f"{one}-1" in said), "")
        if not part:
            return call_of(what="all")
        if part in self.bad:
            return "I would rather talk."
        if part in self.held:
            return [self.go, *tool_answer("compose", composed(body))]
        return composed(body)


def released_by_a_failure(monkeypatch: pytest.MonkeyPatch, **more: Any) -> Parts:
    """Parts whose held ones answer once the worker itself holds another for failed, not merely for asked."""
    parts, settled = Parts(**more), Siblings.settled

    def noted(self: Siblings, *, ok: bool) -> None:
        settled(self, ok=ok)
        if not ok:
            parts.go.set()

    monkeypatch.setattr(Siblings, "settled", noted)
    return parts


async def played(stage: Stage, parts: Parts, **more: Any) -> tuple[str, str, str | None]:
    plan = plan_of(step("read", READ), step("make", MAKE, "read", **more))
    stage.plays(planner=[plan], composer=[parts], assessor=[parts.verdict])
    stage.bench.gateway.results[READ] = {"records": [r for name in "abc" for r in records(3, name)]}
    return await stage.ends("make a report")


async def joined(stage: Stage) -> list[str]:
    """How the branches of the last join ended, in source order."""
    rows = await stage.bench.runs.fetch(
        "SELECT convert_from(p.payload, 'UTF8')::jsonb FROM agent.run_events e"
        " JOIN agent.run_event_payloads p USING (run_id, seq)"
        " WHERE e.type = 'branches.joined' ORDER BY e.at DESC, e.seq DESC LIMIT 1"
    )
    return [one["status"] for one in rows[0][0]["branches"]]


def rows_made(stage: Stage) -> set[str]:
    """The sources whose rows are in what was made."""
    made = stage.bench.gateway.prepared[-1]["calls"][0]["arguments"]
    return {str(row["name"])[0] for row in made["rows"]}


async def open_calls(stage: Stage) -> int:
    return await stage.bench.count("SELECT count(*) FROM agent.model_calls WHERE state = 'started'")


@walks("join -> arguments_gate")
@pytest.mark.transcript(kept=False)  # whether a stopped branch had asked is a race
async def test_the_first_answer_is_enough_and_the_others_are_stopped(stage: Stage) -> None:
    parts = Parts(held="ac", good=True)
    assert await played(stage, parts, join="first") == DONE
    assert await joined(stage) == ["stopped", "ok", "stopped"]
    assert rows_made(stage) == {"b"}
    assert await open_calls(stage) == 0, "a stopped request is settled as such"


async def test_a_quorum_is_enough_though_one_part_failed(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The failure comes before the answer that makes the quorum: it decides nothing yet, and stops nobody."""
    parts = released_by_a_failure(monkeypatch, bad="b", held="c", good=True)
    assert await played(stage, parts, join="quorum", quorum=2) == DONE
    assert await joined(stage) == ["ok", "failed", "ok"]
    assert rows_made(stage) == {"a", "c"}


async def test_a_quorum_that_cannot_be_had_fails_its_step(stage: Stage) -> None:
    parts = Parts(bad="bc")
    status, reason, code = await played(stage, parts, join="quorum", quorum=2)
    assert (status, reason, code) == ("failed", "required_task_failed", "blocked")
    assert MAKE not in json.dumps(stage.bench.gateway.prepared)


@walks("join -> assessor")
@pytest.mark.transcript(kept=False)  # whether a stopped branch had asked is a race
async def test_a_failure_takes_the_rest_along_where_all_are_needed(stage: Stage) -> None:
    parts = Parts(bad="b", held="ac")
    assert await played(stage, parts, on_failure="cancel_rest") == (
        "failed", "required_task_failed", "blocked",
    )  # fmt: skip
    assert await joined(stage) == ["stopped", "failed", "stopped"]
    assert await open_calls(stage) == 0


async def test_a_failure_keeps_the_others_running_where_the_plan_says_so(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = released_by_a_failure(monkeypatch, bad="b", held="ac")
    assert await played(stage, parts, on_failure="keep") == ("failed", "required_task_failed", "blocked")
    assert await joined(stage) == ["ok", "failed", "ok"]
    assert MAKE not in json.dumps(stage.bench.gateway.prepared)


@pytest.mark.parametrize("words", ["make a report of all rows", "把全部内容做成报告"])
async def test_where_all_was_asked_for_no_plan_may_do_with_less(stage: Stage, words: str) -> None:
    weak = plan_of(step("read", READ), step("make", MAKE, "read", join="first"))
    strong = plan_of(step("read", READ), step("make", MAKE, "read"))
    stage.plays(planner=[weak, strong], composer=[composed])
    await stage.ends(words)
    assert stage.roles.asked["planner"] == 2
    said = text_of(stage.bench.model.requests[2])
    assert "all branches have to join" in said

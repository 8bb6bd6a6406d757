"""Gates at their places on the real graph: passes, repairs, exhausted repairs, an earlier failure kept (I24,
I25)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from fencepost_domain.gates import GateOutcome, GateResult, Violation, not_judged, verdict
from fencepost_worker.flow import gate_table
from fencepost_worker.flow.gates import Gate

from tests.services.worker.agentic import MAKE, READ, composed, planned
from tests.services.worker.bench import Bench
from tests.services.worker.test_agentic import made_of, payloads

NAME = "report-arguments-v1"


def judge(subject: Mapping[str, Any], facts: Mapping[str, Any]) -> GateResult:
    """A report is titled `Good`."""
    wrong = Violation("title_bad", "/title", f"it is {subject.get('title')}", "call it Good")
    return verdict(NAME, [] if subject.get("title") == "Good" else [wrong])


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    one = Gate(NAME, 2, "artifact_quality_failed", judge)
    monkeypatch.setitem(gate_table.ARGUMENT_GATES, MAKE, one)
    return one


def titled(*titles: str) -> list[Any]:
    return [{"arguments": {"title": title}} for title in titles]


async def test_i24_arguments_that_fail_their_gate_are_repaired_before_any_effect(
    bench: Bench, gate: Gate
) -> None:
    roles = await planned(bench, repairer=titled("Better", "Good"))
    async with bench.working():
        run_id = await bench.runs.queued("a report")
        assert await bench.ended(run_id) == "succeeded"
    assert roles.asked["repairer"] == 2
    assert [p["calls"][0]["tool"] for p in bench.gateway.prepared] == [READ, MAKE]
    assert made_of(bench)["arguments"] == {"title": "Good"}
    judged = [p for p in await payloads(bench, run_id, "gate.judged") if p["gate"] == NAME]
    assert [(p["passed"], p["rewrites"]) for p in judged] == [(False, 0), (False, 1), (True, 2)]
    assert judged[0]["violations"][0]["code"] == "title_bad"


async def test_i24_an_exhausted_repair_fails_closed_before_anything_is_made(bench: Bench, gate: Gate) -> None:
    roles = await planned(bench, repairer=titled("Worse"))
    async with bench.working():
        run_id = await bench.runs.queued("a report")
        assert await bench.ended(run_id) == "failed"
    assert roles.asked["repairer"] == gate.rewrites
    assert [p["calls"][0]["tool"] for p in bench.gateway.prepared] == [READ]
    assert await bench.finalization(run_id) == ("failed", "quality_failed")
    [(code, why)] = await bench.runs.fetch(
        "SELECT code, explanation FROM agent.finalizations WHERE run_id = %s", run_id
    )
    assert code == "artifact_quality_failed"
    assert why == "The result did not meet its quality gate. title_bad."
    [message] = await bench.final_messages(run_id)
    assert why in message


def _breaks(error: Exception) -> Callable[..., GateResult]:
    def judge(subject: Any, facts: Any) -> GateResult:
        raise error

    return judge


HALF = not_judged(NAME, "2 of 5 dimensions", outcome=GateOutcome.INCOMPLETE)


@pytest.mark.parametrize(
    ("judge", "code"),
    [
        (_breaks(TimeoutError("no answer in 10 s")), "judge_error"),
        (lambda subject, facts: "looks fine", "judge_error"),
        (lambda subject, facts: HALF, "judge_incomplete"),
    ],
    ids=["times_out", "looks_fine", "two_of_five"],
)
async def test_cp5_a_result_whose_judge_broke_is_held(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, judge: Any, code: str
) -> None:
    broken = Gate(NAME, 1, "artifact_quality_failed", judge)
    monkeypatch.setitem(gate_table.ARGUMENT_GATES, MAKE, broken)
    await planned(bench, repairer=titled("Good"))
    async with bench.working():
        run_id = await bench.runs.queued("a report")
        assert await bench.ended(run_id) == "failed"
    judged = [p for p in await payloads(bench, run_id, "gate.judged") if p["gate"] == NAME]
    assert judged and {p["passed"] for p in judged} == {False}
    assert {v["code"] for p in judged for v in p["violations"]} == {code}
    assert [p["calls"][0]["tool"] for p in bench.gateway.prepared] == [READ], "nothing was made"


@pytest.mark.parametrize(
    "said", ["looks fine", {"score": "9/10"}, {"verdict": "completed"}], ids=["words", "nine_of_ten", "half"]
)
async def test_cp5_an_assessor_that_says_no_verdict_ends_no_run_well(bench: Bench, said: Any) -> None:
    await planned(bench, assessor=[said])
    async with bench.working():
        run_id = await bench.runs.queued("a report")
        assert await bench.ended(run_id) != "succeeded"
    assert (await bench.finalization(run_id))[1] == "model_failed"


async def test_arguments_that_do_not_fit_are_coerced_by_code_and_no_model_is_asked(bench: Bench) -> None:
    def compose(body: dict[str, Any]) -> dict[str, Any]:
        said = composed(body)
        if "title" in said["arguments"]:
            said["arguments"] = {"title": 12, "rows": {"name": "one"}}
        return said

    roles = await planned(bench, composer=[compose])
    async with bench.working():
        run_id = await bench.runs.queued("a report")
        assert await bench.ended(run_id) == "succeeded"
    assert roles.asked["repairer"] == 0
    assert made_of(bench)["arguments"] == {"title": "12", "rows": [{"name": "one"}]}


async def test_arguments_that_do_not_fit_are_mended_by_the_repairer(bench: Bench) -> None:
    broken = {"arguments": {"rows": "no"}, "used_locators": []}

    def compose(body: dict[str, Any]) -> dict[str, Any]:
        said = composed(body)
        return broken if "title" in said["arguments"] else said

    roles = await planned(bench, composer=[compose], repairer=titled("Mended"))
    async with bench.working():
        run_id = await bench.runs.queued("a report")
        assert await bench.ended(run_id) == "succeeded"
    assert roles.asked["repairer"] == 1
    assert made_of(bench)["arguments"] == {"title": "Mended"}
    assert (await bench.events(run_id)).count("tool.refused") > 0


async def test_i25_a_gate_never_turns_an_earlier_failure_into_a_success(bench: Bench) -> None:
    """The reading fails under each plan; an assessor that calls it done all the same changes nothing."""
    bench.gateway.commit_script.extend(["tool_failed"] * 9)
    roles = await planned(bench, assessor=[{"verdict": "completed", "reasons": [{"text": "good enough"}]}])
    async with bench.working():
        run_id = await bench.runs.queued("a report")
        status = await bench.ended(run_id)
    assert roles.asked["assessor"] >= 1
    assert status == "failed", "an assessor can't call done what failed"
    assert [p["calls"][0]["tool"] for p in bench.gateway.prepared if p["calls"][0]["tool"] == MAKE] == []

"""What a gate says and what may not be made of it: CP-5 and the mechanics behind I24, I25."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from fencepost_domain.errors import Invalid
from fencepost_domain.gates import (
    GateOutcome,
    GateResult,
    Violation,
    combine,
    not_judged,
    read_scores,
    reason,
    run_judge,
    verdict,
)

GATE = "test-gate-1.0.0"
BAD = Violation("too_long", "/body", "900 characters, at most 800", "shorten the body")
DIMENSIONS = ("clarity", "facts", "tone", "language", "length")
GOOD_SCORES = dict.fromkeys(DIMENSIONS, 0.9)


def test_a_result_survives_json() -> None:
    for result in (verdict(GATE, []), verdict(GATE, [BAD]), not_judged(GATE, "timed out")):
        assert GateResult.from_json(result.to_json()) == result


@pytest.mark.parametrize(
    "raw",
    [
        None,
        "looks fine",
        [],
        {},
        {"passed": True},
        {"gate": GATE, "passed": True, "outcome": "failed", "violations": [BAD.to_json()]},
        {"gate": GATE, "passed": True, "outcome": "passed", "violations": [BAD.to_json()]},
        {"gate": GATE, "passed": False, "outcome": "failed", "violations": []},
        {"gate": GATE, "passed": 1, "outcome": "passed", "violations": []},
        {"gate": GATE, "passed": True, "outcome": "excellent", "violations": []},
        {"gate": GATE, "passed": False, "outcome": "failed", "violations": ["too long"]},
    ],
)
def test_what_can_not_be_read_is_no_result(raw: Any) -> None:
    with pytest.raises(Invalid) as refused:
        GateResult.from_json(raw)
    assert refused.value.code == "gate_malformed"


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ("looks fine", GateOutcome.ERROR),
        ({"clarity": "9/10"}, GateOutcome.ERROR),
        ({"clarity": None}, GateOutcome.ERROR),
        (GOOD_SCORES | {"tone": True}, GateOutcome.ERROR),
        (GOOD_SCORES | {"tone": float("nan")}, GateOutcome.ERROR),
        (GOOD_SCORES | {"tone": 9}, GateOutcome.ERROR),
        ({"clarity": 1.0, "facts": 1.0}, GateOutcome.INCOMPLETE),
        ({"score": 0.9}, GateOutcome.INCOMPLETE),
        ({}, GateOutcome.INCOMPLETE),
        (GOOD_SCORES | {"tone": 0.2}, GateOutcome.FAILED),
        (GOOD_SCORES, GateOutcome.PASSED),
    ],
)
def test_cp5_a_judge_that_says_less_than_asked_does_not_pass(answer: Any, outcome: GateOutcome) -> None:
    result = read_scores(GATE, answer, DIMENSIONS, 0.7)
    assert result.outcome is outcome
    assert result.passed is (outcome is GateOutcome.PASSED)
    assert bool(reason(result)) is not result.passed


@pytest.mark.parametrize(
    "raised", [TimeoutError("no answer in 10 s"), ConnectionRefusedError("refused"), KeyError("x")]
)
def test_cp5_a_judge_that_breaks_does_not_pass(raised: Exception) -> None:
    def judge() -> GateResult:
        raise raised

    result = run_judge(GATE, judge)
    assert result.outcome is GateOutcome.ERROR
    assert type(raised).__name__ in reason(result)


@pytest.mark.parametrize("answer", [None, True, "passed", verdict("another-gate-1.0.0", [])])
def test_cp5_a_judge_that_answers_something_else_does_not_pass(answer: Any) -> None:
    assert run_judge(GATE, lambda: answer).outcome is GateOutcome.ERROR


def test_no_order_of_gates_turns_a_failure_into_a_success() -> None:
    results = [
        verdict("a", []),
        verdict("b", [BAD]),
        not_judged("c", "timed out"),
        not_judged("d", "half", outcome=GateOutcome.INCOMPLETE),
    ]
    for size in range(1, 5):
        for order in itertools.permutations(results, size):
            assert combine(order).passed is (order == (results[0],))
    assert combine(results).outcome is GateOutcome.FAILED
    assert [each.position.partition("#")[0] for each in combine(results).violations] == ["b", "c", "d"]


def test_an_absent_gate_is_not_a_pass() -> None:
    assert combine([]).outcome is GateOutcome.INCOMPLETE
    assert combine([verdict("a", [])], expected=("a", "b")).outcome is GateOutcome.INCOMPLETE
    assert combine([verdict("a", []), verdict("b", [])], expected=("a", "b")).passed

"""What a quality gate says, and what may not be made of it (design 04, I24, I25, case CP-5).

A gate is a pure, versioned function `judge(subject, facts) -> GateResult`. Its name carries its version
(`email-draft-policy-2.1.0`), so a stored result says which rules it was judged by. Not evaluated isn't
approved: a judge that failed, or said less than it was asked, is `error` or `incomplete`, never `passed`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from fencepost_domain.errors import Invalid


class GateOutcome(StrEnum):
    PASSED = "passed"
    FAILED = "failed"  # judged, and not good enough
    ERROR = "error"  # the judge broke or said what can't be read
    INCOMPLETE = "incomplete"  # only part was judged, or nothing


# Which of several outcomes stands for all: a found violation tells more than a judge that broke.
WEIGHT: Final = (GateOutcome.PASSED, GateOutcome.INCOMPLETE, GateOutcome.ERROR, GateOutcome.FAILED)
CODE_ERROR: Final = "judge_error"
CODE_UNREADABLE: Final = "judge_unreadable"
CODE_INCOMPLETE: Final = "judge_incomplete"
CODE_LOW: Final = "score_too_low"


@dataclass(frozen=True, slots=True)
class Violation:
    """One finding. code: for machines; position: JSON pointer into the subject, '' for all of it;
    detail: what is wrong, in data; fix: what to do about it, as the model that rewrites is told it.
    """

    code: str
    position: str
    detail: str
    fix: str

    def to_json(self) -> dict[str, str]:
        return {"code": self.code, "position": self.position, "detail": self.detail, "fix": self.fix}


@dataclass(frozen=True, slots=True)
class GateResult:
    """A gate's answer. `passed` is read from the outcome, so the two can't differ.

    Raises Invalid("gate_contradiction") for one that passed with violations, or failed without any.
    """

    gate: str
    outcome: GateOutcome
    violations: tuple[Violation, ...] = ()

    def __post_init__(self) -> None:
        if (self.outcome is GateOutcome.PASSED) == bool(self.violations):
            raise Invalid(
                "gate_contradiction", f"{self.gate}: {self.outcome} with {len(self.violations)} violations"
            )

    @property
    def passed(self) -> bool:
        return self.outcome is GateOutcome.PASSED

    @property
    def codes(self) -> tuple[str, ...]:
        """Codes in order of appearance, each once."""
        return tuple(dict.fromkeys(each.code for each in self.violations))

    def to_json(self) -> dict[str, Any]:
        """As it is kept in a run's state and events."""
        violations = [each.to_json() for each in self.violations]
        return {
            "gate": self.gate,
            "passed": self.passed,
            "outcome": str(self.outcome),
            "violations": violations,
        }

    @classmethod
    def from_json(cls, raw: object) -> GateResult:
        """Read a stored result. Raises Invalid("gate_malformed") for anything that doesn't say it in full,
        or that says `passed` against its own outcome: what can't be read isn't a pass.
        """
        try:
            if not isinstance(raw, Mapping):
                raise TypeError(f"expected an object, got {type(raw).__name__}")
            violations = tuple(_violation(each) for each in raw["violations"])
            result = cls(str(raw["gate"]), GateOutcome(raw["outcome"]), violations)
            if raw["passed"] is not result.passed:
                raise ValueError("passed contradicts the outcome")
        except (KeyError, TypeError, ValueError, Invalid) as error:
            raise Invalid("", f"not a gate result: {error}", "gate_malformed") from error
        return result


def _violation(raw: Mapping[str, Any]) -> Violation:
    return Violation(str(raw["code"]), str(raw["position"]), str(raw["detail"]), str(raw["fix"]))


def verdict(gate: str, violations: Iterable[Violation]) -> GateResult:
    """A gate that ran to its end: passed without violations, failed with."""
    found = tuple(violations)
    return GateResult(gate, GateOutcome.FAILED if found else GateOutcome.PASSED, found)


def not_judged(gate: str, detail: str, *, outcome: GateOutcome = GateOutcome.ERROR) -> GateResult:
    """A judge that timed out, was refused or broke. detail: why, shown to who waits for the result."""
    code = CODE_INCOMPLETE if outcome is GateOutcome.INCOMPLETE else CODE_ERROR
    fix = "judge again; until then it counts as not passed"
    return GateResult(gate, outcome, (Violation(code, "", detail, fix),))


def run_judge(gate: str, judge: Callable[[], GateResult]) -> GateResult:
    """What the judge says; `error` when it raises, or answers for another gate.

    For pure judges only: what a graph raises to pause must not pass through here.
    """
    try:
        result = judge()
    except Exception as error:
        # A bug in a rule must hold the delivery and be seen in the result, not end the run unexplained.
        return not_judged(gate, f"{type(error).__name__}: {error}")
    if not isinstance(result, GateResult) or result.gate != gate:
        return not_judged(gate, "the judge's answer is not this gate's result")
    return result


def read_scores(gate: str, answer: object, dimensions: Sequence[str], at_least: float) -> GateResult:
    """What a scoring judge (a model) answered: a mapping of each dimension to a number from 0 to 1.

    An answer of another shape is `error`, one without all dimensions `incomplete`, whatever the rest says.
    """
    if not isinstance(answer, Mapping):
        return _unreadable(gate, "", f"expected an object of scores, got {type(answer).__name__}")
    bad = [name for name in dimensions if name in answer and not _is_score(answer[name])]
    if bad:
        return _unreadable(
            gate, f"/{bad[0]}", f"{bad[0]}: expected a number from 0 to 1, got {answer[bad[0]]!r}"
        )
    missing = [name for name in dimensions if name not in answer]
    if missing or not dimensions:
        said = f"not judged: {', '.join(missing)}" if missing else "no dimension was asked for"
        return not_judged(gate, said, outcome=GateOutcome.INCOMPLETE)
    low = [name for name in dimensions if answer[name] < at_least]
    return verdict(gate, [_low(name, answer[name], at_least) for name in low])


def _is_score(value: object) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and 0 <= value <= 1  # type: ignore[arg-type,operator]


def _unreadable(gate: str, position: str, detail: str) -> GateResult:
    fix = "answer every dimension with a number from 0 to 1"
    return GateResult(gate, GateOutcome.ERROR, (Violation(CODE_UNREADABLE, position, detail, fix),))


def _low(name: str, score: float, at_least: float) -> Violation:
    return Violation(CODE_LOW, f"/{name}", f"{name} is {score}, asked is {at_least}", f"improve {name}")


def combine(results: Sequence[GateResult], expected: Sequence[str] = ()) -> GateResult:
    """One answer for several gates: passed only when each expected one is there and every one passed.

    A later pass never covers an earlier failure (I25); an absent gate, or none at all, is `incomplete`.
    All violations are kept in order, their gate in front of the position: `response-quality-1.0.0#/2`.
    """
    absent = [name for name in expected if name not in {each.gate for each in results}]
    if absent or not results:
        named = ", ".join(absent) or "no gate"
        why = not_judged("combined", f"not judged: {named}", outcome=GateOutcome.INCOMPLETE)
        results = [*results, why]
    outcome = max((each.outcome for each in results), key=WEIGHT.index)
    return GateResult(
        "combined", outcome, tuple(_placed(each, one) for each in results for one in each.violations)
    )


def _placed(result: GateResult, one: Violation) -> Violation:
    return Violation(one.code, f"{result.gate}#{one.position}", one.detail, one.fix)


def reason(result: GateResult) -> str:
    """Why something is held, in one line; '' for what passed."""
    return "; ".join(f"{each.code} at {each.position or '/'}: {each.detail}" for each in result.violations)

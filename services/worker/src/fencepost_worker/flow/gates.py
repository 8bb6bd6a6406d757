"""Which gate judges what, how often its subject may be rewritten, and with which code the run ends.

Gates are pure functions of other packages; here they are called, their results kept, and a failure stays one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fencepost_domain.gates import GateResult
from fencepost_domain.vocabulary import Ev

from fencepost_worker.flow.state import Patch
from fencepost_worker.flow.step import Step

Judge = Callable[[Any, Mapping[str, Any]], GateResult]


@dataclass(frozen=True, slots=True)
class Gate:
    """rewrites: tries that may follow a failure. code: of an ending when they are used up."""

    name: str
    rewrites: int
    code: str
    judge: Judge


def failed_by(result: GateResult) -> list[dict[str, Any]]:
    """A result's violations as a repair is told them."""
    return [
        {"code": v.code, "position": v.position, "detail": v.detail, "fix": v.fix} for v in result.violations
    ]


async def note(
    step: Step, result: GateResult, place: str, *, rewrites: int, subject: str, told: bool = True
) -> Patch:
    """Append what a gate said; the patch keeps its report, under a name that a later one doesn't take."""
    report = {
        **result.to_json(),
        "passed": result.passed,
        "subject": subject,
        "rewrites": rewrites,
    }
    if told:
        await step.note(Ev.GATE_JUDGED, f"{result.gate}:{place}", _said(result, subject, rewrites))
    return {"reports": {f"{result.gate}:{place}:{rewrites}": report}}


def proving(report: Patch, subject: str, proven: Mapping[str, bool]) -> dict[str, Any]:
    """The report with what it proves of which thing, for the contract's acceptance."""
    return {name: {**one, "proves": dict(proven), "of": subject} for name, one in report["reports"].items()}


def _said(result: GateResult, subject: str, rewrites: int) -> dict[str, Any]:
    return {
        "gate": result.gate,
        "passed": result.passed,
        "subject": subject,
        "rewrites": rewrites,
        "violations": failed_by(result)[:MOST_TOLD],
    }


MOST_TOLD: Final = 20


def codes(violations: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(dict.fromkeys(str(one["code"]) for one in violations))[:300]

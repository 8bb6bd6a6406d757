"""The gates of the core graph: of a tool's arguments, of its artifacts, of the answer (I24)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fencepost_domain.gates import GateResult, Violation, verdict

from fencepost_worker.flow.finish import GATE_VERSION
from fencepost_worker.flow.gates import Gate

ARTIFACT_GATE: Final = "artifact-quality-v1"


def _response(subject: Any, facts: Mapping[str, Any]) -> GateResult:
    if str(subject).strip():
        return verdict(GATE_VERSION, [])
    return verdict(GATE_VERSION, [Violation("empty", "", "the answer has no words", "answer the user")])


def _artifact(subject: Any, facts: Mapping[str, Any]) -> GateResult:
    """Of an action's result: what its own report says, and whether all that was asked for is covered."""
    found: list[Violation] = []
    report = subject.get("quality_report") if isinstance(subject, Mapping) else None
    if isinstance(report, Mapping):
        for one in report.get("violations") or ():
            found.append(
                Violation(
                    str(one.get("code", "quality")),
                    str(one.get("position", "/quality_report")),
                    str(one.get("detail", "")),
                    str(one.get("fix", "make it anew")),
                )
            )
    ratio = _coverage(subject)
    if facts.get("full_coverage") and ratio is not None and ratio < 1:
        found.append(
            Violation(
                "source_coverage_incomplete",
                "/coverage/ratio",
                f"{ratio:.3f} of the sources is in it, and all was asked for",
                "use every record of the sources",
            )
        )
    return verdict(ARTIFACT_GATE, found)


def _coverage(subject: Any) -> float | None:
    """A result's coverage; None where it says none."""
    coverage = subject.get("coverage") if isinstance(subject, Mapping) else None
    ratio = coverage.get("ratio") if isinstance(coverage, Mapping) else None
    return float(ratio) if isinstance(ratio, int | float) else None


# By tool; a tool that isn't here has its schema and its contract alone.
ARGUMENT_GATES: dict[str, Gate] = {}
ARTIFACTS: Gate = Gate(ARTIFACT_GATE, 1, "artifact_quality_failed", _artifact)
RESPONSE: Gate = Gate(GATE_VERSION, 1, "response_quality_failed", _response)

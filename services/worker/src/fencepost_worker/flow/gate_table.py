"""The gates of the core graph: of a tool's arguments, of its artifacts, of the answer (I24).

Each is a pure function of a package of its own; here its facts are made from the run's state. What loads
slowly (documents) is imported when a run first needs it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fencepost_domain.gates import GateResult
from fencepost_domain.task_contract import TaskContract
from fencepost_quality import response
from fencepost_quality.email import FAILED_CODE, REWRITES
from fencepost_quality.email import GATE as _EMAIL
from fencepost_quality.email import judge as judge_email
from fencepost_quality.email_request import facts_of

from fencepost_worker.flow.gates import Gate

ARTIFACT_GATE: Final = "artifact-quality-v1"
PRESENTATION_GATE: Final = "presentation-arguments-v1"
EMAIL_GATE: Final = _EMAIL
DRAFT: Final = "work.draft_email"
# What a tool makes, by its kind in the task contract.
KIND_OF: Final[Mapping[str, str]] = {
    "work.create_presentation": "pptx",
    "work.create_document": "docx",
    "work.create_workbook": "xlsx",
    DRAFT: "email",
}


@dataclass(frozen=True, slots=True)
class Readings:
    """What the run's own readings found, as their results say it."""

    documents: tuple[Mapping[str, Any], ...] = ()
    records: tuple[Mapping[str, Any], ...] = ()
    units: tuple[Mapping[str, Any], ...] = ()
    left_out: tuple[str, ...] = ()
    cut: bool = False

    @classmethod
    def of(cls, results: Sequence[Mapping[str, Any]]) -> Readings:
        read = [result for result in results if "records" in result and "documents" in result]
        return cls(
            tuple(one for result in read for one in result["documents"]),
            tuple(one for result in read for one in result["records"]),
            tuple(one for result in read for one in result.get("units", ())),
            tuple(str(place) for result in read for place in result.get("coverage", {}).get("left_out", ())),
            any(bool(result.get("cut")) for result in read),
        )


def _presentation(subject: Any, facts: Mapping[str, Any]) -> GateResult:
    from fencepost_documents.gates.facts import PresentationFacts, SourceFacts
    from fencepost_documents.gates.presentation import judge
    from fencepost_documents.ir import SCHEMA_VERSION, Record

    found: Readings = facts["readings"]
    places: dict[str, set[str]] = {}
    for one in found.records:
        places.setdefault(str(one["artifact_id"]), set()).add(str(one["source_locator"]))
    for one in found.units:
        places.setdefault(str(one["artifact_id"]), set()).add(str(one["locator"]))
    sources = tuple(
        SourceFacts(
            artifact_id=str(one["artifact_id"]),
            locators=frozenset(places.get(str(one["artifact_id"]), ())),
            schema_version=str(one.get("schema_version") or SCHEMA_VERSION),
        )
        for one in found.documents
        if not one.get("refused")
    )
    records = tuple(Record.model_validate(one) for one in found.records) if found.documents else None
    contract = TaskContract.from_json(facts["contract"])
    return judge(subject, PresentationFacts(contract=contract, sources=sources, records=records))


def _email(subject: Any, facts: Mapping[str, Any]) -> GateResult:
    language = str(facts["contract"].get("language") or "")[:2].lower()
    asked = language if language in ("zh", "en") else None
    return judge_email(subject, facts_of(facts["request"], asked))


def _artifact(subject: Any, facts: Mapping[str, Any]) -> GateResult:
    from fencepost_documents.gates.artifact import ArtifactFacts, judge
    from fencepost_documents.ir import Record
    from fencepost_documents.office.inspection import Inspection

    found: Readings = facts["readings"]
    told = subject.get("inspection") if isinstance(subject, Mapping) else None
    return judge(
        subject if isinstance(subject, Mapping) else None,
        ArtifactFacts(
            contract=TaskContract.from_json(facts["contract"]),
            kind=KIND_OF[facts["tool"]],
            outline=facts["arguments"],
            file=Inspection.model_validate(told) if told is not None else None,
            records=tuple(Record.model_validate(one) for one in found.records) if found.documents else None,
            left_out=found.left_out,
            cut=found.cut,
        ),
    )


def proofs(result: GateResult, contract: Mapping[str, Any]) -> dict[str, bool]:
    """Which hard requirements of a file the artifact gate's result proves, and which it disproves."""
    from fencepost_documents.gates.artifact import proofs as of_file

    return of_file(result, TaskContract.from_json(contract))


def _response(subject: Any, facts: Mapping[str, Any]) -> GateResult:
    return response.judge(str(subject))


# By tool; a tool that isn't here has its schema and its contract alone.
ARGUMENT_GATES: dict[str, Gate] = {
    "work.create_presentation": Gate(PRESENTATION_GATE, 2, "artifact_quality_failed", _presentation),
    DRAFT: Gate(EMAIL_GATE, REWRITES, FAILED_CODE, _email),
}
ARTIFACTS: Gate = Gate(ARTIFACT_GATE, 1, "artifact_quality_failed", _artifact)
RESPONSE: Gate = Gate(response.GATE, 1, "response_quality_failed", _response)
without_repeats = response.without_repeats

"""Gate `artifact-quality-v1`: a file that was made, judged by what is in it. "Done" is not done.

Its facts are the task contract, the arguments the file was made from, and what was found when the file was
read again from its bytes; the tool's `quality_report` is a claim that each of the three can disprove. Pure.

| code | means |
|---|---|
| `artifact_missing` | no file, or nothing is known of its bytes |
| `artifact_unreadable`, `artifact_empty` | it doesn't open, or says nothing |
| `hash_mismatch` | the bytes looked at are not those that were registered |
| `name_unsafe`, `suffix_mismatch`, `kind_unwanted` | its name, its content and the wish don't fit |
| `active_content` | macros, formulas, links that lead out |
| `language_wrong`, `table_missing`, `chart_missing`, `field_missing`, `page_count` | the contract isn't met |
| `blank_page`, `content_differs` | the file says less or else than was asked of it |
| `report_missing`, `report_differs` | the tool's report is absent, or not true |
| `source_not_covered`, `coverage_unknown`, `coverage_incomplete`, `truncated` | sources left out |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

from fencepost_domain.gates import GateResult, Violation, verdict
from fencepost_domain.task_contract import Requirement, TaskContract
from pydantic import BaseModel, BeforeValidator, ConfigDict, TypeAdapter, ValidationError

from fencepost_documents.ir import Record
from fencepost_documents.office.inspection import Inspection
from fencepost_documents.office.outline import AnyOutline, DocumentOutline, Outline, WorkbookOutline
from fencepost_documents.office.report import QualityReport, report_on

from .artifact_content import judge_content, judge_coverage
from .artifact_name import judge_name
from .facts import contract_from

GATE: Final = "artifact-quality-v1"
CODES: Final = (
    "artifact_missing", "artifact_unreadable", "artifact_empty", "hash_mismatch", "name_unsafe",
    "suffix_mismatch", "kind_unwanted", "active_content", "language_wrong", "table_missing",
    "chart_missing", "field_missing", "page_count", "blank_page", "content_differs", "report_missing",
    "report_differs", "source_not_covered", "coverage_unknown", "coverage_incomplete", "truncated",
)  # fmt: skip
_OUTLINES: Final = {
    "pptx": TypeAdapter[AnyOutline](Outline),
    "docx": TypeAdapter[AnyOutline](DocumentOutline),
    "xlsx": TypeAdapter[AnyOutline](WorkbookOutline),
}
_OPENS: Final = frozenset({"artifact_missing", "artifact_unreadable", "hash_mismatch"})
# What disproves each hard requirement; one without a violation among these is proven by this gate.
DISPROVED_BY: Final[Mapping[str, frozenset[str]]] = {
    Requirement.ARTIFACT_EXISTS: frozenset({"artifact_missing"}),
    Requirement.ARTIFACT_OPENS: _OPENS,
    Requirement.ARTIFACT_READABLE: _OPENS | {"artifact_empty", "blank_page", "content_differs"},
    Requirement.FILE_KIND_MATCHES: _OPENS | {"suffix_mismatch", "kind_unwanted"},
    Requirement.SOURCES_USED: _OPENS | {"source_not_covered"},
    Requirement.SOURCE_COVERAGE_COMPLETE: _OPENS
    | {"source_not_covered", "coverage_unknown", "coverage_incomplete", "truncated", "content_differs"},
    Requirement.FIELDS_PRESENT: _OPENS | {"field_missing", "content_differs"},
    Requirement.LANGUAGE_MATCHES: _OPENS | {"language_wrong"},
    Requirement.TABLES_PRESENT: _OPENS | {"table_missing", "content_differs"},
    Requirement.PICTURES_PRESENT: _OPENS | {"chart_missing"},
    Requirement.PAGE_COUNT_FITS: _OPENS | {"page_count"},
}


class Made(BaseModel):
    """subject: a file as registry and tool name it. quality_report: the tool's, as it came."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    artifact_id: str = ""
    name: str = ""
    media_type: str = ""
    sha256: str = ""
    quality_report: Mapping[str, Any] | None = None


class ArtifactFacts(BaseModel):
    """kind: what the tool that made it makes. outline: its arguments. file: what was found in the bytes, None
    when nobody looked. records: what the sources hold, None when nothing was extracted. left_out: places of
    what looks like a record and became none. cut: whether reading the sources ended early.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    contract: Annotated[TaskContract, BeforeValidator(contract_from)]
    kind: str
    outline: Mapping[str, Any]
    file: Inspection | None = None
    records: tuple[Record, ...] | None = None
    left_out: tuple[str, ...] = ()
    cut: bool = False

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> ArtifactFacts:
        """Raises pydantic.ValidationError or Invalid for what isn't facts in full."""
        return cls.model_validate(raw)

    def to_json(self) -> dict[str, Any]:
        return {**self.model_dump(mode="json"), "contract": self.contract.to_json()}


def judge(subject: Mapping[str, Any] | None, facts: ArtifactFacts) -> GateResult:
    """subject: None when the tool gave no file. Violations in a fixed order."""
    file = facts.file
    if not subject or file is None or not file.size_bytes:
        said = "there is no file" if not subject else "nobody has looked into the file"
        return verdict(GATE, [Violation("artifact_missing", "", said, "make the file, and read it again")])
    made = Made.model_validate(subject)
    found = list(judge_name(made.name, facts.kind, file, facts.contract))
    if made.sha256 != file.sha256:
        said = f"registered is {made.sha256[:12] or 'nothing'}, looked at was {file.sha256[:12]}"
        found.append(Violation("hash_mismatch", "/sha256", said, "inspect the bytes that were registered"))
    if not file.opens:
        found.append(Violation("artifact_unreadable", "", file.refused, "make the file anew"))
        return verdict(GATE, found)
    try:
        outline = _OUTLINES[facts.kind].validate_python(facts.outline)
    except (KeyError, ValidationError) as error:
        said = f"its arguments can't be read: {type(error).__name__}"
        found.append(Violation("content_differs", "", said, "make the file from an outline of its kind"))
        return verdict(GATE, found)
    found += judge_content(outline, file, facts.contract)
    found += judge_coverage(outline, facts.contract, facts.records, facts.left_out, cut=facts.cut)
    found += _report(made.quality_report, outline, facts)
    return verdict(GATE, found)


def proofs(result: GateResult, contract: TaskContract) -> dict[str, bool]:
    """Each hard requirement of the contract that this gate can judge, and whether the file meets it."""
    if result.gate != GATE or result.outcome not in ("passed", "failed"):
        return {name: False for name in contract.hard_requirements if name in DISPROVED_BY}
    codes = set(result.codes)
    return {
        name: not codes & DISPROVED_BY[name] for name in contract.hard_requirements if name in DISPROVED_BY
    }


def _report(raw: Mapping[str, Any] | None, outline: AnyOutline, facts: ArtifactFacts) -> Iterator[Violation]:
    """Each claim against what was asked for and what the file holds."""
    assert facts.file is not None
    if raw is None:
        fix = "the tool has to report on what it made"
        yield Violation("report_missing", "/quality_report", "the tool reported nothing", fix)
        return
    try:
        claimed = QualityReport.model_validate(raw)
    except ValidationError as error:
        said = f"{error.error_count()} faults in the report"
        yield Violation("report_differs", "/quality_report", said, "report in the form of the contract")
        return
    pages = facts.file.pages if facts.kind == "pptx" else 0
    true = report_on(outline, facts.file.kind, pages=pages, fonts=claimed.fonts)
    for name in QualityReport.model_fields:
        said_, is_ = getattr(claimed, name), getattr(true, name)
        if said_ != is_:
            detail = f"claimed {_short(said_)}, found {_short(is_)}"
            yield Violation("report_differs", f"/quality_report/{name}", detail, "report what the file holds")
    if claimed.charts != facts.file.charts:
        detail = f"claimed {claimed.charts}, the file has {facts.file.charts}"
        yield Violation("report_differs", "/quality_report/charts", detail, "report what the file holds")
    if absent := sorted(set(facts.file.fonts) - set(claimed.fonts)):
        detail = f"the file names {', '.join(absent[:5])} too"
        yield Violation("report_differs", "/quality_report/fonts", detail, "report all fonts")


def _short(value: object) -> str:
    return repr(value)[:80]

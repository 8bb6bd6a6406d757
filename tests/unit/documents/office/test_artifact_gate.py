"""artifact-quality-v1: a lying report, another file, a lost row: each is found, from the bytes themselves."""

import asyncio
import json
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import pytest
from fencepost_documents.gates import artifact
from fencepost_documents.gates.artifact import GATE, ArtifactFacts, judge, proofs
from fencepost_documents.gates.artifact_name import unsafe
from fencepost_documents.office.docx_writer import write_document
from fencepost_documents.office.from_records import document_from_records, workbook_from_records
from fencepost_documents.office.inspection import Inspection, inspect_file
from fencepost_documents.office.outline import Outline, arguments_of
from fencepost_documents.office.pptx_writer import write_presentation
from fencepost_documents.office.xlsx_writer import write_workbook
from fencepost_domain.gates import GateOutcome, not_judged
from fencepost_domain.task_contract import TaskContract
from pptx import Presentation

from tests.unit.documents.office.outlines import AT, SOURCE, arguments, contract, records

NAME = "活动汇总.pptx"


def looked(data: bytes, name: str = NAME) -> Inspection:
    return asyncio.run(inspect_file(data, name))


@cache
def deck() -> tuple[bytes, dict[str, Any], Inspection]:
    data, report = write_presentation(Outline.model_validate(arguments()), AT)
    return data, report.model_dump(mode="json"), looked(data)


def made(**more: Any) -> dict[str, Any]:
    data, report, _ = deck()
    told = {"artifact_id": "a", "name": NAME, "media_type": "x", "sha256": sha256(data).hexdigest()}
    return {**told, "quality_report": dict(report), **more}


def facts(**more: Any) -> ArtifactFacts:
    known: dict[str, Any] = {
        "contract": contract(pictures=True),
        "kind": "pptx",
        "outline": arguments(),
        "file": deck()[2],
        "records": records().records,
    }
    return ArtifactFacts(**{**known, **more})


def changed(change: Callable[[Any], None]) -> dict[str, Any]:
    """The deck opened, changed behind the tool's back and saved, and the facts about it."""
    presentation = Presentation(BytesIO(deck()[0]))
    change(presentation)
    out = BytesIO()
    presentation.save(out)
    return seen_in(out.getvalue())


def seen_in(data: bytes) -> dict[str, Any]:
    return {"file": looked(data), "sha256": sha256(data).hexdigest()}


def with_part(name: str, content: bytes) -> dict[str, Any]:
    out = BytesIO(deck()[0])
    with ZipFile(out, "a") as package:
        package.writestr(name, content)
    return seen_in(out.getvalue())


def table_of(presentation: Any) -> Any:
    return next(shape for shape in presentation.slides[2].shapes if shape.has_table)


def drop_row(presentation: Any) -> None:
    rows = table_of(presentation).table._tbl.tr_lst
    rows[-1].getparent().remove(rows[-1])


def drop_table(presentation: Any) -> None:
    frame = table_of(presentation)._element
    frame.getparent().remove(frame)


def drop_chart(presentation: Any) -> None:
    frame = next(shape for shape in presentation.slides[3].shapes if shape.has_chart)._element
    frame.getparent().remove(frame)


def change_cell(presentation: Any) -> None:
    table_of(presentation).table.cell(2, 2).text = "别处"


def rename_column(presentation: Any) -> None:
    table_of(presentation).table.cell(0, 2).text = "备注"


def add_blank(presentation: Any) -> None:
    presentation.slides.add_slide(presentation.slide_layouts[6])


def test_a_file_that_holds_what_was_asked_passes_and_proves_the_contract() -> None:
    judged = judge(made(), facts())
    assert judged.violations == ()
    wanted = contract(pictures=True)
    assert proofs(judged, wanted) == dict.fromkeys(wanted.hard_requirements, True)


def test_a_chart_of_the_outline_is_in_the_file_whether_pictures_were_asked_or_not() -> None:
    seen = changed(drop_chart)
    judged = judge(made(sha256=seen["sha256"]), facts(file=seen["file"], contract=contract(pictures=False)))
    assert set(judged.codes) == {"chart_missing", "report_differs"}
    assert judge(made(), facts(contract=contract(pictures=False))).passed


def test_the_files_own_pages_are_counted() -> None:
    pages = facts().file.pages
    assert judge(made(), facts(contract=contract(pages=(pages, pages)))).passed
    wished = contract(pages=(1, pages - 1))
    judged = judge(made(), facts(contract=wished))
    assert judged.codes == ("page_count",) and "page_count_fits" in wished.hard_requirements
    assert proofs(judged, wished)["page_count_fits"] is False


LIES: list[tuple[str, Any]] = [
    ("pages", 9),
    ("tables", 2),
    ("charts", 0),
    ("rows", 300),
    ("cited", 2),
    ("fields", ["名称", "时间", "地点", "金额"]),
    ("sources", []),
    ("coverage_ratio", 0.5),
    ("replaced", 4),
    ("truncated", True),
    ("fonts", ["Arial"]),
    ("kind", "docx"),
]


@pytest.mark.parametrize(("field", "lie"), LIES)
def test_a_report_that_lies_is_found_by_the_field(field: str, lie: Any) -> None:
    told = made()
    told["quality_report"][field] = lie
    judged = judge(told, facts())
    first = judged.violations[0]
    assert (first.code, first.position) == ("report_differs", f"/quality_report/{field}")


@pytest.mark.parametrize("report", [{}, {"passed": True}, {"rows": "three"}])
def test_a_report_of_another_shape_says_nothing(report: Any) -> None:
    assert "report_differs" in judge(made(quality_report=report), facts()).codes


BEHIND: list[tuple[str, Any, set[str]]] = [
    ("a row is gone", drop_row, {"content_differs"}),
    ("a cell is another", change_cell, {"content_differs"}),
    ("a column is another", rename_column, {"content_differs", "field_missing"}),
    ("the table is gone", drop_table, {"content_differs", "table_missing", "field_missing"}),
    ("the chart is gone", drop_chart, {"chart_missing", "report_differs"}),
    ("an empty page", add_blank, {"blank_page", "report_differs"}),
]


@pytest.mark.parametrize(("why", "change", "codes"), BEHIND, ids=[one[0] for one in BEHIND])
def test_what_the_file_lacks_is_found_though_report_and_arguments_agree(
    why: str, change: Any, codes: set[str]
) -> None:
    seen = changed(change)
    judged = judge(made(sha256=seen["sha256"]), facts(file=seen["file"]))
    assert set(judged.codes) == codes


BAD: list[tuple[str, Any, Any]] = [
    ("artifact_missing", None, facts()),
    ("artifact_missing", {}, facts()),
    ("artifact_missing", made(), facts(file=None)),
    ("artifact_missing", made(), facts(file=looked(b""))),
    ("artifact_unreadable", made(sha256=sha256(b"PK no zip").hexdigest()), facts(file=looked(b"PK no zip"))),
    ("hash_mismatch", made(sha256="0" * 64), facts()),
    ("hash_mismatch", made(sha256=""), facts()),
    ("name_unsafe", made(name="../汇总.pptx"), facts()),
    ("name_unsafe", made(name="汇总\u202efdp.pptx"), facts()),
    ("suffix_mismatch", made(name="汇总.pdf"), facts()),
    ("suffix_mismatch", made(name="pptx"), facts()),
    ("kind_unwanted", made(), facts(contract=contract(file_kinds=("docx", "email")))),
    ("language_wrong", made(), facts(contract=contract(language="en"))),
    ("field_missing", made(), facts(contract=contract(required_fields=("金额",)))),
    ("report_missing", made(quality_report=None), facts()),
    ("source_not_covered", made(), facts(contract=contract(attachments=(SOURCE, "b")))),
    ("coverage_unknown", made(), facts(records=None)),
    ("coverage_unknown", made(), facts(records=())),
    ("truncated", made(), facts(cut=True)),
    ("content_differs", made(), facts(outline={})),
]


@pytest.mark.parametrize(("code", "subject", "known"), BAD)
def test_each_fault_has_its_code(code: str, subject: Any, known: Any) -> None:
    judged = judge(subject, known)
    assert set(judged.codes) == {code}
    assert all(one.fix and one.detail for one in judged.violations)
    assert judged.outcome is GateOutcome.FAILED


def test_a_record_without_a_row_is_named() -> None:
    more = records((("甲", "2026-01-01", "乙"),) * 5)
    judged = judge(made(), facts(records=more.records))
    assert judged.codes == ("coverage_incomplete",)
    assert "2 of 5" in judged.violations[0].detail
    assert "Sheet1!5" in judged.violations[0].detail
    assert not proofs(judged, contract())["source_coverage_complete"]
    assert judge(made(), facts(records=more.records, contract=contract(full_coverage=False))).passed


def test_what_became_no_record_is_not_covered_either() -> None:
    judged = judge(made(), facts(left_out=("p7",)))
    assert judged.codes == ("coverage_incomplete",)
    assert "1 of 4" in judged.violations[0].detail
    assert judge(made(), facts(left_out=("p7",), contract=contract(full_coverage=False))).passed


def test_what_could_act_when_opened_is_found() -> None:
    for part in (
        "ppt/vbaProject.bin",
        "ppt/embeddings/oleObject1.bin",
        "ppt/externalLinks/externalLink1.xml",
    ):
        seen = with_part(part, b"<x/>")
        judged = judge(made(sha256=seen["sha256"]), facts(file=seen["file"]))
        assert judged.codes == ("active_content",), part
    link = b'<Relationships><Relationship TargetMode="External" Target="https://evil.test/"/></Relationships>'
    seen = with_part("ppt/slides/_rels/other.xml.rels", link)
    assert judge(made(sha256=seen["sha256"]), facts(file=seen["file"])).codes == ("active_content",)


def test_documents_and_workbooks_are_judged_the_same() -> None:
    wanted = contract(file_kinds=("docx", "xlsx"), pictures=True)
    for kind, outline, write in (
        ("docx", document_from_records(records(), wanted, "zh"), write_document),
        ("xlsx", workbook_from_records(records(), wanted, "zh"), write_workbook),
    ):
        data, report = write(outline, AT)  # type: ignore[operator]
        seen = looked(data, f"a.{kind}")
        told = {"name": f"a.{kind}", "sha256": seen.sha256, "quality_report": report.model_dump(mode="json")}
        known = facts(contract=wanted, kind=kind, outline=arguments_of(outline), file=seen)
        assert judge(told, known).violations == ()
        fewer = arguments_of(outline)
        tables = [one["table"] for one in fewer.get("sections", fewer.get("sheets", ())) if "table" in one]
        tables[0]["rows"][0]["cells"][2] = "别处"
        assert "content_differs" in judge(told, known.model_copy(update={"outline": fewer})).codes
        assert "suffix_mismatch" in judge({**told, "name": "a.pptx"}, known).codes


def test_an_empty_contract_still_wants_a_true_file() -> None:
    free = facts(contract=TaskContract(), records=None)
    assert judge(made(), free).passed
    assert judge(None, free).codes == ("artifact_missing",)


def test_a_gate_that_did_not_judge_proves_nothing() -> None:
    wanted = contract()
    for result in (not_judged(GATE, "no time"), not_judged("another-gate", "x")):
        assert set(proofs(result, wanted).values()) == {False}


def test_a_stored_judgement_is_replayed_from_its_json() -> None:
    known = facts()
    again = ArtifactFacts.from_json(json.loads(json.dumps(known.to_json())))
    assert again == known
    told = made(name="../x.pptx")
    assert judge(json.loads(json.dumps(told)), again) == judge(told, known)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "  ",
        "a/b.pptx",
        "..\\b.pptx",
        ".hidden.pptx",
        "a\r\nSet-Cookie: x.pptx",
        "con.pptx",
        "LPT1",
        "a:b.pptx",
        "x" * 256,
        "名" * 86,
        "a\u202eb.pptx",
        "a\u200bb.pptx",
        "a\ud800.pptx",
        "a..b.pptx",
        "a.pptx ",
        "~a.pptx",
    ],
)
def test_names_that_lead_elsewhere_or_hide(name: str) -> None:
    assert unsafe(name)


@pytest.mark.parametrize(
    "name", ["报告-三月.pptx", "Q3 report (2).pptx", "console.pptx", "名" * 80 + ".pptx"]
)
def test_names_that_people_give(name: str) -> None:
    assert unsafe(name) == ""


def test_every_code_of_the_table_has_a_bad_example() -> None:
    said = artifact.__doc__ or ""
    rows = [line.split("|")[1] for line in said.splitlines() if line.startswith("| `")]
    named = {part for row in rows for part in row.split("`")}
    shown = {code for code, *_ in BAD} | {code for *_, codes in BEHIND for code in codes}
    shown |= {"coverage_incomplete", "active_content", "artifact_empty", "page_count"}
    assert {one.strip(" ,") for one in named} - {""} == shown == set(artifact.CODES)


def test_a_file_without_a_word_is_empty() -> None:
    seen = deck()[2].model_copy(update={"characters": 0})
    assert "artifact_empty" in judge(made(), facts(file=seen)).codes


def test_a_table_with_the_columns_of_a_wide_ones_part_is_no_difference() -> None:
    """A wide table is cut into groups of columns; a second table may have just those of one group."""
    columns = ["部门", *(f"指标{number}" for number in range(1, 15))]
    rows = [{"cells": [name, *("7" * 14)]} for name in ("销售", "研发")]
    wide = {"title": "全部", "kind": "table", "table": {"columns": columns, "rows": rows}}
    outline = {"title": "月度指标", "language": "zh", "slides": [wide]}
    _, _, seen = _made_of(outline)
    part = list(seen.tables[1].columns)
    outline["slides"] = [wide, {**wide, "table": {"columns": part, "rows": [{"cells": ["8"] * len(part)}]}}]
    subject, contract_, seen = _made_of(outline)
    assert len(seen.tables) == 2, "one of them holds both"
    known = ArtifactFacts(contract=contract_, kind="pptx", outline=outline, file=seen)
    assert judge(subject, known).codes == ()
    other = {
        **outline,
        "slides": [wide, {**wide, "table": {"columns": part, "rows": [{"cells": ["9"] * len(part)}]}}],
    }
    changed = ArtifactFacts(contract=contract_, kind="pptx", outline=other, file=seen)
    assert "content_differs" in judge(subject, changed).codes


def _made_of(outline: dict[str, Any]) -> tuple[dict[str, Any], TaskContract, Inspection]:
    data, report = write_presentation(Outline.model_validate(outline), AT)
    seen = looked(data)
    subject = {"artifact_id": "a", "name": NAME, "sha256": seen.sha256}
    return (
        {**subject, "quality_report": report.model_dump(mode="json")},
        TaskContract(file_kinds=("pptx",)),
        seen,
    )

"""`总结这份文档`: what a document holds, counted and quoted; any other question stays one."""

import pytest
from fencepost_documents.overview import asks_overview, overview
from fencepost_documents.read import read_document

from tests.documents.made import hostile, packages, texts


@pytest.mark.parametrize(
    "question",
    [
        "what is in the file?", "附件里有什么",
        "总结这份文档", "请帮我概括一下附件的主要内容", "这份文件讲了什么？", "文档里说了什么", "提炼要点",
        "Summarize the attached PDF", "please sum up this document", "TL;DR", "What is this document about?",
        "give me an overview of the files",
    ],
)  # fmt: skip
def test_documents_themselves_are_asked_for(question: str) -> None:
    assert asks_overview(question)


@pytest.mark.parametrize(
    "question",
    [
        "年度总结大会什么时候开？", "活动217在哪里举办？", "总结会的地点", "文档里说了什么时间开会",
        "合同里违约金的要点", "How much is the rent?", "Summarize the termination clause",
        "What does the document say about rent?",
    ],
)  # fmt: skip
def test_something_in_them_is_asked_for(question: str) -> None:
    assert not asks_overview(question)


def test_a_table_is_told_by_its_records_fields_days_and_first_rows() -> None:
    found = overview([read_document(texts.ledger("gb18030"), "账.csv", artifact_id="a1")], language="zh")
    assert found.found
    first, *quoted = found.text.split("\n")
    assert first == "账.csv：csv，4 个单元，3 条记录，字段：时间、金额、备注，日期：2026-03-01 至 2026-03-03"
    assert [one.locator for one in found.evidence] == ["line2", "line3", "line5"]
    assert quoted[0] == "- “2026-03-01 | 128.50 | 打车”（line2）"


def test_headings_are_quoted_with_their_places_and_several_documents_told_apart() -> None:
    pages = read_document(hostile.thirty_pages(), "30.pdf", artifact_id="p")
    word = read_document(packages.plain_docx(), "plan.docx", artifact_id="w")
    found = overview([pages, word])
    assert [(one.artifact_id, one.locator) for one in found.evidence][:2] == [("p", "p1:¶1"), ("p", "p2:¶1")]
    assert "30.pdf: pdf, 120 units, 30 records" in found.text and "plan.docx: docx" in found.text
    for one in found.evidence:
        source = pages if one.artifact_id == "p" else word
        assert one.quote in {unit.text for unit in source.units}


def test_a_document_without_text_has_no_overview_to_find() -> None:
    assert not overview([read_document(b"\n\n", "a.txt")]).found

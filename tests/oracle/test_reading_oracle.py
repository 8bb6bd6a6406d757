"""Documents printed by LibreOffice are read back: every row of their tables, wrapped and over page breaks."""

import os
from collections.abc import Iterator
from pathlib import Path

import docx
import pytest
from fencepost_documents.ir import SourceDocument
from fencepost_documents.read import read_document
from fencepost_documents.records import extract_records

from tests.documents.made import packages
from tests.support import office

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        bool(office.missing()) and "CI" not in os.environ,
        reason=f"needs {', '.join(office.missing())}; see .ci/run for the packages",
    ),
]
TASK = "优化数据库查询并补充测试用例"
NOTES = ("", "需要评审", "涉及多个部门，需要提前沟通协调资源安排")
TASKS = [
    (
        str(n),
        f"任务{n}：{TASK[: 4 + n % 11]}",
        ("张三", "李四", "王五")[n % 3],
        f"2026-03-{n:02d}",
        NOTES[n % 3],
    )
    for n in range(1, 29)
]


def weekly() -> bytes:
    """Prose, lists, and a bordered table whose cells wrap and which a page breaks."""
    made = docx.Document()
    made.add_heading("项目周报", 0)
    made.add_paragraph("本周完成了接口联调、性能测试与文档整理三项工作，" * 3)
    for text in ("完成接口联调", "性能测试：发现 2 处瓶颈"):
        made.add_paragraph(text, style="List Bullet")
    packages.word_table(
        made, [("序号", "任务名称", "负责人", "截止日期", "备注"), *TASKS]
    ).style = "Table Grid"
    made.add_paragraph("Next week we will continue with the second phase of the migration.")
    return packages.saved(made)


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, SourceDocument]]:
    files = {
        "rows.xlsx": packages.many_rows(),
        "weekly.docx": weekly(),
        "events.docx": packages.plain_docx(),
        "deck.pptx": packages.tabled_pptx(),
    }
    pdfs: dict[str, Path] = office.to_pdf(files, tmp_path_factory.mktemp("printed"))
    yield {name: read_document(path.read_bytes(), path.name) for name, path in pdfs.items()}


def test_three_hundred_rows_without_lines_around_them(printed: dict[str, SourceDocument]) -> None:
    """Numbers set to the right stand closer to the next column than words of a sentence."""
    found = extract_records(printed["rows.xlsx"])
    assert len(found.records) == 300 and found.coverage.ratio == 1.0
    expected = extract_records(read_document(packages.many_rows(), "rows.xlsx"))
    assert [one.fields for one in found.records] == [one.fields for one in expected.records]
    pages = {one.source_locator.partition(":")[0] for one in found.records}
    assert len(pages) > 3


def test_wrapped_cells_and_a_row_that_a_page_breaks(printed: dict[str, SourceDocument]) -> None:
    rows = [one for one in extract_records(printed["weekly.docx"]).records if "number" in one.fields]
    assert len({one.source_locator.partition(":")[0] for one in rows}) == 2
    told = [
        tuple(one.fields.get(name, "") for name in ("number", "name", "person", "end_time", "note"))
        for one in rows
    ]
    assert told == TASKS


def test_prose_lists_and_headings_keep_apart(printed: dict[str, SourceDocument]) -> None:
    units = printed["weekly.docx"].units
    assert (units[0].kind, units[0].text) == ("heading", "项目周报")
    items = [unit.text for unit in units if unit.kind == "list_item"]
    assert items == ["完成接口联调", "性能测试：发现2处瓶颈"]
    assert units[1].text == "本周完成了接口联调、性能测试与文档整理三项工作，" * 3
    assert units[-1].text == "Next week we will continue with the second phase of the migration."


@pytest.mark.parametrize("name", ["events.docx", "deck.pptx"])
def test_a_bordered_table_of_a_page_and_of_a_slide(printed: dict[str, SourceDocument], name: str) -> None:
    rows = [one for one in extract_records(printed[name]).records if "place" in one.fields]
    assert [dict(one.fields) for one in rows] == [
        {"name": "开工会", "time": "2026-03-05", "place": "上海", "amount": "1200"},
        {"name": "复盘会", "time": "2026-04-01", "place": "北京", "amount": "800.50"},
    ]

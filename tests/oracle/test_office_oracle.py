"""Produced files as LibreOffice shows them: they open, say what was asked, each word in its own place."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.samples import ZH_RECORDS, samples, zh_records
from tests.support import office

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.timeout(300),  # three starts of LibreOffice, on a machine that does other things too
    pytest.mark.skipif(
        bool(office.missing()) and "CI" not in os.environ,
        reason=f"needs {', '.join(office.missing())}; see .ci/run for the packages",
    ),
]
NAMES = (
    "records.pptx",
    "wide.pptx",
    "charts.pptx",
    "hostile.pptx",
    "records.docx",
    "letter.docx",
    "records.xlsx",
    "book.xlsx",
)


class Opened:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: dict[str, tuple[bytes, Any]] = samples()
        self.pdfs = office.to_pdf({name: data for name, (data, _) in self.files.items()}, folder)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    yield Opened(tmp_path_factory.mktemp("office"))


def squeezed(pdf: Path) -> str:
    return "".join(office.text_of(pdf).split())


def test_there_is_a_page_for_each_slide(opened: Opened) -> None:
    assert set(opened.files) == set(NAMES)
    for name, (_, report) in opened.files.items():
        if name.endswith("pptx"):
            assert len(office.pages_of(opened.pdfs[name])) == report.pages


@pytest.mark.parametrize("name", NAMES)
def test_no_word_is_outside_its_page_or_over_another(opened: Opened, name: str) -> None:
    for number, page in enumerate(office.pages_of(opened.pdfs[name]), 1):
        assert page.words, f"page {number} has no words"
        assert page.outside() == [], f"page {number}"
        assert page.overlapping() == [], f"page {number}"


@pytest.mark.parametrize("name", NAMES)
def test_no_page_is_empty_and_every_font_is_there(opened: Opened, name: str) -> None:
    pdf = opened.pdfs[name]
    assert office.blank_pages(pdf, opened.folder) == []
    fonts = office.fonts_of(pdf)
    assert fonts and all(fonts.values())
    if name.startswith(("records", "charts")):
        assert any("CJK" in font for font in fonts), "Chinese is drawn by a Chinese font"


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("hostile")])
def test_no_glyph_is_missing(opened: Opened, name: str) -> None:
    assert "\ufffd" not in office.text_of(opened.pdfs[name])


@pytest.mark.parametrize("name", ["records.pptx", "records.docx", "records.xlsx"])
def test_every_record_is_on_a_page(opened: Opened, name: str) -> None:
    told = "".join(word.text for page in office.pages_of(opened.pdfs[name]) for word in page.words)
    for at in range(ZH_RECORDS):
        assert f"第{at + 1}届" in told, at
    assert told.count("线上") >= ZH_RECORDS // 3


def test_the_header_of_a_long_table_stands_on_each_of_its_pages(opened: Opened) -> None:
    for name in ("records.pptx", "records.docx", "records.xlsx"):
        pages = ["".join(word.text for word in page.words) for page in office.pages_of(opened.pdfs[name])]
        with_rows = [page for page in pages if page.count("届全国") >= 2]
        assert len(with_rows) >= 5
        assert all("名称" in page and "时间" in page and "地点" in page for page in with_rows)


def test_a_cell_of_two_pages_is_whole(opened: Opened) -> None:
    told = squeezed(opened.pdfs["wide.pptx"])
    assert told.count("Loremipsum") + told.count("Lorem\nipsum") >= 90
    assert "(cont.)" in told


def test_fi6_the_hostile_deck_opens_with_a_readable_title(opened: Opened) -> None:
    first = office.pages_of(opened.pdfs["hostile.pptx"])[0]
    assert "".join(word.text for word in first.words).startswith("三月�报�告�")


def test_formulas_of_a_source_are_shown_not_computed(tmp_path: Path) -> None:
    from fencepost_documents.office.outline import Row, Sheet, Table, WorkbookOutline
    from fencepost_documents.office.xlsx_writer import write_workbook

    from tests.unit.documents.office.outlines import AT

    table = Table(
        columns=("甲",), rows=tuple(Row(cells=(text,)) for text in ("=1+41", "@SUM(1)", "-2+3", "未"))
    )
    book = WorkbookOutline(title="x", language="zh", sheets=(Sheet(name="一", table=table),))
    pdf = office.to_pdf({"formulas.xlsx": write_workbook(book, AT)[0]}, tmp_path)["formulas.xlsx"]
    told = squeezed(pdf)
    assert "=1+41" in told
    assert "42" not in told


def test_the_oracle_itself_finds_what_is_wrong() -> None:
    word = office.Word("a", 10, 10, 20, 20)
    page = office.Laid(100, 100, (word, office.Word("b", 15, 12, 25, 22), office.Word("c", 95, 10, 120, 20)))
    assert page.overlapping() == [("a", "b")]
    assert [one.text for one in page.outside()] == ["c"]
    below = office.Word("d", 10, 18, 20, 28)
    assert office.Laid(100, 100, (word, below)).overlapping() == []


def test_there_are_as_many_records_as_are_looked_for() -> None:
    assert len(zh_records().records) == ZH_RECORDS

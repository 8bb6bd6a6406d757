"""What is in the files: fonts of both scripts, notes, native charts, text as text, the same again (FI-6)."""

import warnings
from datetime import UTC, datetime
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import pytest
from docx import Document
from fencepost_documents.office.clean import clean, cleaned
from fencepost_documents.office.docx_writer import write_document
from fencepost_documents.office.outline import (
    Chart,
    DocumentOutline,
    Outline,
    Row,
    Section,
    Series,
    Sheet,
    Slide,
    Table,
    WorkbookOutline,
)
from fencepost_documents.office.pptx_writer import write_presentation
from fencepost_documents.office.xlsx_writer import sheet_names, write_workbook
from lxml import etree
from openpyxl import load_workbook
from pptx import Presentation

from tests.unit.documents.office.outlines import AT, arguments

HOSTILE = "三月\u000b报\u000c告\u0000 \uffff完 \ud800 成\u202e"
SHOWN = "三月�报�告� �完 � 成�"
CHART = Chart(
    kind="column",
    categories=("一月", "二月"),
    series=(Series(name="数量", values=(3.0, None)), Series(name="金额", values=(1.5, 2.5))),
    title="每月",
)
TABLE = Table(columns=("名称", HOSTILE), rows=(Row(cells=("甲", HOSTILE), source_locator="p3:¶2"),))
A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"


def parts(data: bytes) -> dict[str, bytes]:
    with ZipFile(BytesIO(data)) as package:
        return {name: package.read(name) for name in package.namelist()}


def hostile_deck() -> Outline:
    slides = (
        Slide(title=HOSTILE, kind="title", bullets=(HOSTILE,)),
        Slide(title=HOSTILE, kind="bullets", bullets=(HOSTILE,), notes=HOSTILE),
        Slide(title=HOSTILE, kind="table", table=TABLE),
        Slide(title=HOSTILE, kind="chart", chart=CHART.model_copy(update={"title": HOSTILE})),
    )
    return Outline(title=HOSTILE, language="zh", slides=slides)


def test_fi6_control_characters_are_replaced_visibly_in_a_deck() -> None:
    data, report = write_presentation(hostile_deck(), AT)
    deck = Presentation(BytesIO(data))
    for slide in deck.slides:
        assert slide.shapes.title.text_frame.text == SHOWN
    assert deck.slides[1].shapes.placeholders[1].text_frame.text == SHOWN
    assert deck.slides[1].notes_slide.notes_text_frame.text == SHOWN
    table = next(shape.table for shape in deck.slides[2].shapes if shape.has_table)
    assert [cell.text for cell in table.rows[1].cells] == ["甲", SHOWN]
    assert deck.core_properties.title == SHOWN
    assert report.replaced == 6 * 11
    assert report.fields == ("名称", SHOWN)


def test_fi6_in_documents_and_workbooks_too() -> None:
    document = DocumentOutline(
        title=HOSTILE, language="zh",
        sections=(Section(title=HOSTILE, paragraphs=(HOSTILE,), bullets=(HOSTILE,), table=TABLE),),
    )  # fmt: skip
    opened = Document(BytesIO(write_document(document, AT)[0]))
    assert {one.text for one in opened.paragraphs if one.text} == {SHOWN}
    assert opened.tables[0].cell(1, 1).text == SHOWN
    book = WorkbookOutline(
        title=HOSTILE, language="zh", sheets=(Sheet(name=HOSTILE, table=TABLE, chart=CHART),)
    )
    sheet = load_workbook(BytesIO(write_workbook(book, AT)[0])).worksheets[0]
    assert (sheet["B1"].value, sheet["B2"].value, sheet.title) == (SHOWN, SHOWN, SHOWN)


def test_every_part_of_a_hostile_deck_is_well_formed() -> None:
    for name, data in parts(write_presentation(hostile_deck(), AT)[0]).items():
        if name.endswith((".xml", ".rels")):
            etree.fromstring(data)


@pytest.mark.parametrize("kind", ["pptx", "docx", "xlsx"])
def test_the_same_outline_and_time_give_the_same_bytes(kind: str) -> None:
    written = [write(kind) for _ in range(2)]
    assert written[0] == written[1]
    other = write(kind, datetime(2030, 1, 1, tzinfo=UTC))
    assert other != written[0]
    for name, data in parts(other).items():
        if name != "docProps/core.xml" and not name.endswith(".xlsx"):
            assert data == parts(written[0])[name], name


def write(kind: str, at: datetime = AT) -> bytes:
    if kind == "pptx":
        return write_presentation(Outline.model_validate(arguments()), at)[0]
    section = Section(title="一", table=TABLE, chart=CHART)
    if kind == "docx":
        return write_document(DocumentOutline(title="x", language="en", sections=(section,)), at)[0]
    sheet = Sheet(name="一", table=TABLE, chart=CHART)
    return write_workbook(WorkbookOutline(title="x", language="en", sheets=(sheet,)), at)[0]


def test_every_run_of_a_deck_names_a_font_for_both_scripts() -> None:
    for name, data in parts(write_presentation(Outline.model_validate(arguments()), AT)[0]).items():
        if not name.startswith(("ppt/slides/slide", "ppt/charts/chart")):
            continue
        root = etree.fromstring(data)
        properties = [run.find(f"{A}rPr") for run in root.iter(f"{A}r")] + list(root.iter(f"{A}defRPr"))
        assert properties, name
        for one in properties:
            assert one is not None, name
            faces = {child.tag: child.get("typeface") for child in one if child.get("typeface")}
            assert faces[f"{A}latin"] == "Arial", name
            assert faces[f"{A}ea"] == "Microsoft YaHei", name
            order = [
                child.tag for child in one if child.tag in (f"{A}solidFill", f"{A}latin", f"{A}ea", f"{A}cs")
            ]
            assert order == sorted(order, key=[f"{A}solidFill", f"{A}latin", f"{A}ea", f"{A}cs"].index)


def test_every_run_of_a_document_names_a_font_for_both_scripts() -> None:
    root = etree.fromstring(parts(write("docx"))["word/document.xml"])
    runs = [run for run in root.iter(f"{W}r") if run.find(f"{W}t") is not None]
    assert runs
    for run in runs:
        fonts = run.find(f"{W}rPr/{W}rFonts")
        assert fonts is not None
        assert (fonts.get(f"{W}ascii"), fonts.get(f"{W}eastAsia")) == ("Arial", "Microsoft YaHei")


def test_charts_are_native_with_their_numbers_in_the_file() -> None:
    deck = Presentation(BytesIO(write("pptx")))
    [chart] = [shape.chart for slide in deck.slides for shape in slide.shapes if shape.has_chart]
    assert list(chart.plots[0].categories) == ["北京", "上海", "深圳"]
    assert [list(one.values) for one in chart.plots[0].series] == [[1, 1, 1]]
    names = parts(write("docx"))
    assert {"word/charts/chart1.xml", "word/embeddings/chart1.xlsx"} <= set(names)
    book = load_workbook(BytesIO(write("xlsx")))
    assert [len(sheet._charts) for sheet in book.worksheets] == [0, 1]
    assert book.worksheets[1]["B2"].value == 3


def test_notes_hold_the_speakers_words_and_the_sources_of_the_rows() -> None:
    deck = Presentation(BytesIO(write("pptx")))
    notes = deck.slides[2].notes_slide.notes_text_frame.text
    assert notes == "TODO 讲解各项活动\n\n各行来源：\n1. Sheet1!2\n2. Sheet1!3\n3. Sheet1!4"
    assert not deck.slides[0].has_notes_slide


def test_titles_are_real_and_no_placeholder_is_left_empty() -> None:
    for slide in Presentation(BytesIO(write("pptx"))).slides:
        assert slide.shapes.title.text_frame.text
        assert all(shape.text_frame.text for shape in slide.placeholders if shape.has_text_frame)


FORMULAS = (
    "=1+1",
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    '=HYPERLINK("http://evil.test")',
)


def test_no_cell_of_a_workbook_computes() -> None:
    rows = tuple(Row(cells=(text, text)) for text in FORMULAS)
    book = WorkbookOutline(
        title="x", language="en", sheets=(Sheet(name="=1+1", table=Table(columns=("=A1", "b"), rows=rows)),)
    )
    data = write_workbook(book, AT)[0]
    for name, part in parts(data).items():
        if name.startswith("xl/worksheets/"):
            assert b"<f" not in part
    sheet = load_workbook(BytesIO(data)).worksheets[0]
    for at, text in enumerate(FORMULAS, 2):
        cell = sheet.cell(at, 1)
        assert (cell.value, cell.data_type, cell.quotePrefix) == (text, "s", True)
    assert sheet["A1"].data_type == "s"


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (("1,234.50", "2,000.00", ""), [1234.5, 2000, None]),
        (("3", "-14", "0"), [3, -14, 0]),
        (("007", "12", "3"), ["007", "12", "3"]),  # a code, not a number
        (("13800138000", "1"), [13800138000, 1]),
        (("123456789012345678", "1"), ["123456789012345678", "1"]),  # more digits than a number keeps
        (("1e5", "1"), ["1e5", "1"]),
        (("1,23", "4"), ["1,23", "4"]),
        (("未提供", "4"), ["未提供", "4"]),
    ],
)
def test_a_column_is_numbers_only_when_all_of_it_is(cells: Any, values: Any) -> None:
    table = Table(columns=("数",), rows=tuple(Row(cells=(cell,)) for cell in cells))
    book = WorkbookOutline(title="x", language="zh", sheets=(Sheet(name="一", table=table),))
    sheet = load_workbook(BytesIO(write_workbook(book, AT)[0])).worksheets[0]
    assert [sheet.cell(at, 1).value for at in range(2, 2 + len(cells))] == values


def test_sheet_names_are_what_excel_takes() -> None:
    wanted = ["a/b:c", "A B C", "'", "history", "名" * 40, "名" * 41, "", "[x]"]
    names = sheet_names(wanted)
    assert names[:4] == ["a b c", "A B C (2)", "Sheet3", "History 1"]
    assert len({name.casefold() for name in names}) == len(wanted)
    assert all(0 < len(name) <= 31 and not set(name) & set("[]:*?/\\") for name in names)


def test_columns_of_one_name_make_no_damaged_table() -> None:
    table = Table(columns=("a", "A", "", "a\nb"), rows=(Row(cells=("1", "2", "3", "4")),))
    book = WorkbookOutline(title="x", language="zh", sheets=(Sheet(name="一", table=table),))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sheet = load_workbook(BytesIO(write_workbook(book, AT)[0])).worksheets[0]
    assert [cell.value for cell in sheet[1]] == ["a", "A (2)", "#3", "a b"]
    assert [column.name for column in sheet.tables["Table1"].tableColumns] == ["a", "A (2)", "#3", "a b"]


def test_cleaning_keeps_what_is_text() -> None:
    kept = "中文 English é 😀 \t\n“x” \u200b"
    assert clean(kept) == kept
    assert clean("a\r\nb\rc\u2028d\x85e") == "a\nb\nc\nd\ne"
    assert cleaned({"a": ["\x00", 1, None, {"b": "\ud800"}]}) == {"a": ["�", 1, None, {"b": "�"}]}


ORDERS = {
    "tblPr": "tblStyle tblW jc tblInd tblBorders shd tblLayout tblCellMar tblLook",
    "tcPr": "tcW gridSpan vMerge tcBorders shd noWrap tcMar vAlign",
    "trPr": "cantSplit trHeight tblHeader jc",
    "rPr": "rStyle rFonts b bCs i iCs color spacing w kern position sz szCs highlight u vertAlign lang",
}


def test_properties_of_a_document_stand_in_the_order_that_word_wants() -> None:
    package = parts(write("docx"))
    for name in ("word/document.xml", "word/styles.xml"):
        root = etree.fromstring(package[name])
        for tag, order in ORDERS.items():
            known = [f"{W}{one}" for one in order.split()]
            for properties in root.iter(f"{W}{tag}"):
                found = [known.index(child.tag) for child in properties if child.tag in known]
                assert found == sorted(found), etree.tostring(properties)[:300]


def test_properties_of_a_deck_stand_in_the_order_that_powerpoint_wants() -> None:
    orders = {
        "pPr": "lnSpc spcBef spcAft buClr buSzPct buFont buNone buAutoNum buChar tabLst defRPr",
        "tcPr": "lnL lnR lnT lnB lnTlToBr lnBlToTr noFill solidFill",
    }
    for name, data in parts(write("pptx")).items():
        if not name.startswith("ppt/slides/slide"):
            continue
        for tag, order in orders.items():
            known = [f"{A}{one}" for one in order.split()]
            for properties in etree.fromstring(data).iter(f"{A}{tag}"):
                found = [known.index(child.tag) for child in properties if child.tag in known]
                assert found == sorted(found), etree.tostring(properties)[:300]

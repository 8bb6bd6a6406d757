"""Files of both languages as people would ask for them, and some as nobody should."""

from __future__ import annotations

from typing import Any, Final

from fencepost_documents.ir import Coverage, Record, RecordSet
from fencepost_documents.office.docx_writer import write_document
from fencepost_documents.office.from_records import (
    document_from_records,
    outline_from_records,
    workbook_from_records,
)
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
from fencepost_documents.office.xlsx_writer import write_workbook
from fencepost_domain.task_contract import TaskContract

from tests.unit.documents.office.outlines import AT

ZH_RECORDS: Final = 300
SOURCE: Final = "0190b000-0000-7000-8000-00000000aaaa"


def zh_records() -> RecordSet:
    cities = ("北京市海淀区中关村国家自主创新示范区展示中心 B 座 3 层", "上海市黄浦区外滩会议中心", "线上")
    found = tuple(
        Record(
            source_locator=f"Sheet1!{at + 2}",
            artifact_id=SOURCE,
            fields={
                "name": f"第{at + 1}届全国信息化建设与数据治理研讨会"
                + "（含分会场与同期展览）" * (at % 5 == 0),
                "time": f"2026-{at % 12 + 1:02d}-{at % 28 + 1:02d} 09:30",
                "place": cities[at % 3],
            },
        )
        for at in range(ZH_RECORDS)
    )
    whole = Coverage(units_total=ZH_RECORDS, units_used=ZH_RECORDS, ratio=1.0)
    return RecordSet(records=found, fields=("name", "time", "place"), coverage=whole)


def chart(kind: Any, names: tuple[str, ...] = ("一月", "二月", "三月", "四月")) -> Chart:
    series = [Series(name="线下活动", values=tuple(float(at + 3) for at in range(len(names))))]
    if kind != "pie":
        series.append(Series(name="线上活动", values=tuple(float(9 - at) for at in range(len(names)))))
    return Chart(kind=kind, categories=names, series=tuple(series), title="每月活动数量")


def wide_deck() -> Outline:
    """English, twelve columns, a cell of two pages, a title of three lines, many bullets."""
    columns = (
        "Name",
        "Date",
        "Place",
        "Organiser",
        "People",
        "Budget (EUR)",
        "Contact person",
        "E-mail",
        "Status",
        "Remarks",
        "Identifier",
        "Department",
    )
    rows = tuple(
        Row(
            cells=(
                f"Meeting number {at}",
                f"2026-03-{at:02d}",
                "Hamburg",
                "Directorate-General for Cooperation",
                "120",
                "1,234,567.50",
                "Maximilian Oberhauser-Lindqvist",
                "maximilian.oberhauser@example.org",
                "confirmed",
                "A long remark. " * 6,
                "ID-" + "0" * 40 + str(at),
                "Z",
            ),
            source_locator=f"p{at}:¶2",
        )
        for at in range(1, 20)
    )
    long_title = (
        "Regional meetings of the programme for data governance: everything that took place in 2026 " * 2
    )
    giant = Table(
        columns=("Topic", "Text"),
        rows=(
            Row(cells=("Long", "Lorem ipsum dolor sit amet, consectetur. " * 97)),
            Row(cells=("Short", "ok")),
        ),
    )
    slides = (
        Slide(title=long_title.strip(), kind="title", bullets=("Prepared from the attachments",)),
        Slide(title=long_title.strip(), kind="table", table=Table(columns=columns, rows=rows)),
        Slide(title="A giant cell", kind="table", bullets=("Two rows, one of them very long.",), table=giant),
        Slide(title="W" * 120, kind="bullets", bullets=tuple(f"Point {at} " + "W" * 90 for at in range(14))),
        Slide(title="Mixed 混排", kind="bullets", bullets=("English and 中文 in one line，" * 30, "short")),
        Slide(title="Bars", kind="chart", chart=chart("bar"), bullets=("Two kinds of events.",)),
    )
    return Outline(title="Regional meetings", language="en", slides=slides)


def charts_deck() -> Outline:
    kinds: tuple[Any, ...] = ("bar", "column", "line", "pie")
    slides = tuple(Slide(title=f"图表 {kind}", kind="chart", chart=chart(kind)) for kind in kinds)
    return Outline(title="图表", language="zh", slides=slides)


def hostile_deck() -> Outline:
    text = "三月\u000b报\u000c告\u0000 \uffff \ud800 成"
    slides = (Slide(title=text, kind="title"), Slide(title=text, kind="bullets", bullets=(text,)))
    return Outline(title=text, language="zh", slides=slides)


def samples() -> dict[str, tuple[bytes, Any]]:
    """Bytes and report of each file, by name."""
    wish = TaskContract(
        file_kinds=("pptx",),
        full_coverage=True,
        attachments=(SOURCE,),
        required_fields=("名称", "时间", "地点"),
        language="zh",
        tables=True,
        pictures=True,
    )
    records, names = zh_records(), {SOURCE: "2026 年活动清单.xlsx"}
    table = wide_deck().slides[1].table
    assert table is not None
    letter = DocumentOutline(
        title="Meetings of 2026",
        language="en",
        sections=(
            Section(title="All of them", level=2, paragraphs=("As attached.",), table=table),
            Section(title="By month", bullets=("One", "Two"), chart=chart("line")),
        ),
    )
    book = WorkbookOutline(
        title="Meetings", language="en", sheets=(Sheet(name="All", table=table, chart=chart("pie")),)
    )
    return {
        "records.pptx": write_presentation(outline_from_records(records, wish, "zh", names), AT),
        "wide.pptx": write_presentation(wide_deck(), AT),
        "charts.pptx": write_presentation(charts_deck(), AT),
        "hostile.pptx": write_presentation(hostile_deck(), AT),
        "records.docx": write_document(document_from_records(records, wish, "zh", names), AT),
        "letter.docx": write_document(letter, AT),
        "records.xlsx": write_workbook(workbook_from_records(records, wish, "zh", names), AT),
        "book.xlsx": write_workbook(book, AT),
    }

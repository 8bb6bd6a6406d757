"""Outlines straight from records, without a model: every record a row, in the order of the source.

Pure and deterministic, so that the offline model gives the same file for the same sources.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from fencepost_domain.task_contract import TaskContract

from fencepost_documents.fields import canonical, folded, shown, singular
from fencepost_documents.ir import Record, RecordSet

from .clean import clean_line
from .counting import chart_of, counted_en, overview
from .outline import (
    Chart,
    DocumentOutline,
    Language,
    Outline,
    Row,
    Section,
    Sheet,
    Slide,
    Table,
    WorkbookOutline,
)  # fmt: skip
from .totals import Totals, chart_of_totals, said, table_of_totals, totals_of
from .wish import Wish, usual_wish, wish_of
from .wording import MISSING, cell_text, pick, quoted

ROWS_MOST: Final = 5_000  # of one table
NAMES_SHOWN: Final = 3
Column = tuple[str, str]  # heading, field of the record
Names = Mapping[str, str]  # artifact id -> file name


@dataclass(frozen=True, slots=True)
class Words:
    """How the request puts it, and the documents: their headings by the field's name."""

    asked: str = ""
    headings: Mapping[str, str] = field(default_factory=dict)

    def wish(self, records: RecordSet) -> Wish | None:
        """What of these records is to be added up or drawn."""
        return wish_of(self.asked, records, self.headings)


@dataclass(frozen=True, slots=True)
class _Content:
    """What every kind of file says. points: for who reads nothing else; closing: of the sources."""

    head: str
    sources: tuple[str, ...]
    tables: Sequence[Table]
    points: tuple[str, ...]
    totals: Totals | None
    chart: Chart | None
    closing: tuple[str, ...]


def outline_from_records(
    records: RecordSet,
    contract: TaskContract,
    language: Language,
    names: Names | None = None,
    title: str = "",
    words: Words | None = None,
) -> Outline:
    """Cover, overview, all records as tables, a chart where pictures are asked for, and the sources."""
    content = _content(records, contract, language, names or {}, title, words or Words())
    count = len(records.records)
    counted = pick(language, f"共 {count} 条记录", counted_en(count, "record"))
    slides = [
        Slide(title=content.head, kind="title", bullets=(counted,)),
        Slide(title=pick(language, "概览", "Overview"), kind="bullets", bullets=content.points),
    ]
    listed = pick(language, "记录一览", "All records")
    slides += [Slide(title=listed, kind="table", table=table) for table in content.tables if table.rows]
    if content.chart:
        slides.append(Slide(title=_of_chart(content, language), kind="chart", chart=content.chart))
    slides.append(Slide(title=pick(language, "来源", "Sources"), kind="closing", bullets=content.closing))
    return Outline(title=content.head, language=language, slides=tuple(slides), sources=content.sources)


def document_from_records(
    records: RecordSet,
    contract: TaskContract,
    language: Language,
    names: Names | None = None,
    title: str = "",
    words: Words | None = None,
) -> DocumentOutline:
    """The same content as a document."""
    content = _content(records, contract, language, names or {}, title, words or Words())
    sections = [Section(title=pick(language, "概览", "Overview"), bullets=content.points)]
    listed = pick(language, "记录一览", "All records")
    sections += [Section(title=listed, table=table) for table in content.tables]
    if content.chart:
        sections.append(Section(title=_of_chart(content, language), chart=content.chart))
    sections.append(Section(title=pick(language, "来源", "Sources"), bullets=content.closing))
    return DocumentOutline(
        title=content.head, language=language, sections=tuple(sections), sources=content.sources
    )


def workbook_from_records(
    records: RecordSet,
    contract: TaskContract,
    language: Language,
    names: Names | None = None,
    title: str = "",
    words: Words | None = None,
) -> WorkbookOutline:
    """The same content as a workbook: a sheet of records, one of what was to be added up, and the chart."""
    content = _content(records, contract, language, names or {}, title, words or Words())
    listed = pick(language, "记录", "Records")
    sheets = [
        Sheet(
            name=listed if not at else f"{listed} {at + 1}", table=table, chart=None if at else content.chart
        )
        for at, table in enumerate(content.tables)
    ]
    if content.totals:
        sheets.append(Sheet(name=content.totals.title, table=table_of_totals(content.totals)))
    return WorkbookOutline(
        title=content.head, language=language, sheets=tuple(sheets), sources=content.sources
    )


def _content(
    records: RecordSet,
    contract: TaskContract,
    language: Language,
    names: Names,
    title: str,
    words: Words,
) -> _Content:
    columns = pick_columns(records, contract, language, words.headings)
    sources = _sources(records, contract)
    wish = words.wish(records)
    headings = named_fields(records, contract, language, words.headings)
    totals = totals_of(records, wish, language, headings) if wish else None
    chart = chart_of_totals(totals) if totals else _usual_chart(records, language, headings)
    points = [*overview(records, [heading for heading, _ in columns], language)]
    return _Content(
        head=title or default_title(records, contract, language, names),
        sources=sources,
        tables=tables_of_records(records, columns, language),
        points=(*points, *(said(totals) if totals else ())),
        totals=totals,
        chart=chart if contract.pictures else None,
        closing=tuple(_said_of_sources(records, sources, names, language)),
    )


def _usual_chart(records: RecordSet, language: Language, headings: Mapping[str, str]) -> Chart | None:
    """Where nobody said of what: how many records of what kind, else what they measure."""
    if chart := chart_of(records, language):
        return chart
    wish = usual_wish(records) or Wish(None, records.fields[0] if records.fields else "")
    totals = totals_of(records, wish, language, headings)
    return chart_of_totals(totals) if totals else None


def _of_chart(content: _Content, language: Language) -> str:
    return content.totals.title if content.totals else pick(language, "数量分布", "Distribution")


def pick_columns(
    records: RecordSet,
    contract: TaskContract,
    language: Language,
    headings: Mapping[str, str] | None = None,
) -> list[Column]:
    """The fields the user named, in their words; without any, all that the records have, in the documents'.

    headings: as the documents have them; one in another language gives way to the field's name in this.
    """
    if contract.required_fields:
        return [(one, _field_of(one, records.fields)) for one in contract.required_fields]
    own = {one: said for one, said in (headings or {}).items() if _stands_in(said, language)}
    named = [(own.get(one) or shown(one, language), one) for one in records.fields]
    if len({heading for heading, _ in named}) < len(
        named
    ):  # two fields under one heading say less than names
        named = [(shown(one, language), one) for one in records.fields]
    return named or [(pick(language, "内容", "Content"), "")]


def named_fields(
    records: RecordSet, contract: TaskContract, language: Language, headings: Mapping[str, str]
) -> dict[str, str]:
    """What the file calls each field: its column's heading, or that of the column which it would have."""
    every = pick_columns(records, TaskContract(), language, headings)
    columns = [*every, *pick_columns(records, contract, language, headings)]
    return {name: heading for heading, name in columns}


def _stands_in(heading: str, language: Language) -> bool:
    is_chinese = any("\u4e00" <= char <= "\u9fff" for char in heading)
    return is_chinese == (language == "zh")


def _field_of(asked: str, fields: Sequence[str]) -> str:
    """The record field that is meant: the same words, else the same canonical field."""
    same = [one for one in fields if singular(folded(one)) == singular(folded(asked))]
    known = canonical(asked)
    return same[0] if same else known or asked


def tables_of_records(records: RecordSet, columns: Sequence[Column], language: Language) -> list[Table]:
    """Every record as one row with its place; at least one table, also without records."""
    several = len({record.artifact_id for record in records.records}) > 1
    headings = tuple(heading for heading, _ in columns)
    whole = "end_time" not in {field for _, field in columns}
    rows = [
        Row(
            cells=tuple(_cell(record, field, language, whole=whole) for _, field in columns),
            source_locator=f"{record.artifact_id}#{record.source_locator}"
            if several
            else record.source_locator,
        )
        for record in records.records
    ]
    return [Table(columns=headings, rows=part) for part in _parts(rows)]


def _parts(rows: Sequence[Row]) -> list[tuple[Row, ...]]:
    return [tuple(rows[at : at + ROWS_MOST]) for at in range(0, max(len(rows), 1), ROWS_MOST)]


def _cell(record: Record, field: str, language: Language, *, whole: bool) -> str:
    """whole: the end of a time has no column of its own, so the time says both."""
    value = record.fields.get(field, "")
    end = record.fields.get("end_time", "")
    if field == "time" and whole and value and end:
        value = f"{value} {pick(language, '至', 'to')} {end}"
    return cell_text(value, language) if value else MISSING[language]


def _sources(records: RecordSet, contract: TaskContract) -> tuple[str, ...]:
    """What is attached, and what the records come from, each once."""
    return tuple(dict.fromkeys([*contract.attachments, *(record.artifact_id for record in records.records)]))


def default_title(records: RecordSet, contract: TaskContract, language: Language, names: Names) -> str:
    known = [name for one in _sources(records, contract) if (name := _stem(names.get(one, "")))]
    if not known:
        return pick(language, "附件内容汇总", "Summary of the attachments")
    joined = pick(language, "、", ", ").join(quoted(name, language) for name in known[:NAMES_SHOWN])
    more = pick(language, "等", " and more") if len(known) > NAMES_SHOWN else ""
    return pick(language, f"{joined}{more}内容汇总", f"Summary of {joined}{more}")


def _stem(name: str) -> str:
    return PurePosixPath(clean_line(name)).stem[:60]


def _said_of_sources(
    records: RecordSet, sources: Sequence[str], names: Names, language: Language
) -> list[str]:
    counts = {one: sum(1 for record in records.records if record.artifact_id == one) for one in sources}
    told = [
        pick(language, f"{quoted(_stem(names[one]), language)}：{count} 条",
             f"{quoted(_stem(names[one]), language)}: {counted_en(count, 'record')}")
        for one, count in counts.items() if _stem(names.get(one, ""))
    ]  # fmt: skip
    used, total = records.coverage.units_used, records.coverage.units_total
    covered = pick(language, f"来源覆盖：{used} / {total} 项", f"Sources covered: {used} of {total} items")
    return [*told, covered]

"""Outlines straight from records, without a model: every record a row, in the order of the source.

Pure and deterministic, so that the offline model gives the same file for the same sources.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

from fencepost_domain.task_contract import TaskContract

from fencepost_documents.fields import canonical, folded, shown
from fencepost_documents.ir import Record, RecordSet

from .clean import clean_line
from .counting import chart_of, overview
from .outline import (
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
from .wording import MISSING, cell_text, pick, quoted

ROWS_MOST: Final = 5_000  # of one table
NAMES_SHOWN: Final = 3
Column = tuple[str, str]  # heading, field of the record
Names = Mapping[str, str]  # artifact id -> file name


def outline_from_records(
    records: RecordSet,
    contract: TaskContract,
    language: Language,
    names: Names | None = None,
    title: str = "",
) -> Outline:
    """Cover, overview, all records as tables, a chart where pictures are asked for, and the sources."""
    sources, head = (
        _sources(records, contract),
        title or default_title(records, contract, language, names or {}),
    )
    columns = pick_columns(records, contract, language)
    slides = [
        Slide(title=head, kind="title", bullets=(pick(language, f"共 {len(records.records)} 条记录",
                                                      f"{len(records.records)} records"),)),
        Slide(title=pick(language, "概览", "Overview"), kind="bullets",
              bullets=tuple(overview(records, [heading for heading, _ in columns], language))),
    ]  # fmt: skip
    tables = tables_of_records(records, columns, language)
    listed = pick(language, "记录一览", "All records")
    slides += [Slide(title=listed, kind="table", table=table) for table in tables if table.rows]
    chart = chart_of(records, language) if contract.pictures else None
    if chart:
        slides.append(Slide(title=pick(language, "数量分布", "Distribution"), kind="chart", chart=chart))
    said = tuple(_said_of_sources(records, sources, names or {}, language))
    slides.append(Slide(title=pick(language, "来源", "Sources"), kind="closing", bullets=said))
    return Outline(title=head, language=language, slides=tuple(slides), sources=sources)


def document_from_records(
    records: RecordSet,
    contract: TaskContract,
    language: Language,
    names: Names | None = None,
    title: str = "",
) -> DocumentOutline:
    """The same content as a document."""
    sources, head = (
        _sources(records, contract),
        title or default_title(records, contract, language, names or {}),
    )
    columns = pick_columns(records, contract, language)
    points = tuple(overview(records, [heading for heading, _ in columns], language))
    sections = [Section(title=pick(language, "概览", "Overview"), bullets=points)]
    listed = pick(language, "记录一览", "All records")
    sections += [
        Section(title=listed, table=table) for table in tables_of_records(records, columns, language)
    ]
    chart = chart_of(records, language) if contract.pictures else None
    if chart:
        sections.append(Section(title=pick(language, "数量分布", "Distribution"), chart=chart))
    said = tuple(_said_of_sources(records, sources, names or {}, language))
    sections.append(Section(title=pick(language, "来源", "Sources"), bullets=said))
    return DocumentOutline(title=head, language=language, sections=tuple(sections), sources=sources)


def workbook_from_records(
    records: RecordSet,
    contract: TaskContract,
    language: Language,
    names: Names | None = None,
    title: str = "",
) -> WorkbookOutline:
    """The same content as a workbook: one sheet of records, with a chart where pictures are asked for."""
    head = title or default_title(records, contract, language, names or {})
    columns = pick_columns(records, contract, language)
    chart = chart_of(records, language) if contract.pictures else None
    listed = pick(language, "记录", "Records")
    sheets = [
        Sheet(name=listed if not at else f"{listed} {at + 1}", table=table, chart=None if at else chart)
        for at, table in enumerate(tables_of_records(records, columns, language))
    ]
    return WorkbookOutline(
        title=head, language=language, sheets=tuple(sheets), sources=_sources(records, contract)
    )


def pick_columns(records: RecordSet, contract: TaskContract, language: Language) -> list[Column]:
    """The fields the user named, in their words; without any, all that the records have."""
    if contract.required_fields:
        return [(field, _field_of(field, records.fields)) for field in contract.required_fields]
    return [(shown(field, language), field) for field in records.fields] or [
        (pick(language, "内容", "Content"), "")
    ]


def _field_of(asked: str, fields: Sequence[str]) -> str:
    """The record field that is meant: the same words, else the same canonical field."""
    same = [one for one in fields if folded(one) == folded(asked)]
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
    said = [
        pick(language, f"{quoted(_stem(names[one]), language)}：{count} 条",
             f"{quoted(_stem(names[one]), language)}: {count} records")
        for one, count in counts.items() if _stem(names.get(one, ""))
    ]  # fmt: skip
    used, total = records.coverage.units_used, records.coverage.units_total
    covered = pick(language, f"来源覆盖：{used} / {total} 项", f"Sources covered: {used} of {total} items")
    return [*said, covered]

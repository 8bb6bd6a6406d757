"""Whether a file holds what was asked of it, and all of the sources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from fencepost_domain.gates import Violation
from fencepost_domain.task_contract import TaskContract

from fencepost_documents.ir import Record
from fencepost_documents.office.clean import clean_line
from fencepost_documents.office.inspection import Inspection, SeenTable, digest_of, expected_tables
from fencepost_documents.office.outline import AnyOutline, charts_of, tables_of

from .facts import Places, SourceFacts
from .fields import meets
from .pages import judge_pages

_NAMED: Final = 20  # locators that a detail lists


def judge_content(outline: AnyOutline, file: Inspection, contract: TaskContract) -> Iterator[Violation]:
    if not file.characters:
        yield Violation("artifact_empty", "", "the file has no text", "make the file anew")
    for page in file.blank:
        yield Violation("blank_page", "", f"page {page} is empty", "leave it out or fill it")
    if file.formulas or file.active:
        said = ", ".join([*([f"{file.formulas} formulas"] if file.formulas else []), *file.active[:5]])
        yield Violation("active_content", "", said, "make the file without anything that acts when opened")
    if contract.language and contract.language.partition("-")[0].casefold() != outline.language:
        said = f"made in {outline.language}, asked is {contract.language}"
        yield Violation("language_wrong", "", said, f"write it in {contract.language}")
    if contract.tables and not any(table.rows for table in file.tables):
        yield Violation("table_missing", "", "the file has no table with rows", "make it with real tables")
    if (contract.pictures and not file.charts) or file.charts < len(charts_of(outline)):
        said = f"the file has {file.charts} charts"
        yield Violation("chart_missing", "", said, "make it with a chart")
    if contract.pages is not None and file.kind == "pptx":  # others have pages when they are printed
        said = "the presentation has {found} pages, asked for were {asked}"
        yield from judge_pages(file.pages, contract.pages, "", said)
    yield from _fields(file, contract)
    yield from _same(outline, file)


def _fields(file: Inspection, contract: TaskContract) -> Iterator[Violation]:
    named = {column for table in file.tables if table.rows for column in table.columns}
    for field in contract.required_fields:
        if not any(meets(column, field) for column in named):
            said = f"no table of the file has {field!r}"
            yield Violation("field_missing", "", said, f"give it a column {field!r}")


def _same(outline: AnyOutline, file: Inspection) -> Iterator[Violation]:
    """Every table asked for, cell by cell. The file may part it by columns and add a source column."""
    for want in expected_tables(outline):
        parts = [have for have in file.tables if set(have.columns) & set(want.columns)]
        for at, column in enumerate(want.columns):
            if not any(_holds(have, want, column, at) or _joins(have, outline, column) for have in parts):
                said = f"column {column!r} of {want.rows} rows isn't in the file as it was asked for"
                yield Violation("content_differs", "", said, "make the file anew from the arguments")


def _holds(have: SeenTable, want: SeenTable, column: str, at: int) -> bool:
    if column not in have.columns or have.rows != want.rows:
        return False
    return have.digests[have.columns.index(column)] == want.digests[at]


def _joins(have: SeenTable, outline: AnyOutline, column: str) -> bool:
    """Several tables under one header in the file: a part of a wide one, one that has just these columns."""
    if column not in have.columns:
        return False
    tables = [(table, [clean_line(name) for name in table.columns]) for table in tables_of(outline)]
    parts = [(table, names) for table, names in tables if set(names) >= set(have.columns)]
    if len(parts) < 2 or have.rows != sum(len(table.rows) for table, _ in parts):
        return False
    at = [names.index(column) for _, names in parts]
    cells = (row.cells[place] for place, (table, _) in zip(at, parts, strict=True) for row in table.rows)
    return have.digests[have.columns.index(column)] == digest_of(cells)


def judge_coverage(
    outline: AnyOutline,
    contract: TaskContract,
    records: Sequence[Record] | None,
    left_out: Sequence[str],
    *,
    cut: bool,
) -> Iterator[Violation]:
    for artifact in contract.attachments:
        if artifact not in outline.sources:
            said = f"{artifact} is attached and not a source of the file"
            yield Violation("source_not_covered", "", said, "make it from all that was attached")
    if not (contract.full_coverage and contract.attachments):
        return
    if cut:
        said = "not all of the sources was read"
        yield Violation("truncated", "", said, "read the rest, or say that the file is not complete")
    if records is None or not records:
        said = "all was asked for, and no record is known"
        yield Violation("coverage_unknown", "", said, "extract the records first")
        return
    lost = [*_lost(outline, records), *left_out]
    if lost:
        named = ", ".join(lost[:_NAMED]) + (", ..." if len(lost) > _NAMED else "")
        total = len(records) + len(left_out)
        ratio = 1 - len(lost) / total
        said = f"coverage is {ratio:.3f}: {len(lost)} of {total} records aren't in it ({named})"
        yield Violation("coverage_incomplete", "", said, "give each record its row")


def _lost(outline: AnyOutline, records: Sequence[Record]) -> list[str]:
    known: dict[str, set[str]] = {}
    for record in records:
        known.setdefault(record.artifact_id, set()).add(record.source_locator)
    places = Places(
        tuple(SourceFacts(artifact_id=one, locators=frozenset(each)) for one, each in known.items())
    )
    cited = set()
    for table in tables_of(outline):
        for row in table.rows:
            found = places.found(row.source_locator) if row.source_locator else []
            cited.update(found if len(found) == 1 else [])
    return [one.source_locator for one in records if (one.artifact_id, one.source_locator) not in cited]

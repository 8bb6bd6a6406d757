"""Whether an outline has what was asked for, and agrees with itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from fencepost_domain.gates import Violation

from fencepost_documents.office.clean import clean_line
from fencepost_documents.office.outline import Chart, Outline, Slide, Table
from fencepost_documents.office.page_count import page_count

from .facts import PresentationFacts
from .fields import meets, normal
from .pages import judge_pages

Placed = tuple[str, Table]  # a table and the JSON pointer to it
_SEPARATORS: Final = re.compile(r"([,，、;；|/／])\s*\1")
_LINK: Final = re.compile(r"\w+://\S+")


def judge_shape(outline: Outline, facts: PresentationFacts) -> Iterator[Violation]:
    yield from _asked(outline, facts)
    for index, slide in enumerate(outline.slides):
        yield from _slide(f"/slides/{index}", slide)
    for pointer, table in tables(outline):
        yield from judge_columns(pointer, table)
        yield from _rows(pointer, table)


def tables(outline: Outline) -> list[Placed]:
    """All tables with their pointers."""
    return [
        (f"/slides/{at}/table", one.table) for at, one in enumerate(outline.slides) if one.table is not None
    ]


def _asked(outline: Outline, facts: PresentationFacts) -> Iterator[Violation]:
    contract, found = facts.contract, tables(outline)
    if contract.language and contract.language.partition("-")[0].casefold() != outline.language:
        said = f"the outline is in {outline.language}, asked is {contract.language}"
        yield Violation("language_wrong", "/language", said, f"write everything in {contract.language}")
    if contract.tables and not any(table.rows for _, table in found):
        yield Violation(
            "table_missing",
            "/slides",
            "no slide has a table with rows",
            "give the records as a slide's `table`",
        )
    if contract.pictures and not any(slide.chart for slide in outline.slides):
        yield Violation(
            "chart_missing", "/slides", "no slide has a chart", "add a slide of kind `chart` with real values"
        )
    yield from _fields(contract.required_fields, found)
    if contract.pages is not None:
        said = "this makes {found} pages, asked for were {asked}; a long table goes on on further pages"
        yield from judge_pages(page_count(outline), contract.pages, "/slides", said)


def _fields(required: Sequence[str], found: Sequence[Placed]) -> Iterator[Violation]:
    """The named fields stand side by side in one table: spread over several, no record is complete."""
    if not required:
        return
    lacking = [
        (pointer, [field for field in required if not any(meets(column, field) for column in table.columns)])
        for pointer, table in found
        if table.rows
    ]
    pointer, missing = min(lacking, key=lambda one: len(one[1]), default=("/slides", list(required)))
    for field in missing:
        yield Violation(
            "field_missing",
            f"{pointer}/columns" if found else pointer,
            f"no column for {field!r}, which the user named",
            f"add a column {field!r} with its value in every row",
        )


def _slide(pointer: str, slide: Slide) -> Iterator[Violation]:
    if not any(char.isalnum() for char in clean_line(slide.title)):
        yield Violation(
            "title_blank", f"{pointer}/title", "the title has no words", "say what the slide shows"
        )
    lacks = {
        "table": slide.table is None or not slide.table.rows,
        "chart": slide.chart is None,
        "bullets": not any(clean_line(one) for one in slide.bullets) and not slide.table and not slide.chart,
    }
    if lacks.get(slide.kind):
        yield Violation(
            "slide_without_content",
            f"{pointer}/{slide.kind}",
            f"a slide of kind {slide.kind} without any",
            "fill it, or leave the slide out",
        )
    for at, text in enumerate(slide.bullets):
        yield from _text(f"{pointer}/bullets/{at}", text)
    if slide.chart is not None:
        yield from judge_chart(f"{pointer}/chart", slide.chart)


def judge_chart(pointer: str, chart: Chart) -> Iterator[Violation]:
    for at, one in enumerate(chart.series):
        if len(one.values) != len(chart.categories):
            said = f"{len(one.values)} values for {len(chart.categories)} categories"
            fix = "one value for each category, null where there is none"
            yield Violation("chart_mismatch", f"{pointer}/series/{at}/values", said, fix)
        elif all(value is None for value in one.values):
            yield Violation(
                "chart_mismatch",
                f"{pointer}/series/{at}/values",
                "no value at all",
                "give values or leave it out",
            )
    if chart.kind == "pie" and (
        len(chart.series) > 1 or any((value or 0) < 0 for value in chart.series[0].values)
    ):
        said = "a pie shows one series of shares, none below zero"
        yield Violation("chart_mismatch", f"{pointer}/series", said, "use a column chart")


def judge_columns(pointer: str, table: Table) -> Iterator[Violation]:
    first: dict[str, int] = {}
    for at, name in enumerate(table.columns):
        key = normal(name)
        if not key:
            yield Violation(
                "cell_empty",
                f"{pointer}/columns/{at}",
                "a column without a name",
                "name what the column holds",
            )
        elif first.setdefault(key, at) != at:
            said = f"{name!r} is column {first[key]} already"
            yield Violation(
                "columns_repeated", f"{pointer}/columns/{at}", said, "leave one out or name it apart"
            )


def _rows(pointer: str, table: Table) -> Iterator[Violation]:
    for at, row in enumerate(table.rows):
        place = f"{pointer}/rows/{at}/cells"
        if len(row.cells) != len(table.columns):
            yield Violation(
                "cells_mismatch",
                place,
                f"{len(row.cells)} cells for {len(table.columns)} columns",
                "one cell for each column, in their order",
            )
        for column, cell in enumerate(row.cells):
            yield from _text(f"{place}/{column}", cell)


def _text(pointer: str, text: str) -> Iterator[Violation]:
    """Words, not marks: an empty cell, `——` and `北京、、上海` tell a reader nothing."""
    line = clean_line(text)
    fix = "write the value; where the source has none, say so (未提供, not given)"
    if not line:
        yield Violation("cell_empty", pointer, "nothing is written here", fix)
    elif not any(char.isalnum() for char in line):
        yield Violation("cell_punctuation", pointer, f"only marks: {line[:20]!r}", fix)
    elif _SEPARATORS.search(_LINK.sub(" ", line)):
        said = f"separators one after another: {line[:60]!r}"
        yield Violation("cell_separators", pointer, said, "leave the empty part out, or fill it")

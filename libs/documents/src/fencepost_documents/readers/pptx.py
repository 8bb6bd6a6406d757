"""Presentations by python-pptx: what each slide shows, its tables, charts and speaker notes."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Any, Final

from lxml.etree import XMLSyntaxError
from pptx import Presentation
from pptx.exc import PackageNotFoundError, PythonPptxError
from pptx.shapes.group import GroupShape

from fencepost_documents.draft import Draft, clean
from fencepost_documents.errors import DocumentRefused
from fencepost_documents.package import as_plain
from fencepost_documents.tables import Row, write_table

DIAGRAM: Final = "http://schemas.openxmlformats.org/drawingml/2006/diagram"
GROUPS_DEEP: Final = 20


def read(data: bytes, draft: Draft) -> None:
    try:
        slides = list(Presentation(io.BytesIO(as_plain(data))).slides)
    except (
        PackageNotFoundError, PythonPptxError, KeyError, ValueError, XMLSyntaxError, AttributeError,
        TypeError,
    ) as error:  # fmt: skip
        raise DocumentRefused("corrupt", f"not a whole presentation: {error}"[:300]) from error
    for number, slide in enumerate(slides, 1):
        if slide.element.get("show") in ("0", "false"):
            draft.problem("hidden_slide", f"slide{number}")
        _Slide(draft, number).read(slide)


class _Slide:
    def __init__(self, draft: Draft, number: int) -> None:
        self._draft, self._slide, self._number, self._pictures = draft, f"slide{number}", 0, 0

    def read(self, slide: Any) -> None:
        title = slide.shapes.title
        if title is not None:
            self._text(title.text_frame.text, "slide_title")
        for shape in _flat(slide.shapes):
            if title is None or shape.shape_id != title.shape_id:
                self._shape(shape)
        if not self._number and self._pictures:
            self._draft.problem("page_without_text", self._slide)
        if slide.has_notes_slide and (frame := slide.notes_slide.notes_text_frame) is not None:
            self._draft.unit(f"{self._slide}:note", "note", frame.text)

    def _text(self, text: str, kind: str, level: int | None = None) -> None:
        if clean(text):
            self._number += 1
            self._draft.unit(f"{self._slide}:{self._number}", kind, text, level=level)

    def _shape(self, shape: Any) -> None:
        if getattr(shape, "has_table", False) and shape.has_table:
            self._table(shape.table)
        elif getattr(shape, "has_chart", False) and shape.has_chart:
            self._chart(shape.chart)
        elif shape.has_text_frame:
            for paragraph in shape.text_frame.paragraphs:
                level = paragraph.level + 1 if paragraph.level else None
                self._text(paragraph.text, "slide_text", level)
        elif any(
            node.tag.startswith(f"{{{DIAGRAM}}}")
            for node in shape.element.iter()
            if isinstance(node.tag, str)
        ):
            self._draft.problem("diagram_ignored", self._slide)
        elif shape.element.tag.endswith("}pic"):
            self._pictures += 1

    def _table(self, table: Any) -> None:
        self._number += 1
        place, rows, merged = f"{self._slide}:{self._number}", list[Row](), False
        for at, row in enumerate(table.rows):
            cells, spans = list[str](), set[int]()
            for column in range(len(row.cells)):
                cell = table.cell(at, column)
                if cell.is_spanned:
                    merged = True
                    origin, beside = _origin(table, at, column)
                    cells.append(origin)
                    if beside:
                        spans.add(column)
                else:
                    cells.append(clean(cell.text))
            rows.append(Row(f"{place}:r{at + 1}", tuple(cells), (), frozenset(spans)))
        if merged:
            self._draft.problem("merged_cells", place)
        write_table(self._draft, [row for row in rows if any(row.cells)])

    def _chart(self, chart: Any) -> None:
        """Categories down, series across: the numbers behind the picture."""
        self._number += 1
        place = f"{self._slide}:{self._number}"
        if chart.has_title and chart.chart_title.has_text_frame:
            self._draft.unit(place, "slide_text", chart.chart_title.text_frame.text)
        for plot in chart.plots:
            categories = [str(category) for category in plot.categories]
            series = [(one.name, list(one.values)) for one in plot.series]
            for at, category in enumerate(categories):
                columns = {"category": category}
                columns |= {
                    name: f"{values[at]:g}"
                    for name, values in series
                    if at < len(values) and values[at] is not None
                }
                text = " | ".join(columns.values())
                self._draft.unit(f"{place}:r{at + 1}", "table_row", text, columns=columns)


def _origin(table: Any, row: int, column: int) -> tuple[str, bool]:
    """Text of the merged cell that covers this one, and whether it starts in this row's left."""
    for up in range(row, -1, -1):
        for left in range(column, -1, -1):
            cell = table.cell(up, left)
            if cell.is_merge_origin and up + cell.span_height > row and left + cell.span_width > column:
                return clean(cell.text), left < column
    return "", False


def _flat(shapes: Iterable[Any], depth: int = 0) -> Iterator[Any]:
    for shape in shapes:
        if isinstance(shape, GroupShape):
            if depth < GROUPS_DEEP:
                yield from _flat(shape.shapes, depth + 1)
        else:
            yield shape

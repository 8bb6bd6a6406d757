"""A native chart in a document: python-docx has none, so the part is the one that python-pptx writes."""

from __future__ import annotations

from typing import Any, Final

from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from docx.shared import Pt
from pptx import Presentation

from .outline import Chart, Language
from .pptx_parts import add_chart as add_to_slide

_CHART: Final = "application/vnd.openxmlformats-officedocument.drawingml.chart+xml"
_BOOK: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_SIZE: Final = (440.0, 280.0)  # points
_INLINE: Final = (
    '<wp:inline xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" distT="0" distB="0" distL="0" distR="0">'
    '<wp:extent cx="{width}" cy="{height}"/><wp:docPr id="{number}" name="Chart {number}"/>'
    '<a:graphic><a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/chart">'
    '<c:chart xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" r:id="{relation}"/>'
    "</a:graphicData></a:graphic></wp:inline>"
)


def add_chart(document: Any, chart: Chart, language: Language) -> None:
    """A paragraph with the chart, its numbers embedded as a workbook."""
    slide_deck: Any = Presentation()
    slide = slide_deck.slides.add_slide(slide_deck.slide_layouts[6])
    add_to_slide(slide, chart, 0, 0, *_SIZE, language)
    drawn = next(shape for shape in slide.shapes if shape.has_chart).chart.part
    number = 1 + sum(1 for part in document.part.package.iter_parts() if part.content_type == _CHART)
    package = document.part.package
    book = Part(
        PackURI(f"/word/embeddings/chart{number}.xlsx"), _BOOK, drawn.chart_workbook.xlsx_part.blob, package
    )
    part = Part(PackURI(f"/word/charts/chart{number}.xml"), _CHART, b"", package)
    old = drawn.chart_workbook.xlsx_part
    old_id = next(key for key, rel in drawn.rels.items() if rel.target_part is old)
    new_id = part.relate_to(book, RELATIONSHIP_TYPE.PACKAGE)
    part._blob = drawn.blob.replace(f'r:id="{old_id}"'.encode(), f'r:id="{new_id}"'.encode())
    relation = document.part.relate_to(part, RELATIONSHIP_TYPE.CHART)
    inline = _INLINE.format(width=Pt(_SIZE[0]), height=Pt(_SIZE[1]), number=number, relation=relation)
    document.add_paragraph().add_run()._r.add_drawing(parse_xml(inline))

"""A document from its outline: real headings, lists and tables whose header repeats on every page."""

from __future__ import annotations

import io
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from docx import Document
from docx.enum.section import WD_ORIENT
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.shared import Pt, RGBColor

from .clean import clean, clean_line
from .docx_chart import add_chart
from .fonts import FONTS, language_tag, set_word_fonts
from .outline import DocumentOutline, Section, Table
from .packing import normalise
from .palette import DEEP, INK, LINE, PALE, WHITE
from .report import QualityReport, report_on
from .table_layout import fitting_widths

_CELLS: Final = (10, 9, 8, 7)  # points; 7 is small, and still better than words broken within
_PAGE: Final = (595.3, 841.9)  # A4, in points
_MARGIN: Final = 64.0
_MANY_COLUMNS: Final = 6  # from here on the pages lie on their side
_SOURCE: Final = {"zh": "来源位置", "en": "Source"}


def write_document(outline: DocumentOutline, made_at: datetime) -> tuple[bytes, QualityReport]:
    """DOCX bytes, the same for the same outline and time, and what they hold."""
    document: Any = Document()
    _set_up(document, outline, made_at)
    title = document.add_paragraph(style="Title")
    _write(title, clean_line(outline.title))
    for section in outline.sections:
        _write_section(document, section, outline)
    out = io.BytesIO()
    document.save(out)
    return normalise(out.getvalue(), made_at), report_on(outline, "docx", pages=0, fonts=FONTS)


def _set_up(document: Any, outline: DocumentOutline, made_at: datetime) -> None:
    about = document.core_properties
    about.title, about.author, about.last_modified_by = clean_line(outline.title), "Fencepost", "Fencepost"
    about.created, about.modified, about.language = made_at, made_at, language_tag(outline.language)
    about.comments = ""
    page = document.sections[0]
    page.page_width, page.page_height = Pt(_PAGE[0]), Pt(_PAGE[1])
    tables = [section.table for section in outline.sections if section.table]
    if any(len(table.columns) >= _MANY_COLUMNS for table in tables):
        page.orientation = WD_ORIENT.LANDSCAPE
        page.page_width, page.page_height = page.page_height, page.page_width
    page.left_margin = page.right_margin = page.top_margin = page.bottom_margin = Pt(_MARGIN)
    sizes = {"Normal": 11, "Title": 24, "Heading 1": 18, "Heading 2": 15, "Heading 3": 13, "Heading 4": 12,
             "List Bullet": 11}  # fmt: skip
    for name, size in sizes.items():
        style = document.styles[name]
        style.font.size = Pt(size)
        style.font.color.rgb = RGBColor.from_string(INK if name in ("Normal", "List Bullet") else DEEP)
        set_word_fonts(style.element.get_or_add_rPr())
        _set_language(style.element.get_or_add_rPr(), outline)
    _number_pages(page)


def _set_language(properties: Any, outline: DocumentOutline) -> None:
    """The East Asian slot always says Chinese: it decides the shape of characters and marks."""
    for old in properties.findall(qn("w:lang")):
        properties.remove(old)
    language = OxmlElement("w:lang")
    language.set(qn("w:val"), language_tag(outline.language))
    language.set(qn("w:eastAsia"), language_tag("zh"))
    properties.append(language)


def _number_pages(page: Any) -> None:
    paragraph = page.footer.paragraphs[0]
    paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT
    for kind, text in (("begin", None), (None, "PAGE"), ("end", None)):
        run = paragraph.add_run()
        if kind:
            mark = OxmlElement("w:fldChar")
            mark.set(qn("w:fldCharType"), kind)
        else:
            mark = OxmlElement("w:instrText")
            mark.text = text
        run._r.append(mark)
        run.font.size = Pt(9)


def _write_section(document: Any, section: Section, outline: DocumentOutline) -> None:
    if heading := clean_line(section.title):
        _write(document.add_paragraph(style=f"Heading {section.level}"), heading)
    for text in section.paragraphs:
        _write(document.add_paragraph(), clean(text))
    for text in section.bullets:
        _write(document.add_paragraph(style="List Bullet"), clean(text))
    if section.table is not None:
        _write_table(document, section.table, outline)
        document.add_paragraph()
    if section.chart is not None:
        add_chart(document, section.chart, outline.language)


def _write_table(document: Any, table: Table, outline: DocumentOutline) -> None:
    cited = any(row.source_locator for row in table.rows)
    columns = [*table.columns, *([_SOURCE[outline.language]] if cited else [])]
    rows = [[*row.cells, *([row.source_locator or ""] if cited else [])] for row in table.rows]
    drawn = document.add_table(rows=1, cols=len(columns))
    drawn.style = "Table Grid"
    _draw_lines(drawn)
    page = document.sections[0]
    room = (page.page_width - page.left_margin - page.right_margin) / Pt(1)
    size, shared = fitting_widths([clean(one) for one in columns], [*map(_cleaned, rows)], room, _CELLS)
    widths = [Pt(width) for width in shared]
    drawn.autofit = False
    for column, width in zip(drawn.columns, widths, strict=True):
        column.width = width
    _fill_row(drawn.rows[0], columns, widths, size, DEEP, WHITE, bold=True)
    _repeat(drawn.rows[0])
    for number, cells in enumerate(rows):
        _fill_row(drawn.add_row(), cells, widths, size, PALE if number % 2 else WHITE, INK)


def _cleaned(cells: Sequence[str]) -> list[str]:
    return [clean(cell) for cell in cells]


def _draw_lines(table: Any) -> None:
    borders = OxmlElement("w:tblBorders")
    for side in ("top", "left", "bottom", "right", "insideH", "insideV"):
        line = OxmlElement(f"w:{side}")
        for name, value in (("val", "single"), ("sz", "4"), ("space", "0"), ("color", LINE)):
            line.set(qn(f"w:{name}"), value)
        borders.append(line)
    after = [qn(f"w:{name}") for name in ("shd", "tblLayout", "tblCellMar", "tblLook")]
    properties = table._tbl.tblPr
    at = next((index for index, child in enumerate(properties) if child.tag in after), len(properties))
    properties.insert(at, borders)  # Word is strict about the order, other readers aren't


def _fill_row(
    row: Any,
    texts: Sequence[str],
    widths: Sequence[Any],
    size: int,
    ground: str,
    colour: str,
    *,
    bold: bool = False,
) -> None:
    keep = OxmlElement("w:cantSplit")
    row._tr.get_or_add_trPr().append(keep)
    for cell, text, width in zip(row.cells, texts, widths, strict=False):
        cell.width = width
        shade = OxmlElement("w:shd")
        for name, value in (("val", "clear"), ("color", "auto"), ("fill", ground)):
            shade.set(qn(f"w:{name}"), value)
        cell._tc.get_or_add_tcPr().append(shade)
        room = cell.paragraphs[0].paragraph_format
        room.space_before, room.space_after, room.line_spacing = Pt(3), Pt(3), 1.0
        _write(cell.paragraphs[0], clean(text), size=size, colour=colour, bold=bold)


def _repeat(row: Any) -> None:
    """The header again on each page that the table goes on to."""
    row._tr.get_or_add_trPr().append(OxmlElement("w:tblHeader"))


def _write(
    paragraph: Any, text: str, *, size: float | None = None, colour: str | None = None, bold: bool = False
) -> None:
    run = paragraph.add_run()
    for number, line in enumerate(text.split("\n")):
        if number:
            run.add_break()
        run.add_text(line)
    set_word_fonts(run._r.get_or_add_rPr())
    if size:
        run.font.size = Pt(size)
    if colour:
        run.font.color.rgb = RGBColor.from_string(colour)
    if bold:
        run.font.bold = True

"""A workbook from its outline: one real table a sheet, native charts, and no cell that computes.

Text of a source may begin like a formula; it is stored as text and marked so, whatever it begins with. A
column all of whose cells are plain numbers is stored as numbers, shown with the same digits.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from openpyxl import Workbook
from openpyxl.chart import BarChart, LineChart, PieChart, Reference
from openpyxl.styles import Alignment, Border, Font, PatternFill, Side
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.table import Table as ExcelTable
from openpyxl.worksheet.table import TableStyleInfo

from .clean import clean, clean_line
from .fonts import EAST_ASIAN, FONTS, LATIN
from .measure import text_width, wrap
from .outline import Chart, Language, Sheet, WorkbookOutline
from .packing import normalise
from .palette import DEEP, LINE, WHITE
from .report import QualityReport, report_on

_NUMBER: Final = re.compile(r"-?(0|[1-9]\d{0,10}|[1-9]\d{0,2}(,\d{3}){1,3})(\.\d{1,6})?")
_NOT_IN_NAMES: Final = re.compile(r"[\[\]:*?/\\]")
_NAME_CHARS: Final = 31  # Excel's
_NARROW, _WIDE = 8.0, 60.0  # column widths, in digits
_SOURCE: Final = {"zh": "来源", "en": "Source"}
_CHART: Final = {"zh": "图表 {}", "en": "Chart {}"}


def write_workbook(outline: WorkbookOutline, made_at: datetime) -> tuple[bytes, QualityReport]:
    """XLSX bytes, the same for the same outline and time, and what they hold."""
    book = Workbook()
    book.remove(book.active)
    about = book.properties
    about.title, about.creator, about.created = clean_line(outline.title), "Fencepost", made_at
    charts = [_CHART[outline.language].format(sheet.name) for sheet in outline.sheets if sheet.chart]
    names = sheet_names([*(sheet.name for sheet in outline.sheets), *charts])
    for number, (name, sheet) in enumerate(zip(names, outline.sheets, strict=False), 1):
        _write_sheet(book.create_sheet(name), sheet, number, outline.language)
    drawn = [sheet.chart for sheet in outline.sheets if sheet.chart]
    for name, chart in zip(names[len(outline.sheets) :], drawn, strict=True):
        _draw_chart(book.create_sheet(name), chart, outline.language)
    out = io.BytesIO()
    book.save(out)
    return normalise(out.getvalue(), made_at), report_on(outline, "xlsx", pages=0, fonts=FONTS)


def sheet_names(wanted: Sequence[str]) -> list[str]:
    """Names that Excel takes: at most 31 characters, none of `[]:*?/\\`, each once whatever its case."""
    taken: set[str] = set()
    names: list[str] = []
    for number, want in enumerate(wanted, 1):
        base = (
            _NOT_IN_NAMES.sub(" ", clean_line(want)).strip(" '")[:_NAME_CHARS].strip(" '") or f"Sheet{number}"
        )
        if base.casefold() == "history":  # reserved
            base = "History 1"
        name, at = base, 2
        while name.casefold() in taken:
            mark = f" ({at})"
            name, at = base[: _NAME_CHARS - len(mark)] + mark, at + 1
        taken.add(name.casefold())
        names.append(name)
    return names


def _write_sheet(page: Any, sheet: Sheet, number: int, language: Language) -> None:
    cited = any(row.source_locator for row in sheet.table.rows)
    columns = _headings([*sheet.table.columns, *([_SOURCE[language]] if cited else [])])
    places = [(row.source_locator or "",) if cited else () for row in sheet.table.rows]
    rows = [tuple(clean(cell) for cell in (*row.cells, *place))
            for row, place in zip(sheet.table.rows, places, strict=True)]  # fmt: skip
    for index, heading in enumerate(columns, 1):
        _put_text(page.cell(1, index), heading)
        page.cell(1, index).font = _font(language, bold=True, color=WHITE)
        page.cell(1, index).fill = PatternFill("solid", fgColor=DEEP)
    for index in range(1, len(columns) + 1):
        cells = [row[index - 1] if index <= len(row) else "" for row in rows]
        _write_column(page, index, cells, language)
        page.column_dimensions[get_column_letter(index)].width = _column_width([columns[index - 1], *cells])
    _set_heights(page, columns, rows)
    _make_table(page, columns, len(rows), number)


def _headings(names: Sequence[str]) -> list[str]:
    """One line each, none empty, none twice: a table of Excel's is damaged by either."""
    taken: dict[str, int] = {}
    headings = []
    for index, name in enumerate(names, 1):
        base = clean_line(name) or f"#{index}"
        again = taken.get(base.casefold(), 0)
        taken[base.casefold()] = again + 1
        headings.append(f"{base} ({again + 1})" if again else base)
    return headings


def _write_column(page: Any, index: int, cells: Sequence[str], language: Language) -> None:
    numeric = any(cells) and all(_NUMBER.fullmatch(cell) for cell in cells if cell)
    side = Side(style="thin", color=LINE)
    for at, text in enumerate(cells, 2):
        cell = page.cell(at, index)
        if numeric and text:
            cell.value, cell.number_format = Decimal(text.replace(",", "")), _number_format(text)
        elif text:
            _put_text(cell, text)
        cell.font, cell.border = _font(language), Border(side, side, side, side)
        cell.alignment = Alignment(
            vertical="top",
            wrap_text=True,
            indent=1 if numeric else 0,
            horizontal="right" if numeric else "left",
        )


def _put_text(cell: Any, text: str) -> None:
    """Text, whatever it looks like. quotePrefix keeps it text when a person edits it."""
    cell.value = text
    cell.data_type = "s"
    if text[:1] in "=+-@\t":
        cell.quotePrefix = True


def _number_format(text: str) -> str:
    places = len(text.partition(".")[2])
    return ("#,##0" if "," in text else "0") + ("." + "0" * places if places else "")


def _font(language: Language, *, bold: bool = False, color: str = "222B36") -> Font:
    """A cell names one font for all scripts."""
    return Font(name=EAST_ASIAN if language == "zh" else LATIN, size=11, bold=bold, color=color)


def _column_width(cells: Sequence[str]) -> float:
    widest = max((text_width(line) for cell in cells for line in cell.split("\n")), default=0.0)
    return min(max(widest / 0.55 + 3, _NARROW), _WIDE)


def _set_heights(page: Any, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Said, because nobody computes them when a program reads the file."""
    widths = [page.column_dimensions[get_column_letter(at)].width for at in range(1, len(columns) + 1)]
    for at, row in enumerate([columns, *rows], 1):
        lines = max(len(wrap(cell, width * 0.55 - 1)) for cell, width in zip(row, widths, strict=False))
        page.row_dimensions[at].height = min(lines * 16.5 + 3, 409)


def _make_table(page: Any, columns: Sequence[str], count: int, number: int) -> None:
    page.freeze_panes = "A2"
    _fit_paper(page, wide=len(columns) > 4)
    if count:
        shape = f"A1:{get_column_letter(len(columns))}{count + 1}"
        table = ExcelTable(displayName=f"Table{number}", ref=shape)
        table.tableStyleInfo = TableStyleInfo(name="TableStyleLight1", showRowStripes=True)
        page.add_table(table)
    page.print_title_rows = "1:1"


def _fit_paper(page: Any, *, wide: bool) -> None:
    """A4, all columns on one page, as many pages down as it takes."""
    page.page_setup.paperSize = page.PAPERSIZE_A4
    page.page_setup.orientation = "landscape" if wide else "portrait"
    page.page_setup.fitToWidth, page.page_setup.fitToHeight = 1, 0
    page.sheet_properties.pageSetUpPr.fitToPage = True


def _draw_chart(page: Any, chart: Chart, language: Language) -> None:
    """A sheet of its own: the numbers, and the chart below them."""
    _fit_paper(page, wide=True)
    for row, name in enumerate(chart.categories, 2):
        _put_text(page.cell(row, 1), clean_line(name))
    for column, one in enumerate(chart.series, 2):
        _put_text(page.cell(1, column), clean_line(one.name))
        for row, value in enumerate(one.values, 2):
            page.cell(row, column).value = value
    drawn: Any = {"line": LineChart, "pie": PieChart}.get(chart.kind, BarChart)()
    if chart.kind in ("bar", "column"):
        drawn.type = "bar" if chart.kind == "bar" else "col"
    last = len(chart.categories) + 1
    series = 1 if chart.kind == "pie" else len(chart.series)
    drawn.add_data(
        Reference(page, min_col=2, max_col=1 + series, min_row=1, max_row=last),
        titles_from_data=True,
    )
    drawn.set_categories(Reference(page, min_col=1, min_row=2, max_row=last))
    drawn.title = clean_line(chart.title) or None
    if chart.kind != "pie":
        drawn.x_axis.delete = drawn.y_axis.delete = False
    drawn.width, drawn.height = 20, 10
    for cells in page.iter_rows():
        for cell in cells:
            cell.font = _font(language, bold=cell.row == 1)
    page.column_dimensions["A"].width = _column_width([clean_line(name) for name in chart.categories])
    page.add_chart(drawn, f"A{last + 2}")

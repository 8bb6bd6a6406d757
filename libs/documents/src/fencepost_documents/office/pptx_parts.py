"""Native tables and charts on a slide."""

from __future__ import annotations

from typing import Any, Final

from pptx.chart.data import CategoryChartData
from pptx.dml.color import RGBColor
from pptx.enum.chart import XL_CHART_TYPE, XL_LABEL_POSITION, XL_LEGEND_POSITION
from pptx.enum.text import MSO_ANCHOR
from pptx.oxml.ns import qn
from pptx.util import Pt

from .clean import clean_line
from .fonts import language_tag, set_drawing_fonts
from .outline import Chart, Language
from .palette import DEEP, INK, LINE, PALE, SERIES, WHITE
from .table_layout import PAD_X, PAD_Y, TablePage

_KINDS: Final = {
    "bar": XL_CHART_TYPE.BAR_CLUSTERED,
    "column": XL_CHART_TYPE.COLUMN_CLUSTERED,
    "line": XL_CHART_TYPE.LINE_MARKERS,
    "pie": XL_CHART_TYPE.PIE,
}
_LONG: Final = 200  # characters: beside such a cell the others start at the top
_ALIKE: Final = "{5940675A-B579-460E-94D1-54222C63F5DA}"  # "No Style, Table Grid": the colours are set here


def add_table(slide: Any, page: TablePage, left: float, top: float, language: Language, about: str) -> None:
    """One page of a table at its planned place; `about` is its text for who doesn't see it."""
    frame = slide.shapes.add_table(
        len(page.rows) + 1, len(page.columns), Pt(left), Pt(top), Pt(sum(page.widths)), Pt(page.height)
    )
    frame._element.nvGraphicFramePr.cNvPr.set("descr", about)
    table = frame.table
    table._tbl.tblPr.find(qn("a:tableStyleId")).text = _ALIKE
    table.first_row, table.horz_banding = True, False
    for index, width in enumerate(page.widths):
        table.columns[index].width = Pt(width)
    table.rows[0].height = Pt(page.header_height)
    for index, text in enumerate(page.columns):
        _fill_cell(table.cell(0, index), text, page.size, DEEP, WHITE, language, bold=True)
    for at, row in enumerate(page.rows, 1):
        table.rows[at].height = Pt(row.height)
        for index, text in enumerate(row.cells):
            _fill_cell(table.cell(at, index), text, page.size, WHITE if at % 2 else PALE, INK, language)


def _fill_cell(
    cell: Any, text: str, size: int, ground: str, colour: str, language: Language, *, bold: bool = False
) -> None:
    cell.margin_left = cell.margin_right = Pt(PAD_X)
    cell.margin_top = cell.margin_bottom = Pt(PAD_Y)
    cell.vertical_anchor = MSO_ANCHOR.TOP if len(text) > _LONG else MSO_ANCHOR.MIDDLE
    cell.fill.solid()
    cell.fill.fore_color.rgb = RGBColor.from_string(ground)
    _set_borders(cell)
    paragraph = cell.text_frame.paragraphs[0]
    for number, line in enumerate(text.split("\n")):
        if number:
            paragraph.add_line_break()
        run = paragraph.add_run()
        run.text = line
        run.font.size, run.font.bold = Pt(size), bold
        run.font.color.rgb = RGBColor.from_string(colour)
        properties = run._r.get_or_add_rPr()
        properties.set("lang", language_tag(language))
        set_drawing_fonts(properties)


def _set_borders(cell: Any) -> None:
    """Thin grey lines; they stand ahead of the fill in the schema."""
    properties = cell._tc.get_or_add_tcPr()
    for at, tag in enumerate(("a:lnL", "a:lnR", "a:lnT", "a:lnB")):
        line = properties.makeelement(qn(tag), {"w": str(Pt(0.75))})
        fill = line.makeelement(qn("a:solidFill"), {})
        fill.append(fill.makeelement(qn("a:srgbClr"), {"val": LINE}))
        line.append(fill)
        properties.insert(at, line)


def add_chart(
    slide: Any, chart: Chart, left: float, top: float, width: float, height: float, language: Language
) -> None:
    """A chart with its data in the file, so that a person can change it."""
    data = CategoryChartData()
    data.categories = [clean_line(name) for name in chart.categories]
    series = chart.series[:1] if chart.kind == "pie" else chart.series
    for one in series:
        data.add_series(clean_line(one.name), one.values)
    frame = slide.shapes.add_chart(_KINDS[chart.kind], Pt(left), Pt(top), Pt(width), Pt(height), data)
    drawn = frame.chart
    drawn.font.size = Pt(12 if len(chart.categories) <= 12 else 10)
    drawn.font.color.rgb = RGBColor.from_string(INK)
    drawn.has_title = bool(chart.title)
    if chart.title:
        drawn.chart_title.text_frame.text = clean_line(chart.title)
    _set_legend(drawn, chart)
    _colour(drawn, chart)
    for properties in drawn._chartSpace.iter(qn("a:defRPr"), qn("a:rPr")):
        properties.set("lang", language_tag(language))
        set_drawing_fonts(properties)


def _set_legend(drawn: Any, chart: Chart) -> None:
    drawn.has_legend = chart.kind == "pie" or len(chart.series) > 1
    if drawn.has_legend:
        right = chart.kind == "pie"
        drawn.legend.position = XL_LEGEND_POSITION.RIGHT if right else XL_LEGEND_POSITION.BOTTOM
        drawn.legend.include_in_layout = False


def _colour(drawn: Any, chart: Chart) -> None:
    plot = drawn.plots[0]
    if chart.kind == "pie":
        plot.has_data_labels = True
        labels = plot.data_labels
        labels.show_percentage, labels.show_value, labels.number_format = True, False, "0%"
        labels.number_format_is_linked, labels.position = False, XL_LABEL_POSITION.OUTSIDE_END
        for index in range(len(chart.categories)):
            fill = plot.series[0].points[index].format.fill
            fill.solid()
            fill.fore_color.rgb = RGBColor.from_string(SERIES[index % len(SERIES)])
        return
    drawn.value_axis.major_gridlines.format.line.color.rgb = RGBColor.from_string(LINE)
    for index, one in enumerate(plot.series):
        colour = RGBColor.from_string(SERIES[index % len(SERIES)])
        if chart.kind == "line":
            one.format.line.color.rgb, one.smooth = colour, False
        else:
            one.format.fill.solid()
            one.format.fill.fore_color.rgb = colour

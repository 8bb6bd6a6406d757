"""How a table is laid over pages: font size, column widths, row heights, cuts. Points everywhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from .clean import clean
from .measure import LINE_HEIGHT, line_count, text_width, wrap
from .outline import Table

SIZES: Final = (14, 12, 11, 10)  # below 10 a projected table can't be read; columns are parted instead
PAD_X: Final = 5.0  # cell margins, left and right each
PAD_Y: Final = 3.0
_DENSER: Final = (30, 120)  # rows: nobody reads so many from afar, and fewer pages are found through sooner
_TALL: Final = 4  # a row of more lines makes the next smaller size worth trying
_WIDEST: Final = 28.0  # em: beyond it a column wraps rather than take more room
_NARROWEST: Final = 4.0
_WORD: Final = 12.0  # em: a longer word may be broken within
_MOST_COLUMNS: Final = 10
_READABLE: Final = 9.0  # em: a column of texts isn't pressed below this to spare a page
_SLACK: Final = 0.3  # em a cell: renderers round


@dataclass(frozen=True, slots=True)
class PlannedRow:
    """cells: as shown. locator: of the record, none on a line that goes on with one."""

    cells: tuple[str, ...]
    height: float
    locator: str | None = None
    goes_on: bool = False


@dataclass(frozen=True, slots=True)
class TablePage:
    columns: tuple[str, ...]
    widths: tuple[float, ...]
    header_height: float
    rows: tuple[PlannedRow, ...]
    size: int

    @property
    def height(self) -> float:
        return self.header_height + sum(row.height for row in self.rows)


@dataclass(frozen=True, slots=True)
class _Grid:
    """Some columns of a table at one size; widths include the padding."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    widths: tuple[float, ...]
    size: int

    def row_height(self, cells: Sequence[str], *, bold: bool = False) -> float:
        lines = max(line_count(cell, self.inner(index), bold=bold) for index, cell in enumerate(cells))
        return lines * self.size * LINE_HEIGHT + 2 * PAD_Y

    def inner(self, column: int) -> float:
        """The room for text, in em."""
        return (self.widths[column] - 2 * PAD_X) / self.size - _SLACK


def lay_table(table: Table, width: float, first: float, full: float, continued: str) -> Iterator[TablePage]:
    """Pages of `table`, each with its header: the first `first` high, the others `full`.

    A table too wide is parted into groups of columns, each with the first column again. A row taller than a
    page goes on in a next row whose first cell says `continued`, unless that cell itself goes on.
    """
    columns = tuple(clean(name) for name in table.columns)
    rows = tuple(tuple(clean(cell) for cell in row.cells) for row in table.rows)
    locators = tuple(row.source_locator for row in table.rows)
    height = first
    for chosen in _groups(columns, rows, width):
        grid = _fit(_pick(columns, chosen), tuple(_pick(row, chosen) for row in rows), width)
        header = grid.row_height(grid.columns, bold=True)
        for part in _cut(grid, locators, height - header, full - header, continued):
            yield TablePage(grid.columns, grid.widths, header, part, grid.size)
            height = full
        height = full


def fitting_widths(
    columns: Sequence[str], rows: Sequence[Sequence[str]], width: float, sizes: Sequence[int]
) -> tuple[int, list[float]]:
    """The first of `sizes` at which no word has to be broken, else the last, and widths in points that share
    `width` by content; for renderers that break pages themselves.
    """
    needs = [_needed(index, columns, rows) for index in range(len(columns))]
    wants = [max(_wanted(index, columns, rows), need) for index, need in enumerate(needs)]
    rooms = {size: width / size - len(columns) * 2 * PAD_X / size for size in sizes}
    size = next((one for one in sizes if sum(needs) <= rooms[one]), sizes[-1])
    return size, list(_share(needs, wants, rooms[size], size))


def _pick(values: Sequence[str], chosen: Sequence[int]) -> tuple[str, ...]:
    return tuple(values[index] if index < len(values) else "" for index in chosen)


def _groups(columns: Sequence[str], rows: Sequence[Sequence[str]], width: float) -> Iterator[list[int]]:
    """Columns that fit side by side at the smallest size."""
    room = width / SIZES[-1]
    needs = [_needed(index, columns, rows) + 2 * PAD_X / SIZES[-1] for index in range(len(columns))]
    group: list[int] = []
    for index, need in enumerate(needs):
        used = sum(needs[one] for one in group)
        if len(group) > 1 and (used + need > room or len(group) == _MOST_COLUMNS):
            yield group
            group = [0]
        group.append(index)
    yield group


def _needed(column: int, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> float:
    """The narrowest a column may be, in em: its longest word, within bounds."""
    cells = [row[column] for row in rows if column < len(row)]
    words = [word for cell in cells for word in cell.split()]
    widest = max((min(text_width(word), _WORD) for word in words if word.isascii()), default=0.0)
    heading = max((text_width(word, bold=True) for word in columns[column].split()), default=0.0)
    read = min(_wanted(column, columns, rows), _READABLE)
    return max(_NARROWEST, widest, min(heading, _WORD), read) + _SLACK


def _wanted(column: int, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> float:
    lines = [line for row in rows if column < len(row) for line in row[column].split("\n")]
    widest = max((text_width(line) for line in lines), default=0.0)
    return min(max(widest, text_width(columns[column], bold=True)), _WIDEST) + _SLACK


def _fit(columns: tuple[str, ...], rows: tuple[tuple[str, ...], ...], width: float) -> _Grid:
    """The largest size at which no row is tall; the smallest when all are."""
    needs = [_needed(index, columns, rows) for index in range(len(columns))]
    wants = [max(_wanted(index, columns, rows), need) for index, need in enumerate(needs)]
    grid = None
    sizes = SIZES[sum(len(rows) > many for many in _DENSER) :]
    for size in sizes:
        room = width / size - len(columns) * 2 * PAD_X / size
        if sum(needs) > room and size != SIZES[-1]:
            continue
        grid = _Grid(columns, rows, _share(needs, wants, room, size), size)
        tallest = max((grid.row_height(row) for row in rows), default=0.0)
        if tallest <= _TALL * size * LINE_HEIGHT + 2 * PAD_Y:
            break
    assert grid is not None
    return grid


def _share(needs: Sequence[float], wants: Sequence[float], room: float, size: int) -> tuple[float, ...]:
    """Widths in points that fill the page: what each wants when there is room, else by what it lacks."""
    if sum(wants) <= room:
        spare = room - sum(wants)
        ems = [want + spare * want / sum(wants) for want in wants]
    elif sum(needs) >= room:
        ems = _capped(needs, room)
    else:
        lacking = sum(wants) - sum(needs)
        spare = room - sum(needs)
        ems = [need + spare * (want - need) / lacking for need, want in zip(needs, wants, strict=True)]
    return tuple(em * size + 2 * PAD_X for em in ems)


def _capped(needs: Sequence[float], room: float) -> list[float]:
    """The widest give way, so that short words of narrow columns stay whole."""
    left, narrow = room, 0.0
    for at, need in enumerate(ordered := sorted(needs)):
        cap = left / (len(ordered) - at)
        if need > cap:
            break
        left -= need
        narrow = need
    else:
        return list(needs)
    return [need if need <= narrow else cap for need in needs]


def _cut(
    grid: _Grid, locators: Sequence[str | None], first: float, full: float, continued: str
) -> Iterator[tuple[PlannedRow, ...]]:
    page: list[PlannedRow] = []
    left = first
    for cells, locator in zip(grid.rows, locators, strict=True):
        for row in _rows_of(grid, cells, locator, full, continued):
            if row.height > left and (page or left < full):
                yield tuple(page)
                page, left = [], full
            page.append(row)
            left -= row.height
    yield tuple(page)


def _rows_of(
    grid: _Grid, cells: tuple[str, ...], locator: str | None, full: float, continued: str
) -> Iterator[PlannedRow]:
    """One row, or as many as it takes for none to be taller than a page."""
    height = grid.row_height(cells)
    if height <= full:
        yield PlannedRow(cells, height, locator)
        return
    most = max(1, int((full - 2 * PAD_Y) / (grid.size * LINE_HEIGHT)))
    wrapped = [wrap(cell, grid.inner(index)) for index, cell in enumerate(cells)]
    starts = range(0, max(len(lines) for lines in wrapped), most)
    for start in starts:
        parts = [_join(lines[start : start + most]) for lines in wrapped]
        if start and not parts[0]:
            parts[0] = continued
        row = tuple(parts)
        yield PlannedRow(row, grid.row_height(row), locator if not start else None, bool(start))


def _join(lines: Sequence[str]) -> str:
    """Lines back to a text that wraps as they did: a space only where a word ended."""
    text = lines[0] if lines else ""
    for before, after in pairwise(lines):
        needs_space = before[-1:].isascii() and after[:1].isascii() and before and after
        text += (" " if needs_space else "") + after
    return text

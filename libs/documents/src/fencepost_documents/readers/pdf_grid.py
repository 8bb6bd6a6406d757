"""Tables that are drawn: rules of a page to a grid, pieces of text to its cells. Pure but for the operators.

Most tables in people's PDFs have lines around their cells, and then nothing needs guessing: a row is what
stands between two horizontal rules, a cell what stands between two vertical ones, however its text wraps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fencepost_documents.readers.pdf_pieces import Piece, join, lines_of

NEAR: Final = 2.0  # points within which two rules are one
THIN: Final = 3.0  # a rectangle that is thinner is a rule
SHORTEST: Final = 6.0  # points; shorter strokes are dots and ticks
RULES_MAX: Final = 20_000
PAINTS: Final = frozenset({b"S", b"s", b"f", b"F", b"f*", b"B", b"B*", b"b", b"b*"})
Matrix = tuple[float, float, float, float, float, float]
WHOLE: Final[Matrix] = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Rule:
    """A line: `at` is its y (or x), from `start` to `end` along the other axis."""

    at: float
    start: float
    end: float

    def covers(self, place: float) -> bool:
        return self.start - NEAR <= place <= self.end + NEAR


@dataclass(frozen=True, slots=True)
class Grid:
    """A drawn table. top, bottom: where it stands. edges: its columns' borders, for telling it on again."""

    top: float
    bottom: float
    edges: tuple[float, ...]
    rows: tuple[tuple[str, ...], ...]
    spans: tuple[frozenset[int], ...]
    merged: bool


class Rules:
    """Collects horizontal and vertical rules from a page's operators.

    width, height: of the page, whose own border is no table's.
    """

    def __init__(self, width: float = 0.0, height: float = 0.0) -> None:
        self._size = (width, height)
        self.across: list[Rule] = []
        self.down: list[Rule] = []
        self._matrix: Matrix = WHOLE
        self._kept: list[Matrix] = []
        self._path: list[tuple[float, float, float, float]] = []
        self._pen = (0.0, 0.0)

    def read(self, operations: Iterable[tuple[Any, bytes]]) -> Rules:
        for operands, operator in operations:
            if len(self.across) + len(self.down) > RULES_MAX:
                break  # a drawing, no table
            self._take(operator, operands)
        return self

    def _take(self, operator: bytes, operands: Any) -> None:
        if operator == b"q":
            self._kept.append(self._matrix)
        elif operator == b"Q":
            self._matrix = self._kept.pop() if self._kept else WHOLE
        elif operator in PAINTS:
            for segment in self._path:
                self._keep(*segment)
            self._path = []
        elif operator == b"n":
            self._path = []
        elif operator in (b"cm", b"m", b"l", b"re"):
            self._draw(operator, [float(number) for number in operands])

    def _draw(self, operator: bytes, numbers: Sequence[float]) -> None:
        if operator == b"cm" and len(numbers) == 6:
            self._matrix = _times(numbers, self._matrix)
        elif operator == b"m" and len(numbers) == 2:
            self._pen = self._point(*numbers)
        elif operator == b"l" and len(numbers) == 2:
            end = self._point(*numbers)
            self._path.append((*self._pen, *end))
            self._pen = end
        elif operator == b"re" and len(numbers) == 4:
            x, y, width, height = numbers
            self._path.append((*self._point(x, y), *self._point(x + width, y)))
            self._path.append((*self._point(x, y + height), *self._point(x + width, y + height)))
            self._path.append((*self._point(x, y), *self._point(x, y + height)))
            self._path.append((*self._point(x + width, y), *self._point(x + width, y + height)))

    def _point(self, x: float, y: float) -> tuple[float, float]:
        a, b, c, d, e, f = self._matrix
        return a * x + c * y + e, b * x + d * y + f

    def _keep(self, x0: float, y0: float, x1: float, y1: float) -> None:
        width, height = self._size
        if width and (
            (min(x0, x1) < THIN and max(x0, x1) > width - THIN)
            or (min(y0, y1) < THIN and max(y0, y1) > height - THIN)
        ):
            return
        if abs(y1 - y0) < THIN and abs(x1 - x0) >= SHORTEST:
            self.across.append(Rule((y0 + y1) / 2, min(x0, x1), max(x0, x1)))
        elif abs(x1 - x0) < THIN and abs(y1 - y0) >= SHORTEST:
            self.down.append(Rule((x0 + x1) / 2, min(y0, y1), max(y0, y1)))


def _times(one: Sequence[float], other: Matrix) -> Matrix:
    a, b, c, d, e, f = one
    g, h, i, j, k, m = other
    return (
        a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j, e * g + f * i + k, e * h + f * j + m,
    )  # fmt: skip


def grids_of(rules: Rules, pieces: Sequence[Piece]) -> tuple[list[Grid], list[Piece]]:
    """Drawn tables from top to bottom, and the pieces that stand in none of them."""
    bands = _bands(rules)
    grids: list[Grid] = []
    left = list(pieces)
    for group in bands:
        inside = [p for p in left if _in(p, group[0][0], group[-1][1], group[0][2])]
        grid = _grid(rules, group, inside)
        if grid:
            grids.append(grid)
            taken = set(map(id, inside))
            left = [piece for piece in left if id(piece) not in taken]
    return grids, left


Band = tuple[float, float, tuple[float, ...]]  # top, bottom, borders of its cells


def _bands(rules: Rules) -> list[list[Band]]:
    """Stripes between neighbouring horizontal rules that vertical ones cross, in groups that touch."""
    heights = _clustered([rule.at for rule in rules.across if rule.end - rule.start >= SHORTEST])
    groups: list[list[Band]] = []
    for top, bottom in zip(heights[::-1], heights[-2::-1], strict=False):
        middle = (top + bottom) / 2
        borders = tuple(_clustered([rule.at for rule in rules.down if rule.covers(middle)]))
        if len(borders) < 2:
            continue
        if groups and abs(groups[-1][-1][1] - top) < NEAR:
            groups[-1].append((top, bottom, borders))
        else:
            groups.append([(top, bottom, borders)])
    return groups


def _clustered(places: Iterable[float]) -> list[float]:
    """Ascending, those within NEAR as one."""
    made: list[float] = []
    for place in sorted(places):
        if not made or place - made[-1] > NEAR:
            made.append(place)
    return made


def _in(piece: Piece, top: float, bottom: float, borders: Sequence[float]) -> bool:
    middle = (piece.left + piece.right) / 2
    return bottom - NEAR <= piece.y <= top and borders[0] - NEAR <= middle <= borders[-1] + NEAR


def _grid(rules: Rules, bands: Sequence[Band], pieces: Sequence[Piece]) -> Grid | None:
    """None for a frame around text, a single row, or a drawing."""
    edges = _clustered(border for band in bands for border in band[2])
    width = len(edges) - 1
    if width < 2 or len(bands) < 2 or width > 60:
        return None
    rows: list[list[str]] = []
    spans: list[frozenset[int]] = []
    merged = False
    for at, (top, bottom, borders) in enumerate(bands):
        cells, span = [""] * width, set[int]()
        for index in range(width):
            start = max(
                (i for i, edge in enumerate(edges[: index + 1]) if _any_near(edge, borders)), default=0
            )
            if start < index:
                cells[index], merged = cells[start], True
                span.add(index)
                continue
            end = next((i for i in range(index + 1, width + 1) if _any_near(edges[i], borders)), width)
            text = _within(pieces, bottom, top, edges[index], edges[end])
            middle = (edges[index] + edges[end]) / 2
            if at and not any(abs(rule.at - top) < NEAR and rule.covers(middle) for rule in rules.across):
                above = rows[at - 1][index]  # no rule between: the cell of the row above goes on
                text, merged = (join([above, text]) if text and above else above or text), True
                rows[at - 1][index] = text
            cells[index] = text
        rows.append(cells)
        spans.append(frozenset(span))
    kept = _inner(rows, spans)
    if kept is None:
        return None
    first, last = kept
    return Grid(
        bands[0][0],
        bands[-1][1],
        tuple(edges[first : last + 2]),
        tuple(_cut(row, first, last) for row in rows),
        tuple(frozenset(i - first for i in span if first < i <= last) for span in spans),
        merged,
    )


def _within(pieces: Sequence[Piece], bottom: float, top: float, left: float, right: float) -> str:
    """The text of one cell: what stands between its borders, line by line."""
    held = [p for p in pieces if bottom < p.y <= top and left <= (p.left + p.right) / 2 < right]
    return join([line.text for line in lines_of(held)]) if held else ""


def _inner(rows: Sequence[Sequence[str]], spans: Sequence[frozenset[int]]) -> tuple[int, int] | None:
    """First and last column with text of their own, so that a panel around a table is no column of it.

    None where fewer than two rows have more than one cell filled.
    """
    own = [
        [i for i, cell in enumerate(row) if cell and i not in span]
        for row, span in zip(rows, spans, strict=True)
    ]
    several = [places for places in own if len(places) >= 2]
    if len(several) < 2:
        return None
    return min(places[0] for places in several), max(places[-1] for places in several)


def _cut(row: Sequence[str], first: int, last: int) -> tuple[str, ...]:
    """The row without outer columns; a title that stands there alone moves in."""
    inner = list(row[first : last + 1])
    outside = [cell for cell in (*row[:first], *row[last + 1 :]) if cell]
    if outside and not any(inner):
        inner[0] = outside[0]
    return tuple(inner)


def _any_near(place: float, borders: Sequence[float]) -> bool:
    return any(abs(border - place) <= NEAR for border in borders)

"""Tables without rules: columns are what stays empty between pieces of text, line after line. Pure.

The first line says how many columns there are: headers stand apart. Where one ends and the next begins all
lines say together: the place between two headers that no piece crosses and that most lines have text on both
sides of. A number set to the right may stand closer to its neighbour than words of a sentence do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from typing import Final

from fencepost_documents.readers.pdf_pieces import Line, Piece, join, line_of

NARROWEST: Final = 0.5  # points that a gap between columns has at least
OVERLAP: Final = 0.1  # points; less is rounding, and the two touch
CROSSING: Final = 0.05  # of lines may cross a border carried over from the page before
_SECTION: Final = re.compile(r"^第.{1,4}[章节条部分]|^[一二三四五六七八九十]+、|^\d+[.、]")


@dataclass(frozen=True, slots=True)
class Columns:
    """rows: texts by column. borders: x of the gaps between the columns, for telling them on again."""

    rows: tuple[tuple[str, ...], ...]
    borders: tuple[float, ...]


def columns_of(lines: Sequence[Line], carried: Sequence[float] = ()) -> Columns | None:
    """None where the lines don't line up: then they are prose with wide gaps.

    carried: borders of a table on the page before, taken where these lines respect them.
    """
    lines = [replace(line, pieces=_apart(line.pieces)) for line in lines]
    if carried and _respected(lines, carried):
        return _placed(lines, carried)
    widest = max(len(line.cells) for line in lines)
    head = lines[0] if len(lines[0].cells) >= 2 else next(line for line in lines if len(line.cells) == widest)
    borders: list[float] = []
    ends = [*(cell.left for cell in head.cells[2:]), float("inf")]
    for (left, right), end in zip(pairwise(head.cells), ends, strict=True):
        border = _border(lines, left, right, (borders[-1] if borders else float("-inf"), end))
        if border is None:
            return None
        borders.append(border)
    return _placed(lines, borders)


def _apart(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """Widths of a font that isn't embedded are a guess: a piece ends where the next one starts."""
    made = list(pieces)
    for at, (one, after) in enumerate(pairwise(pieces)):
        if one.left + NARROWEST < after.left < one.right - OVERLAP:
            made[at] = replace(one, right=after.left - NARROWEST)
    return tuple(made)


def _border(lines: Sequence[Line], left: Piece, right: Piece, within: tuple[float, float]) -> float | None:
    """A gap between two headers, each of which stands in its column: the one that most lines have text on
    both sides of, the widest of those. within: where the two columns lie.
    """
    pieces = [p for line in lines for p in line.pieces]
    gaps: list[tuple[float, float]] = []
    reach = left.right
    for one, other in sorted((p.left, p.right) for p in pieces if p.right >= left.right):
        if one > right.left:
            break
        if one - reach >= NARROWEST:
            gaps.append((reach, one))
        reach = max(reach, other)
    if not gaps:
        return None

    def both_sides(gap: tuple[float, float]) -> tuple[int, float]:
        middle = (gap[0] + gap[1]) / 2
        count = sum(
            any(within[0] < p.right <= middle for p in line.pieces)
            and any(middle <= p.left < within[1] for p in line.pieces)
            for line in lines
        )
        return count, gap[1] - gap[0]

    best = max(gaps, key=both_sides)
    return (best[0] + best[1]) / 2


def _respected(lines: Sequence[Line], borders: Sequence[float]) -> bool:
    crossing = sum(
        any(p.left < border < p.right for p in line.pieces for border in borders) for line in lines
    )
    return crossing <= CROSSING * len(lines)


def _placed(lines: Sequence[Line], borders: Sequence[float]) -> Columns:
    width = len(borders) + 1
    parts = [_cells(line, borders) for line in lines]
    full = [sum(map(bool, cells)) for cells in parts]
    gaps = [
        one.y - other.y for (one, a), (other, b) in pairwise(zip(lines, full, strict=True)) if a == b == width
    ]
    usual = median(gaps) if gaps else 0.0
    rows: list[list[str]] = []
    for at, placed in enumerate(parts):
        gap = lines[at - 1].y - lines[at].y if at else 0.0
        if rows and _continues(placed, rows[-1], gap, usual):
            rows[-1] = [
                join([old, new]) if old and new else old or new
                for old, new in zip(rows[-1], placed, strict=True)
            ]
        else:
            rows.append(placed)
    return Columns(tuple(map(tuple, rows)), tuple(borders))


def _cells(line: Line, borders: Sequence[float]) -> list[str]:
    held: list[list[Piece]] = [[] for _ in range(len(borders) + 1)]
    for piece in line.pieces:
        middle = (piece.left + piece.right) / 2
        held[sum(middle > border for border in borders)].append(piece)
    return [line_of(pieces).text if pieces else "" for pieces in held]


def _continues(placed: Sequence[str], above: Sequence[str], gap: float, usual: float) -> bool:
    """A line of a row that wraps: closer to the one above than rows are; or as close, and one cell only,
    under a cell with text, where a table has more columns and no section starts.
    """
    filled = [at for at, text in enumerate(placed) if text]
    if len(filled) > max(1, len(placed) // 2):
        return False
    if usual and gap < 0.9 * usual:
        return True
    alone = len(filled) == 1 and len(placed) >= 3 and gap < 1.05 * (usual or gap)
    return alone and bool(above[filled[0]]) and not _SECTION.match(placed[filled[0]])

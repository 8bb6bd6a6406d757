"""Text of a PDF page by its coordinates: pieces to lines, lines to paragraphs and tables. Pure.

A PDF knows neither lines nor tables, only pieces of text at places. Lengths are points; x grows to the right,
y upwards.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from typing import Final

from fencepost_documents.fields import labelled
from fencepost_documents.readers.text import ITEM

SAME_LINE: Final = 0.5  # of the height: how far a piece may lie off its line
CELL_GAP: Final = 0.8  # of the height: more space than that between words parts columns
SPACE_GAP: Final = 0.12  # of the height: a gap that is a space between Latin words
PARAGRAPH_GAP: Final = 1.75  # line heights between the base lines of two paragraphs
_CJK: Final = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\u3000-\u30ff]")
_AUTOSPACE: Final = re.compile(r"(?<=[\u4e00-\u9fff]) (?=\d)|(?<=\d) (?=[\u4e00-\u9fff])")
_SECTION: Final = re.compile(r"^第.{1,4}[章节条部分]|^[一二三四五六七八九十]+、|^\d+[.、]")


@dataclass(frozen=True, slots=True)
class Piece:
    left: float
    right: float
    y: float
    height: float
    text: str


@dataclass(frozen=True, slots=True)
class Line:
    """Cells from left to right: a line of prose has one."""

    y: float
    height: float
    cells: tuple[Piece, ...]

    @property
    def text(self) -> str:
        return "  ".join(cell.text for cell in self.cells)


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph (`rows` empty), or a table of rows with equally many cells."""

    text: str = ""
    kind: str = "paragraph"
    rows: tuple[tuple[str, ...], ...] = ()
    height: float = 0.0


def lines_of(pieces: Sequence[Piece]) -> list[Line]:
    """Top to bottom."""
    held: list[list[Piece]] = []
    for piece in sorted(map(_placed, (p for p in pieces if p.text.strip())), key=lambda p: -p.y):
        if held and abs(held[-1][0].y - piece.y) < SAME_LINE * min(held[-1][0].height, piece.height):
            held[-1].append(piece)
        else:
            held.append([piece])
    return [_line(sorted(group, key=lambda p: p.left)) for group in held]


def _placed(piece: Piece) -> Piece:
    """pypdf gives some pieces their end for both ends: then the width is reckoned from the characters."""
    if piece.right > piece.left:
        return piece
    width = sum(1.0 if _CJK.match(c) else 0.5 for c in piece.text.strip()) * piece.height
    return replace(piece, left=piece.right - width, text=piece.text.strip())


def _line(pieces: Sequence[Piece]) -> Line:
    height = max(piece.height for piece in pieces)
    cells: list[Piece] = []
    for piece in pieces:
        if cells and piece.left - cells[-1].right < CELL_GAP * height:
            cells[-1] = _joined(cells[-1], piece, height)
        else:
            cells.append(piece)
    return Line(pieces[0].y, height, tuple(replace(cell, text=_spaced(cell.text)) for cell in cells))


def _spaced(text: str) -> str:
    """Programs set digits in Chinese apart by a little; that is no space that somebody typed."""
    return _AUTOSPACE.sub("", " ".join(text.split()))


def _joined(left: Piece, right: Piece, height: float) -> Piece:
    gap = right.left - left.right
    touching = left.text[-1:] + right.text[:1]
    wide = 0.5 if _CJK.search(touching) else SPACE_GAP
    space = " " if gap > wide * height and not touching.isspace() and " " not in touching else ""
    text = left.text + space + right.text
    if _CJK.search(touching.strip()) and gap <= wide * height:
        text = left.text.rstrip(" ") + right.text.lstrip(" ") if " " in touching else text
    return Piece(left.left, max(left.right, right.right), left.y, height, text)


def blocks_of(lines: Sequence[Line]) -> Iterator[Block]:
    at = 0
    while at < len(lines):
        end = _table_end(lines, at)
        if end - at >= 2 and (rows := _rows(lines[at:end])):
            yield Block(kind="table", rows=rows)
            at = end
        else:
            end = _paragraph_end(lines, at)
            yield _paragraph(lines[at:end])
            at = end


def _table_end(lines: Sequence[Line], at: int) -> int:
    """Lines that could be one table: each has cells, or goes on with a cell of the line above it."""
    if len(lines[at].cells) < 2:
        return at
    end, full = at + 1, at
    while end < len(lines):
        line, above = lines[end], lines[end - 1]
        if above.y - line.y > 4 * max(line.height, above.height):
            break
        if len(line.cells) < 2:
            wrapped = above.y - line.y < PARAGRAPH_GAP * line.height
            inside = any(_overlap(line.cells[0], cell) > 0 for cell in lines[full].cells)
            crosses = sum(_overlap(line.cells[0], cell) > 0 for cell in lines[full].cells) > 1
            if not (wrapped and inside) or crosses or labelled(line.text):
                break
        else:
            full = end
        end += 1
    return end


def _rows(lines: Sequence[Line]) -> tuple[tuple[str, ...], ...]:
    """() where the lines don't line up: then they are prose with wide gaps."""
    width = max(len(line.cells) for line in lines)
    columns = _columns([line for line in lines if len(line.cells) == width])
    if any(columns[i][1] > columns[i + 1][0] + 1 for i in range(width - 1)):
        return ()
    rows: list[list[str]] = []
    gaps = [a.y - b.y for a, b in pairwise(lines) if len(a.cells) == len(b.cells) == width]
    usual = median(gaps) if gaps else 0.0
    for at, line in enumerate(lines):
        placed = [""] * width
        for cell in line.cells:
            column = _column(cell, columns)
            placed[column] = f"{placed[column]} {cell.text}".strip()
        gap = lines[at - 1].y - line.y if at else 0.0
        if rows and _continues(placed, rows[-1], gap, usual):
            rows[-1] = [
                join([old, new]) if old and new else old or new
                for old, new in zip(rows[-1], placed, strict=True)
            ]
        else:
            rows.append(placed)
    return tuple(tuple(row) for row in rows)


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


def _columns(lines: Sequence[Line]) -> list[tuple[float, float]]:
    return [
        (min(line.cells[i].left for line in lines), max(line.cells[i].right for line in lines))
        for i in range(len(lines[0].cells))
    ]


def _column(cell: Piece, columns: Sequence[tuple[float, float]]) -> int:
    def fits(index: int) -> tuple[float, float]:
        left, right = columns[index]
        overlap = min(cell.right, right) - max(cell.left, left)
        return (overlap, -abs(cell.left - left))

    return max(range(len(columns)), key=fits)


def _overlap(one: Piece, other: Piece) -> float:
    return min(one.right, other.right) - max(one.left, other.left)


def _paragraph_end(lines: Sequence[Line], at: int) -> int:
    """A label, a list item, a change of size or a wide gap starts something new."""
    end = at + 1
    while end < len(lines):
        line, above = lines[end], lines[end - 1]
        if (
            above.y - line.y > PARAGRAPH_GAP * line.height
            or abs(above.height - line.height) > 0.15 * above.height
            or labelled(line.text)
            or labelled(above.text)
            or ITEM.match(line.text)
            or (len(line.cells) > 1 and _table_end(lines, end) - end >= 2)
        ):
            break
        end += 1
    return end


def _paragraph(lines: Sequence[Line]) -> Block:
    item = ITEM.match(lines[0].text)
    text = join([line.text for line in lines])
    height = lines[0].height
    if item:
        return Block(text[item.start(2) :], "list_item", height=height)
    return Block(text, height=height)


def join(texts: Sequence[str]) -> str:
    """Wrapped lines as one: a space between Latin words, none between Chinese characters."""
    made = texts[0]
    for text in texts[1:]:
        chinese = _CJK.match(made[-1:]) and _CJK.match(text[:1])
        made += ("" if chinese else " ") + text
    return made

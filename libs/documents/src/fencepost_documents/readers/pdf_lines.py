"""Lines of a PDF page to paragraphs, list items and tables. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from fencepost_documents.fields import labelled
from fencepost_documents.readers.pdf_columns import columns_of
from fencepost_documents.readers.pdf_pieces import Line, Piece, join
from fencepost_documents.readers.text import ITEM

EDGE: Final = 3.0  # points: columns of two pages that are this near are the same
PARAGRAPH_GAP: Final = 1.75  # line heights between the base lines of two paragraphs


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph (`rows` empty), or a table of rows with equally many cells."""

    text: str = ""
    kind: str = "paragraph"
    rows: tuple[tuple[str, ...], ...] = ()
    height: float = 0.0
    spans: tuple[frozenset[int], ...] = ()  # of each row, the columns that a cell to their left covers
    edges: tuple[float, ...] = ()  # borders of its columns
    merged: bool = False


def blocks_of(lines: Sequence[Line], carried: Sequence[float] = ()) -> Iterator[Block]:
    """carried: borders of the columns of a table that may go on from the page before."""
    at = 0
    while at < len(lines):
        end = _table_end(lines, at)
        if (end - at >= 2 or (carried and end > at)) and (found := columns_of(lines[at:end], carried)):
            yield Block(kind="table", rows=found.rows, edges=found.borders)
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

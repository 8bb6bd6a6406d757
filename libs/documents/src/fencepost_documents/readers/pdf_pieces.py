"""Pieces of text at their places on a PDF page, and the lines they stand in. Pure.

A PDF knows no lines, only pieces. Lengths are points; x grows to the right, y upwards.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from fencepost_documents.readers.text import BULLETS

SAME_LINE: Final = 0.5  # of the height: how far a piece may lie off its line
CELL_GAP: Final = 0.8  # of the height: more space than that between words parts columns
SPACE_GAP: Final = 0.12  # of the height: a gap that is a space between Latin words
_CJK: Final = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\u3000-\u30ff]")
_AUTOSPACE: Final = re.compile(r"(?<=[\u4e00-\u9fff]) (?=\d)|(?<=\d) (?=[\u4e00-\u9fff])")
_MARKER: Final = re.compile(rf"^(?:[{BULLETS}]|\(?\d{{1,3}}[.)、）])$")  # of a list: no cell of its own


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
    pieces: tuple[Piece, ...] = ()  # as they came, for finding columns

    @property
    def text(self) -> str:
        return "  ".join(cell.text for cell in self.cells)


def lines_of(pieces: Sequence[Piece]) -> list[Line]:
    """Top to bottom."""
    held: list[list[Piece]] = []
    for piece in sorted(map(_placed, (p for p in pieces if p.text.strip())), key=lambda p: -p.y):
        if held and abs(held[-1][0].y - piece.y) < SAME_LINE * min(held[-1][0].height, piece.height):
            held[-1].append(piece)
        else:
            held.append([piece])
    return [line_of(sorted(group, key=lambda p: p.left)) for group in held]


def _placed(piece: Piece) -> Piece:
    """pypdf gives some pieces their end for both ends: then the width is reckoned from the characters."""
    if piece.right > piece.left:
        return piece
    width = sum(1.0 if _CJK.match(c) else 0.5 for c in piece.text.strip()) * piece.height
    return replace(piece, left=piece.right - width, text=piece.text.strip())


def line_of(pieces: Sequence[Piece]) -> Line:
    height = max(piece.height for piece in pieces)
    cells: list[Piece] = []
    for piece in pieces:
        if len(cells) == 1 and _MARKER.match(cells[0].text.strip()):
            cells[0] = replace(piece, left=cells[0].left, text=f"{cells[0].text.strip()} {piece.text}")
        elif cells and piece.left - cells[-1].right < CELL_GAP * height:
            cells[-1] = _joined(cells[-1], piece, height)
        else:
            cells.append(piece)
    return Line(
        pieces[0].y, height, tuple(replace(cell, text=_spaced(cell.text)) for cell in cells), tuple(pieces)
    )


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


def join(texts: Sequence[str]) -> str:
    """Wrapped lines as one: a space between Latin words, none between Chinese characters."""
    made = texts[0]
    for text in texts[1:]:
        chinese = _CJK.match(made[-1:]) and _CJK.match(text[:1])
        made += ("" if chinese else " ") + text
    return made

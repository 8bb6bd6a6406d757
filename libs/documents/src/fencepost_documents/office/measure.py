"""How wide a text is and how many lines it takes, without a font at hand.

Widths are those of DejaVu Sans, the widest of the fonts that stand in where the named one is missing, so a
text that fits here fits in any of them. All numbers are in em, one em is the font size.
Source: advance widths read from DejaVu Sans 2.37 and Noto Sans CJK 2.004.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Final

LINE_HEIGHT: Final = 1.45  # ascent + descent of Noto Sans CJK, the tallest in use
BOLD: Final = 1.13  # bold against regular, over running text
_WIDE: Final = 1.0
_OTHER: Final = 0.72  # Greek, Cyrillic, accented: the wide end of DejaVu's letters
_ASCII: Final = (
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636,
    636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775,
    752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390,
    337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612,
    635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
)  # fmt: skip
_FIRST: Final = 0x20
_CLOSING: Final = frozenset("，。、；：？！）》」』】〕”’…—,.;:?!)]}%％")  # these don't begin a line


def char_width(char: str) -> float:
    """In em. Marks that stand over another character take no room."""
    point = ord(char)
    if _FIRST <= point < _FIRST + len(_ASCII):
        return _ASCII[point - _FIRST] / 1000
    if unicodedata.combining(char):
        return 0.0
    return _WIDE if is_wide(char) else _OTHER


def is_wide(char: str) -> bool:
    """A full square: Chinese, Japanese, Korean, full-width forms, symbols (`A`: either, so wide)."""
    return unicodedata.east_asian_width(char) in "WFA"


def text_width(text: str, *, bold: bool = False) -> float:
    """Of one line, in em."""
    width = sum(char_width(char) for char in text)
    return width * BOLD if bold else width


def wrap(text: str, width: float, *, bold: bool = False) -> list[str]:
    """The lines that `text` takes in `width` em, broken as renderers do: at spaces, between wide characters,
    and within a word that is longer than a line. An empty text is one line. Nothing but spaces is dropped.
    """
    lines: list[str] = []
    for paragraph in text.split("\n"):
        line, used = "", 0.0
        for piece in _pieces(paragraph, width, bold=bold):
            taken = text_width(piece, bold=bold)
            if line and used + text_width(piece.rstrip(), bold=bold) > width:
                lines.append(line.rstrip())
                line, used = "", 0.0
                piece = piece.lstrip()
                taken = text_width(piece, bold=bold)
            line, used = line + piece, used + taken
        lines.append(line.rstrip())
    return lines


def line_count(text: str, width: float, *, bold: bool = False) -> int:
    return len(wrap(text, width, bold=bold))


def _pieces(paragraph: str, width: float, *, bold: bool) -> Iterator[str]:
    """What isn't broken: a word with its spaces, a wide character with the closing marks after it."""
    piece = ""
    for char in paragraph:
        if piece and _may_break(piece, char, width, bold=bold):
            yield piece
            piece = ""
        piece += char
    if piece:
        yield piece


def _may_break(piece: str, char: str, width: float, *, bold: bool) -> bool:
    if char == " ":
        return False
    if text_width(piece + char, bold=bold) > width:
        return True
    if char in _CLOSING:
        return False
    return piece[-1] == " " or is_wide(char) or is_wide(piece[-1])

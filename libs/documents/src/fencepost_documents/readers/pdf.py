"""PDF by pypdf, page by page: nothing is executed, no link is followed, attachments stay closed.

Pieces with their coordinates come from pypdf's layout mode, whose parts have no public name: its text form
puts Chinese on a Latin grid, which tears words and columns apart. The lock pins the version; where the parts
are missing, or text is turned, the plain text stands in.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

import pypdf
from pypdf._text_extraction._layout_mode._fixed_width_page import recurse_to_target_op
from pypdf._text_extraction._layout_mode._text_state_manager import TextStateManager
from pypdf.errors import LimitReachedError, PyPdfError
from pypdf.generic import ContentStream, DictionaryObject, IndirectObject

from fencepost_documents.draft import Draft, clean
from fencepost_documents.errors import DocumentRefused
from fencepost_documents.readers.pdf_grid import Grid, Rules, grids_of
from fencepost_documents.readers.pdf_lines import EDGE, Block, blocks_of
from fencepost_documents.readers.pdf_pieces import Line, Piece, lines_of
from fencepost_documents.tables import Row, find_header, names_fields, write_table

BROKEN: Final = (
    PyPdfError, ValueError, TypeError, KeyError, IndexError, AttributeError, AssertionError, OverflowError,
    NotImplementedError, RecursionError, ArithmeticError, UnicodeError,
)  # fmt: skip
HEADING_SIZE: Final = 1.18  # of the page's usual height
UNMAPPED: Final = 0.2  # of a page's characters


def read(data: bytes, draft: Draft) -> None:
    logging.disable()  # it tells of each oddity it got over; what matters is in the draft
    try:
        reader = pypdf.PdfReader(io.BytesIO(data), strict=False)
        _unlock(reader)
        pages = len(reader.pages)
        _say_what_is_ignored(reader, draft)
    except BROKEN as error:
        raise DocumentRefused("corrupt", f"not a whole PDF: {type(error).__name__}: {error}"[:300]) from error
    if not pages:
        raise DocumentRefused("corrupt", "it has no pages")
    carried = _Carried()
    for number in range(1, min(pages, draft.limits.pages_max) + 1):
        try:
            _Page(draft, number, carried).read(reader.pages[number - 1])
        except LimitReachedError as error:
            draft.problem("page_unreadable", f"p{number}", f"it inflates to too much: {error}")
        except BROKEN as error:
            draft.problem("page_unreadable", f"p{number}", f"{type(error).__name__}: {error}")
    if pages > draft.limits.pages_max:
        draft.problem("truncated", f"p{draft.limits.pages_max}", f"{pages} pages")


def _unlock(reader: pypdf.PdfReader) -> None:
    """Many files are encrypted with no password at all, only to say "don't print"."""
    if reader.is_encrypted and not reader.decrypt(""):
        raise DocumentRefused("password_protected", "it opens with a password only")


def _say_what_is_ignored(reader: pypdf.PdfReader, draft: Draft) -> None:
    root: Any = reader.trailer["/Root"].get_object()
    names: Any = (root.get("/Names") or DictionaryObject()).get_object()
    if (
        ("/OpenAction" in root and _is_script(root["/OpenAction"].get_object()))
        or "/JavaScript" in names
        or "/AA" in root
    ):
        draft.problem("scripts_ignored")
    if "/EmbeddedFiles" in names:
        draft.problem("embedded_ignored")


def _is_script(action: Any) -> bool:
    return isinstance(action, dict) and action.get("/S") in (
        "/JavaScript",
        "/Launch",
        "/URI",
        "/SubmitForm",
        "/ImportData",
    )


@dataclass(slots=True)
class _Carried:
    """A table that may go on at the next page: its header, and where its columns stand."""

    head: Row | None = None
    edges: tuple[float, ...] = ()
    last: int = -1  # the unit that is its last row so far

    def goes_on(self, edges: Sequence[float], rows: Sequence[Row]) -> bool:
        """Columns at the same places, under no header of their own."""
        alike = len(edges) == len(self.edges) and all(
            abs(one - other) < 2 * EDGE for one, other in zip(edges, self.edges, strict=True)
        )
        anew = (
            any(row.cells == self.head.cells or names_fields(row) for row in rows[:2]) if self.head else True
        )
        return alike and not anew


class _Page:
    def __init__(self, draft: Draft, number: int, carried: _Carried) -> None:
        self._draft, self._page, self._number = draft, f"p{number}", 0
        self._carried = carried

    def read(self, page: Any) -> None:
        contents = page.get_contents()
        if contents is not None:
            contents.get_data()  # raises what extract_text() would hide: content beyond the limit reads as ""
        if page.get("/Rotate", 0) % 360:
            self._draft.problem("page_rotated", self._page)
        before = self._number
        for block in self._blocks(page):
            self._write(block)
        for text in _fields(page):
            self._next(text, "paragraph")
        if self._number == before and contents is not None and contents.get_data().strip():
            self._say_why_empty(page)

    def _blocks(self, page: Any) -> list[Block]:
        known, unknown = _fonts(page)
        if unknown:
            self._draft.problem("characters_unmapped", self._page)
            if not known:
                return []
        shown = _shown(page)
        if shown.turned:
            self._draft.problem("text_rotated", self._page)
            return [Block(text) for text in clean(page.extract_text()).split("\n") if text.strip()]
        text = "".join(piece.text for piece in shown.pieces)
        strange = sum(1 for c in text if c == "\ufffd" or "\ue000" <= c <= "\uf8ff" or c < " ")
        if not unknown and strange > UNMAPPED * len(text):
            self._draft.problem("characters_unmapped", self._page)
            return []
        grids, pieces = grids_of(shown.rules, shown.pieces)
        lines = lines_of(pieces)
        usual = median(line.height for line in lines) if lines else 0.0
        return [_headed(block, usual) for block in _in_order(grids, lines, self._carried.edges)]

    def _write(self, block: Block) -> None:
        if block.kind != "table":
            self._next(block.text, block.kind)
            return
        rows = []
        for at, cells in enumerate(block.rows):
            self._number += 1
            spans = block.spans[at] if block.spans else frozenset()
            rows.append(Row(f"{self._page}:¶{self._number}", cells, (), spans))
        if block.merged:
            self._draft.problem("merged_cells", rows[0].locator)
        if self._carried.goes_on(block.edges, rows) and self._carried.head:
            if not rows[0].cells[0] and not block.spans[0]:
                self._draft.go_on(self._carried.last, self._carried.head.cells, rows.pop(0).cells)
            write_table(self._draft, [self._carried.head, *rows], head_known=True)
        else:
            at_header = find_header(rows)
            self._carried.head = rows[at_header] if at_header is not None else None
            self._carried.edges = block.edges
            write_table(self._draft, rows)
        self._carried.last = len(self._draft.units) - 1

    def _next(self, text: str, kind: str) -> None:
        if clean(text):
            self._number += 1
            level = 1 if kind == "heading" else None
            self._draft.unit(f"{self._page}:¶{self._number}", kind, text, level=level)

    def _say_why_empty(self, page: Any) -> None:
        if self._draft.problems() and self._draft.problems()[-1]["locator"] == self._page:
            return
        code = "page_without_text" if _has_picture(page) else "page_unreadable"
        if code == "page_without_text" or _shows_text(page):
            self._draft.problem(code, self._page)


def _in_order(grids: Sequence[Grid], lines: Sequence[Line], carried: Sequence[float]) -> Iterator[Block]:
    """From the top of the page: lines between drawn tables by themselves."""
    rest = list(lines)
    for grid in grids:
        above = [line for line in rest if line.y > grid.top]
        rest = rest[len(above) :]
        yield from blocks_of(above, carried)
        kept = [(row, span) for row, span in zip(grid.rows, grid.spans, strict=True) if any(row)]
        yield Block(
            kind="table", rows=tuple(row for row, _ in kept), spans=tuple(span for _, span in kept),
            edges=grid.edges, merged=grid.merged,
        )  # fmt: skip
    yield from blocks_of(rest, carried)


@dataclass(frozen=True, slots=True)
class _Seen:
    pieces: list[Piece]
    rules: Rules
    turned: bool


def _shown(page: Any) -> _Seen:
    """Pieces and rules of a page, put upright; `turned`: some text isn't, and is missing here."""
    contents = page.get("/Contents")
    if contents is None:
        return _Seen([], Rules(), False)
    fonts = page._layout_mode_fonts()
    operations = ContentStream(contents.get_object(), page.pdf, "bytes").operations
    upright = [([], b"q"), (_turn(page), b"cm"), *operations, ([], b"Q")]
    pieces: list[Piece] = []
    turned, manager, rest = False, TextStateManager(), iter(upright)
    for _, operator in rest:
        if operator not in (b"BT", b"q"):
            continue  # behind a Q too many
        groups, parts = recurse_to_target_op(rest, manager, b"ET" if operator == b"BT" else b"Q", fonts, True)
        turned = turned or any(part.rotated for part in parts)
        pieces += [
            Piece(
                float(one["tx"]), float(one["displaced_tx"]), float(one["ty"] * one["flip_sort"]),
                abs(float(one["font_height"])) or 1.0, one["text"],
            )
            for one in groups
        ]  # fmt: skip
    return _Seen(pieces, Rules(*_size(page)).read(upright), turned)


def _size(page: Any) -> tuple[float, float]:
    """Width and height as the page is shown."""
    width, height = float(page.mediabox.width), float(page.mediabox.height)
    return (height, width) if int(page.get("/Rotate", 0)) % 180 else (width, height)


def _turn(page: Any) -> list[float]:
    """The matrix that puts a page of `/Rotate` 90, 180 or 270 the way it is shown."""
    width, height = float(page.mediabox.width), float(page.mediabox.height)
    return {
        90: [0.0, -1.0, 1.0, 0.0, 0.0, width],
        180: [-1.0, 0.0, 0.0, -1.0, width, height],
        270: [0.0, 1.0, -1.0, 0.0, height, 0.0],
    }.get(int(page.get("/Rotate", 0)) % 360, [1.0, 0.0, 0.0, 1.0, 0.0, 0.0])


def _headed(block: Block, usual: float) -> Block:
    """Larger than the page's usual text, and short: a heading."""
    if block.kind == "paragraph" and block.height > HEADING_SIZE * usual and len(block.text) <= 120:
        return Block(block.text, "heading", height=block.height)
    return block


def _fields(page: Any) -> Iterator[str]:
    """Filled-in form fields: their text isn't part of the page's content."""
    for one in page.get("/Annots") or ():
        widget = one.get_object() if isinstance(one, IndirectObject) else one
        if not isinstance(widget, dict) or widget.get("/Subtype") != "/Widget":
            continue
        name, value = widget.get("/T"), widget.get("/V")
        if isinstance(value, str) and value.strip() and value != "/Off":
            yield f"{name}: {value.removeprefix('/')}" if isinstance(name, str) else value


def _fonts(page: Any) -> tuple[int, int]:
    """Fonts whose codes are characters, and ones whose codes are only numbers of drawings."""
    resources: Any = (page.get("/Resources") or DictionaryObject()).get_object()
    fonts: Any = (resources.get("/Font") or DictionaryObject()).get_object()
    unknown = 0
    for one in fonts.values():
        font = one.get_object()
        by_drawing = font.get("/Subtype") == "/Type0" and font.get("/Encoding") in (
            "/Identity-H",
            "/Identity-V",
        )
        unknown += by_drawing and "/ToUnicode" not in font
    return len(fonts) - unknown, unknown


def _has_picture(page: Any) -> bool:
    resources: Any = (page.get("/Resources") or DictionaryObject()).get_object()
    objects: Any = (resources.get("/XObject") or DictionaryObject()).get_object()
    return any(one.get_object().get("/Subtype") == "/Image" for one in objects.values())


def _shows_text(page: Any) -> bool:
    contents = page.get_contents()
    return contents is not None and any(mark in contents.get_data() for mark in (b"Tj", b"TJ"))

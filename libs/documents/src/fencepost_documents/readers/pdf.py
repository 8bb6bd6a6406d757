"""PDF by pypdf, page by page: nothing is executed, no link is followed, attachments stay closed.

Pieces with their coordinates come from pypdf's layout mode, whose parts have no public name: its text form
puts Chinese on a Latin grid, which tears words and columns apart. The lock pins the version; where the parts
are missing, or text is turned, the plain text stands in.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from itertools import chain
from statistics import median
from typing import Any, Final

import pypdf
from pypdf._text_extraction import _layout_mode
from pypdf.errors import LimitReachedError, PyPdfError
from pypdf.generic import ContentStream, DictionaryObject, IndirectObject

from fencepost_documents.draft import Draft, clean
from fencepost_documents.errors import DocumentRefused
from fencepost_documents.readers.pdf_lines import Block, Piece, blocks_of, lines_of
from fencepost_documents.tables import Row, write_table

BROKEN: Final = (
    PyPdfError, ValueError, TypeError, KeyError, IndexError, AttributeError, AssertionError, OverflowError,
    NotImplementedError, RecursionError, ArithmeticError, UnicodeError,
)  # fmt: skip
HEADING_SIZE: Final = 1.18  # of the page's usual height
UNMAPPED: Final = 0.2  # of a page's characters


class _Said(logging.Handler):
    """pypdf tells in its log what it leaves out."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if len(self.messages) < 200:
            self.messages.append(record.getMessage())


def read(data: bytes, draft: Draft) -> None:
    said = _Said()
    log = logging.getLogger("pypdf")
    log.handlers, log.propagate = [said], False
    try:
        reader = pypdf.PdfReader(io.BytesIO(data), strict=False)
        _unlock(reader)
        pages = len(reader.pages)
        _say_what_is_ignored(reader, draft)
    except BROKEN as error:
        raise DocumentRefused("corrupt", f"not a whole PDF: {type(error).__name__}: {error}"[:300]) from error
    if not pages:
        raise DocumentRefused("corrupt", "it has no pages")
    for number in range(1, min(pages, draft.limits.pages_max) + 1):
        said.messages.clear()
        try:
            _Page(draft, number, said).read(reader.pages[number - 1])
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


class _Page:
    def __init__(self, draft: Draft, number: int, said: _Said) -> None:
        self._draft, self._page, self._said, self._number = draft, f"p{number}", said, 0

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
        pieces = _pieces(page)
        if self._told("otated text"):
            self._draft.problem("text_rotated", self._page)
            return [Block(text) for text in clean(page.extract_text()).split("\n") if text.strip()]
        text = "".join(piece.text for piece in pieces)
        strange = sum(1 for c in text if c == "\ufffd" or "\ue000" <= c <= "\uf8ff" or c < " ")
        if not unknown and (strange > UNMAPPED * len(text) or self._told("uninterpretable")):
            self._draft.problem("characters_unmapped", self._page)
            if strange > UNMAPPED * len(text):
                return []
        lines = lines_of(pieces)
        usual = median(line.height for line in lines) if lines else 0.0
        return [_headed(block, usual) for block in blocks_of(lines)]

    def _told(self, words: str) -> bool:
        return any(words in message for message in self._said.messages)

    def _write(self, block: Block) -> None:
        if block.kind != "table":
            self._next(block.text, block.kind)
            return
        rows = []
        for cells in block.rows:
            self._number += 1
            rows.append(Row(f"{self._page}:¶{self._number}", cells))
        write_table(self._draft, rows)

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


def _pieces(page: Any) -> list[Piece]:
    contents = page.get("/Contents")
    if contents is None:
        return []
    fonts = page._layout_mode_fonts()
    operations = ContentStream(contents.get_object(), page.pdf, "bytes").operations
    upright = chain([([], b"q"), (_turn(page), b"cm")], operations, [([], b"Q")])
    return [
        Piece(
            float(one["tx"]), float(one["displaced_tx"]), float(one["ty"] * one["flip_sort"]),
            abs(float(one["font_height"])) or 1.0, one["text"],
        )
        for one in _layout_mode.text_show_operations(upright, fonts, True)
    ]  # fmt: skip


def _turn(page: Any) -> list[float]:
    """The matrix that puts a page of `/Rotate` 90, 180 or 270 the way it is shown."""
    box = page.mediabox
    width, height = float(box.width), float(box.height)
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

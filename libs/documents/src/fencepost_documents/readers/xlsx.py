"""Workbooks by openpyxl, streamed: values as they were last computed, and formulas that never were."""

from __future__ import annotations

import io
import re
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final

import openpyxl
from defusedxml.common import DefusedXmlException
from openpyxl.utils import get_column_letter
from openpyxl.utils.cell import range_boundaries
from openpyxl.utils.exceptions import InvalidFileException

from fencepost_documents.draft import Draft, clean
from fencepost_documents.errors import DocumentRefused
from fencepost_documents.limits import MIB
from fencepost_documents.tables import Row, find_header, write_table

MERGE: Final = re.compile(rb'<(?:\w+:)?mergeCell\s[^>]*?ref="([A-Z]{1,3}\d{1,7}:[A-Z]{1,3}\d{1,7})"')
HIDDEN: Final = re.compile(rb'<(?:\w+:)?row\s[^>]*?\bhidden="(?:1|true)"')
CARRIED: Final = 512  # bytes kept between chunks, so that no tag is cut
MERGES_MAX: Final = 20_000
MERGED_CELLS_MAX: Final = 200_000  # cells that a value is repeated into
BROKEN: Final = (KeyError, ValueError, TypeError, AttributeError, IndexError, zipfile.BadZipFile, SyntaxError)


def read(data: bytes, draft: Draft) -> None:
    warnings.simplefilter("ignore")  # openpyxl tells of styles and extensions it doesn't keep
    try:
        values, formulas = (_open(data, values=True), _open(data, values=False))
        for name in values.sheetnames:
            _Sheet(draft, name, _marks(data, values, name)).read(values[name], formulas[name])
    except (*BROKEN, InvalidFileException, DefusedXmlException) as error:
        raise DocumentRefused("corrupt", f"not a whole workbook: {error}"[:300]) from error


def _open(data: bytes, *, values: bool) -> Any:
    return openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=values, keep_links=False)


@dataclass(frozen=True, slots=True)
class Marks:
    """What a streamed sheet doesn't tell. origins: (row, column) -> (row, column) of the merge it lies in."""

    origins: Mapping[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    merges: int = 0
    hidden_rows: int = 0


def _marks(data: bytes, book: Any, name: str) -> Marks:
    """Merges and hidden rows, by a pass over the sheet's bytes: they stand behind all of its cells, and a
    parser that keeps the tree would need what streaming saves. Names of other things can't match.
    """
    path = getattr(book[name], "_worksheet_path", None)
    if path is None:
        return Marks()
    merges, hidden, kept = list[str](), 0, b""
    with zipfile.ZipFile(io.BytesIO(data)) as package, package.open(path) as stream:
        while chunk := stream.read(MIB):
            text = kept + chunk
            cut = max(0, len(text) - CARRIED) if len(chunk) == MIB else len(text)
            hidden += sum(1 for found in HIDDEN.finditer(text) if found.start() < cut)
            merges += [f[1].decode() for f in MERGE.finditer(text) if f.start() < cut]
            kept = text[cut:]
            if len(merges) > MERGES_MAX:
                break
    return Marks(_origins(merges[:MERGES_MAX]), len(merges), hidden)


def _origins(merges: list[str]) -> dict[tuple[int, int], tuple[int, int]]:
    origins: dict[tuple[int, int], tuple[int, int]] = {}
    for one in merges:
        left, top, right, bottom = range_boundaries(one)
        if (right - left + 1) * (bottom - top + 1) + len(origins) > MERGED_CELLS_MAX:
            continue  # a whole column merged is decoration
        for row in range(top, bottom + 1):
            for column in range(left, right + 1):
                if (row, column) != (top, left):
                    origins[row, column] = (top, left)
    return origins


class _Sheet:
    def __init__(self, draft: Draft, name: str, marks: Marks) -> None:
        self._draft, self._marks = draft, marks
        self._sheet = name if re.fullmatch(r"[\w.]+", name) else "'" + name.replace("'", "''") + "'"
        self._tops: dict[tuple[int, int], str] = {}
        self._starts = set(marks.origins.values())

    def read(self, values: Any, formulas: Any) -> None:
        if values.sheet_state != "visible":
            self._draft.problem("hidden_sheet", self._sheet)
        if not hasattr(values, "iter_rows"):
            self._draft.problem("chart_sheet", self._sheet)
            return
        if self._marks.merges:
            self._draft.problem("merged_cells", self._sheet, f"{self._marks.merges}")
        if self._marks.hidden_rows:
            self._draft.problem("hidden_rows", self._sheet, f"{self._marks.hidden_rows}")
        head: Row | None = None
        for block in self._blocks(values, formulas):
            at = find_header(block)
            if at is None and head is not None and sum(map(bool, block[0].cells)) > 1:
                write_table(self._draft, [head, *block], head_known=True)  # the table goes on after a gap
                continue
            head = block[at] if at is not None else head
            write_table(self._draft, block)

    def _blocks(self, values: Any, formulas: Any) -> Iterator[list[Row]]:
        """Rows without a gap, in order."""
        values.reset_dimensions()  # the stated size may be a lie; what is there is read
        formulas.reset_dimensions()
        block: list[Row] = []
        pairs = zip(values.iter_rows(), formulas.iter_rows(), strict=False)
        for number, (shown, written) in enumerate(pairs, 1):
            row = self._row(number, shown, written)
            if any(row.cells):
                block.append(row)
            elif block:
                yield block
                block = []
        if block:
            yield block

    def _row(self, number: int, shown: Any, written: Any) -> Row:
        cells, spans = list[str](), set[int]()
        for column, cell in enumerate(shown, 1):
            text = self._cell(number, column, cell, written[column - 1] if column <= len(written) else None)
            origin = self._marks.origins.get((number, column))
            if origin:
                text = text or self._tops.get(origin, "")
                if origin[0] == number:
                    spans.add(column - 1)
            elif (number, column) in self._starts:
                self._tops[number, column] = text
            cells.append(text)
        while cells and not cells[-1]:
            cells.pop()
        places = tuple(f"{self._sheet}!{get_column_letter(i + 1)}{number}" for i in range(len(cells)))
        filled = [i for i, cell in enumerate(cells) if cell]
        own = any((number, i + 1) not in self._marks.origins for i in filled)
        return Row(f"{self._sheet}!{number}", tuple(cells) if own else (), places, frozenset(spans))

    def _cell(self, number: int, column: int, cell: Any, written: Any) -> str:
        formula = getattr(written, "value", None)
        if cell.value is None:
            text = getattr(formula, "text", formula)  # an array formula is an object with its text
            if not isinstance(text, str) or not text.startswith("="):
                return ""
            self._draft.problem(
                "formula_without_value", f"{self._sheet}!{get_column_letter(column)}{number}", text
            )
            return text
        return said(cell.value, getattr(cell, "number_format", "") or "")


def said(value: object, number_format: str) -> str:
    """A value as a person writes it: ISO dates, numbers without float noise, percent as percent."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ", "minutes")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, time):
        return value.isoformat("minutes" if not value.second else "seconds")
    if isinstance(value, timedelta):
        return str(value)
    if isinstance(value, int | float):
        if "%" in number_format:
            return f"{_plain(value * 100)}%"
        return _plain(value)
    return clean(str(value))


def _plain(number: float) -> str:
    """15 digits are what the program itself keeps: 0.1 + 0.2 is 0.3."""
    text = format(Decimal(f"{number:.15g}"), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text

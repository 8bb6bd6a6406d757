"""CSV and its relatives: the delimiter is found, the header is found, a quote that never closes is said."""

from __future__ import annotations

import csv
import io
from collections import Counter
from typing import Final

from fencepost_documents.draft import Draft
from fencepost_documents.errors import DocumentRefused
from fencepost_documents.limits import MIB
from fencepost_documents.readers.text import lines
from fencepost_documents.tables import Row, write_table

DELIMITERS: Final = (",", "\t", ";", "|", "，")
LOOKED_AT: Final = 50  # records
SURE_SHARE: Final = 0.9  # of records with the same number of cells, for a file that isn't called CSV


def looks_delimited(text: str, *, named: bool) -> str | None:
    """The delimiter, None for no table. named: the file calls itself CSV, so less will do."""
    found: list[tuple[float, int, str]] = []
    for delimiter in DELIMITERS:
        counts = _widths(text, delimiter)
        if not counts:
            continue
        width, times = counts.most_common(1)[0]
        if width >= 2:
            found.append((times / counts.total(), width, delimiter))
    if not found:
        return "," if named else None
    share, width, delimiter = max(found, key=lambda one: (one[0] >= SURE_SHARE, one[0] * one[1]))
    records = _widths(text, delimiter).total()
    if named or (share >= SURE_SHARE and records >= 3 and (width >= 3 or delimiter in "\t|")):
        return delimiter
    return None


def _widths(text: str, delimiter: str) -> Counter[int]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    counts: Counter[int] = Counter()
    try:
        for record in reader:
            if any(cell.strip() for cell in record):
                counts[len(record)] += 1
            if counts.total() >= LOOKED_AT:
                break
    except csv.Error:  # not this delimiter, or broken quotes: the reading itself says which
        return counts
    return counts


def read(text: str, draft: Draft, delimiter: str) -> None:
    csv.field_size_limit(16 * MIB)
    rows = _quoted(text, delimiter) or _unquoted(text, delimiter, draft)
    kept = [row for row in rows if any(row.cells)]
    for row in kept:
        if any("\ufffd" in cell for cell in row.cells):
            draft.problem("replacement_character", row.locator)
    if not kept:
        return
    width = Counter(len(row.cells) for row in kept).most_common(1)[0][0]
    for row in kept:
        if len(row.cells) not in (width, 1) and not _only_trailing(row, width):
            draft.problem("row_uneven", row.locator, f"{len(row.cells)} cells, most rows have {width}")
    write_table(draft, kept)


def _only_trailing(row: Row, width: int) -> bool:
    """Excel ends short rows early and long ones with empty cells; neither loses anything."""
    return not any(row.cells[width:]) and len(row.cells) >= width


def _quoted(text: str, delimiter: str) -> list[Row] | None:
    """None when the quotes don't match: then a strict reader says so, a lax one swallows the rest."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows, start = list[Row](), 1
    try:
        for record in reader:
            rows.append(Row(f"line{start}", tuple(cell.strip() for cell in record)))
            start = reader.line_num + 1
    except csv.Error:
        return None
    return rows


def _unquoted(text: str, delimiter: str, draft: Draft) -> list[Row]:
    draft.problem("quotes_broken", None)
    rows = []
    for number, line in enumerate(lines(text), 1):
        try:
            cells = next(csv.reader([line], delimiter=delimiter, quoting=csv.QUOTE_NONE), [])
        except csv.Error as error:
            raise DocumentRefused("corrupt", str(error), f"line {number}") from error
        rows.append(Row(f"line{number}", tuple(cell.strip() for cell in cells)))
    return rows

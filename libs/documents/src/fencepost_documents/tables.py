"""Rows to units: which row heads a table, and what each cell below it is called.

A table's header is looked for, never assumed: a first row of short, different words, with rows below it.
Rows without one are units too; they only have no columns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from fencepost_documents.draft import Draft, clean
from fencepost_documents.fields import canonical

HEADER_WITHIN: Final = 12  # rows; titles, a date and a unit line may stand above the header
LONGEST_HEADER: Final = 40  # characters of a header cell
JOINED: Final = " | "
_VALUE: Final = re.compile(
    r"^[¥￥$€£]?\s*[-+(]?[\d,.]+\s*[%)]?$|^\d{4}[-/.年]\d{1,2}([-/.月]\d{1,2}日?)?|^\d{1,2}:\d{2}|@|^https?:"
)


@dataclass(frozen=True, slots=True)
class Row:
    """A row as it is read. locator: of the row; cells: texts by column, "" where empty;
    cell_locators: of each cell where the format has them; spans: columns filled by a merge from their left.
    """

    locator: str
    cells: tuple[str, ...]
    cell_locators: tuple[str, ...] = ()
    spans: frozenset[int] = field(default_factory=frozenset)


def write_table(draft: Draft, rows: Sequence[Row], *, head_known: bool = False) -> None:
    """Units of a block of rows without a gap: titles above the header as cells, then rows with columns.

    head_known: the first row is the header of an earlier block, which has its unit already.
    """
    at = 0 if head_known else find_header(rows)
    if at is None:
        for row in rows:
            _plain(draft, row)
        return
    for row in rows[:at]:
        _above(draft, row)
    names, used = _names(rows, at)
    for row in () if head_known else rows[at : at + used]:
        draft.unit(row.locator, "table_row", _text(row))
    for row in rows[at + used :]:
        _under(draft, row, names)


def find_header(rows: Sequence[Row]) -> int | None:
    """The row that names the columns: one that knows fields wins over one that only looks like a header."""
    looked = [at for at, row in enumerate(rows[:HEADER_WITHIN]) if _could_head(row) and at + 1 < len(rows)]
    known = [at for at in looked if names_fields(rows[at])]
    if known:
        return known[0]
    for at in looked:
        below = rows[at + 1 :]
        if any(canonical(cell) for cell in rows[at].cells) or _differs(rows[at], below):
            return at
    return None


def names_fields(row: Row) -> bool:
    """Two or more of its cells name fields that people head columns with."""
    return sum(canonical(cell) is not None for cell in row.cells) >= 2


def _could_head(row: Row) -> bool:
    filled = [cell for index, cell in enumerate(row.cells) if cell and index not in row.spans]
    return (
        len(filled) >= 2
        and all(len(cell) <= LONGEST_HEADER and not _VALUE.search(cell) for cell in filled)
        and len(set(filled)) >= max(2, len(filled) - 1)
    )


def _differs(head: Row, below: Sequence[Row]) -> bool:
    """Words above, values below in some column; or simply words over many rows of its full width."""
    for index, cell in enumerate(head.cells):
        values = [row.cells[index] for row in below[:20] if index < len(row.cells) and row.cells[index]]
        if cell and values and sum(bool(_VALUE.search(value)) for value in values) > len(values) / 2:
            return True
    full = [row for row in below if sum(map(bool, row.cells)) == sum(map(bool, head.cells))]
    return all(head.cells) and len(full) >= 2 and len(full) > len(below) / 2


def _names(rows: Sequence[Row], at: int) -> tuple[list[str], int]:
    """Names of the columns, and how many rows they stand in: two where the upper one spans columns."""
    head = rows[at]
    names = list(head.cells)
    used = 1
    if (
        head.spans
        and at + 2 < len(rows)
        and not any(_VALUE.search(cell) for cell in rows[at + 1].cells if cell)
    ):
        used = 2
        lower = rows[at + 1].cells
        upper = _carried(head)
        names = [
            f"{upper[i]}/{lower[i]}" if i < len(lower) and lower[i] and upper[i] and lower[i] != upper[i]
            else upper[i] or (lower[i] if i < len(lower) else "")
            for i in range(max(len(upper), len(lower)))
        ]  # fmt: skip
    return _distinct(names), used


def _carried(row: Row) -> list[str]:
    cells: list[str] = []
    for index, cell in enumerate(row.cells):
        cells.append(cells[-1] if index in row.spans and cells and not cell else cell)
    return cells


def _distinct(names: Sequence[str]) -> list[str]:
    """A column without a name is called by its number; a name that comes again gets one behind it."""
    made: list[str] = []
    for index, name in enumerate(names):
        plain = clean(name).replace("\n", " ") or f"#{index + 1}"
        same, number = plain, 2
        while same in made:
            same, number = f"{plain} ({number})", number + 1
        made.append(same)
    return made


def _under(draft: Draft, row: Row, names: Sequence[str]) -> None:
    filled = [cell for cell in row.cells if cell]
    if not filled:
        return
    if len(filled) == 1 and len(names) > 2 and not row.cell_locators:
        draft.unit(row.locator, "table_row", filled[0])
        return
    extra = [cell for cell in row.cells[len(names) :] if cell]
    if extra:
        draft.problem("row_uneven", row.locator, f"{len(names) + len(extra)} cells, {len(names)} headers")
    columns = dict(zip(names, row.cells, strict=False))
    columns |= {f"#{len(names) + index + 1}": cell for index, cell in enumerate(extra)}
    draft.unit(row.locator, "table_row", _text(row), columns={n: v for n, v in columns.items() if v})


def _above(draft: Draft, row: Row) -> None:
    for index, cell in enumerate(row.cells):
        if cell and index not in row.spans:
            place = row.cell_locators[index] if index < len(row.cell_locators) else row.locator
            draft.unit(place, "cell", cell)


def _plain(draft: Draft, row: Row) -> None:
    if sum(map(bool, row.cells)) == 1:
        _above(draft, row)
    else:
        draft.unit(row.locator, "table_row", _text(row))


def _text(row: Row) -> str:
    return JOINED.join(
        " ".join(cell.split()) for index, cell in enumerate(row.cells) if cell and index not in row.spans
    )

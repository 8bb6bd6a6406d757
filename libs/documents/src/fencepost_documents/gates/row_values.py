"""Whether a row says what its record says: the same thing, its whole times, its amounts unchanged."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from fencepost_domain.gates import Violation

from fencepost_documents.fields import canonical
from fencepost_documents.ir import Record
from fencepost_documents.office.clean import squeeze
from fencepost_documents.office.outline import Row, Table

from .fields import is_time, meets

_DIGITS: Final = re.compile(r"\d+")
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH: Final = re.compile(rf"\b({'|'.join(_MONTHS)})[a-z]*\b", re.I)
_AFTERNOON: Final = re.compile(r"(\d{1,2})(?:[:.]\d{2})?\s*p\.?m|(?:下午|晚上?|傍晚|中午)\s*(\d{1,2})", re.I)
_NUMBER: Final = re.compile(
    r"(\d[\d,，\u00a0\u202f]*(?:\.\d+)?)\s*(百万|万|亿|千|k\b|m\b|thousand|million)?", re.I
)
_COLUMN_UNIT: Final = re.compile(r"[（(][^（()）]*?(百万|万|亿|千|thousand|million)[^（()）]*[）)]", re.I)
_DECIMAL_COMMA: Final = re.compile(r",\d{1,2}(?!\d)")
_TIMES_OF: Final = {
    "万": 10_000, "亿": 100_000_000, "千": 1_000, "百万": 1_000_000,
    "k": 1_000, "m": 1_000_000, "thousand": 1_000, "million": 1_000_000,
}  # fmt: skip
_COUNTED: Final = frozenset({"amount", "quantity"})
_CODES: Final = frozenset({"number", "phone"})


def judge_row(here: str, table: Table, row: Row, record: Record) -> Iterator[Violation]:
    """The row is of this record; its times say all that the source says, its numbers nothing else."""
    values = [value for value in record.fields.values() if squeeze(value)]
    if values and not any(_shares(cell, value) for cell in row.cells for value in values):
        said = f"nothing of the row stands at {record.source_locator}"
        yield Violation(
            "record_mismatch", here, said, "take the cells from the record that the locator names"
        )
        return
    for name, value in record.fields.items():
        for at, (column, cell) in enumerate(zip(table.columns, row.cells, strict=False)):
            if not meets(column, name) or _of_another(column, name, record):
                continue
            said = f"the source says {value[:80]!r}, the cell {cell[:80]!r}"
            position = f"{here}/cells/{at}"
            if is_time(name) and _numbers(value) - _told(cell):
                fix = "give the whole time, as the source has it"
                yield Violation("time_incomplete", position, said, fix)
            elif not is_time(name) and _is_changed(canonical(name) or name, value, cell, column):
                yield Violation("record_mismatch", position, said, "write the value that the source has")


def _of_another(column: str, name: str, record: Record) -> bool:
    """The column is that of another of the record's fields: `结束时间` isn't short of `开始时间`."""
    exact = [field for field in record.fields if squeeze(field).casefold() == squeeze(column).casefold()]
    if exact:
        return name not in exact
    return not is_time(name) and sum(1 for field in record.fields if meets(column, field)) > 1


def _numbers(text: str) -> set[int]:
    return {int(digits) for digits in _DIGITS.findall(text)}


def _told(cell: str) -> set[int]:
    """Numbers of a time as people write it: `4 March` says 3, `2:30 pm` and `下午2点` say 14."""
    months = {_MONTHS.index(found.casefold()) + 1 for found in _MONTH.findall(cell)}
    late = {int(one or other) % 12 + 12 for one, other in _AFTERNOON.findall(cell)}
    return _numbers(cell) | months | late


def _is_changed(name: str, value: str, cell: str, column: str) -> bool:
    """An amount or a code is another one. A cell without a number says none; an amount may be rounded."""
    if name in _CODES:
        have, want = ("".join(_DIGITS.findall(text)) for text in (cell, value))
        return bool(have) and len(want) >= 3 and want not in have and have not in want
    if name not in _COUNTED:
        return False
    said, told = list(_amounts(value)), list(_amounts(cell, _unit_of(column)))
    if len(_NUMBER.findall(value)) != 1 or _DECIMAL_COMMA.search(value) or not told:
        return False  # a range, words, or a number that can be read in two ways
    return not any(abs(amount - exact) <= step / 2 for amount, step in told for exact, _ in said)


def _unit_of(column: str) -> str:
    """`金额（万元）`, `Cost (thousand)`: what the column's numbers are times of."""
    found = _COLUMN_UNIT.search(column)
    return found.group(1) if found else ""


def _amounts(text: str, unit: str = "") -> Iterator[tuple[Decimal, Decimal]]:
    """Each reading of each number of a text, and the step of the last digit it shows.

    `1.2万` is 12000 in steps of 1000, or 1.2: `5 m` may be metres. unit: of the column, for numbers without
    one.
    """
    for digits, own in _NUMBER.findall(text):
        plain = re.sub(r"[^\d.]", "", digits)
        step = Decimal(1).scaleb(-len(plain.partition(".")[2]))
        yield Decimal(plain), step
        if scale := _TIMES_OF.get((own or unit).casefold()):
            yield Decimal(plain) * scale, step * scale


def _shares(cell: str, value: str) -> bool:
    """They have words or numbers in common; a translation keeps the numbers."""
    have, want = squeeze(cell).casefold(), squeeze(value).casefold()
    if have and (have in want or want in have):
        return True
    if _numbers(cell) & _numbers(value):
        return True
    return any(have[at : at + 2] in want for at in range(len(have) - 1)) and not have.isascii()

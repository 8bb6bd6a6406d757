"""What is really in a made file, read again from its bytes: what the gate compares the maker's words with.

    seen = await inspect_file(data, "报告.pptx")

The reading runs in the same limited child process as that of strangers' documents. A file that doesn't open
is an answer too: `opens` is false, and `refused` says why.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, ValidationError

from fencepost_documents.errors import DocumentRefused
from fencepost_documents.limits import DEFAULT, Limits
from fencepost_documents.read import ask_child

from .clean import clean_line, squeeze
from .outline import AnyOutline, tables_of

COMMAND: Final = (sys.executable, "-I", "-B", "-X", "utf8", "-m", "fencepost_documents.office.inspect_child")
CONTINUED: Final = frozenset(
    {"（续）", "(cont.)"}
)  # in the first cell of a row that goes on from the last page


class SeenTable(BaseModel):
    """All tables of a file under one header, as one. rows: records; lines that go on with one aren't counted.
    digests: of each column, over all its cells in order, without white space.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    columns: tuple[str, ...]
    rows: int
    digests: tuple[str, ...]


class Inspection(BaseModel):
    """kind: by content. pages: slides of a deck. blank: pages without a word, picture or chart.
    formulas: cells that compute. active: macros, links out of the file, embedded programs.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    opens: bool
    sha256: str
    size_bytes: int
    refused: str = ""
    kind: str = ""
    pages: int = 0
    blank: tuple[int, ...] = ()
    characters: int = 0
    tables: tuple[SeenTable, ...] = ()
    charts: int = 0
    notes: int = 0
    formulas: int = 0
    active: tuple[str, ...] = ()
    fonts: tuple[str, ...] = ()


async def inspect_file(data: bytes, name: str, *, limits: Limits = DEFAULT) -> Inspection:
    """name: a hint only. Never raises for a bad file; raises OSError when no child can be started."""
    known: dict[str, Any] = {"sha256": hashlib.sha256(data).hexdigest(), "size_bytes": len(data)}
    try:
        said = await ask_child(data, name, limits, COMMAND)
    except DocumentRefused as error:
        return Inspection(opens=False, refused=str(error), **known)
    if refused := said.get("refused"):
        return Inspection(opens=False, refused=f"{refused['code']}: {refused['detail']}", **known)
    try:
        return Inspection.model_validate({"opens": True, **said, **known})
    except ValidationError as error:
        return Inspection(
            opens=False, refused=f"the reader's answer has {error.error_count()} faults", **known
        )


def gather(tables: Iterable[Sequence[Sequence[str]]]) -> list[SeenTable]:
    """Tables, each its rows with the header first, joined by header: one cut over pages is one again."""
    joined: dict[tuple[str, ...], list[list[str]]] = {}
    counts: dict[tuple[str, ...], int] = {}
    for rows in tables:
        if not rows:
            continue
        header = tuple(clean_line(cell) for cell in rows[0])
        columns = joined.setdefault(header, [[] for _ in header])
        counts.setdefault(header, 0)
        for row in rows[1:]:
            goes_on = bool(row) and row[0].strip() in CONTINUED
            counts[header] += not goes_on
            for index, cells in enumerate(columns):
                cell = row[index] if index < len(row) else ""
                cells.append("" if goes_on and not index else cell)
    return [
        SeenTable(columns=header, rows=counts[header], digests=tuple(digest_of(cells) for cells in columns))
        for header, columns in joined.items()
    ]


def expected_tables(outline: AnyOutline) -> list[SeenTable]:
    """The same of what was asked for."""
    return gather(
        [list(table.columns), *(list(row.cells) for row in table.rows)] for table in tables_of(outline)
    )


def digest_of(cells: Iterable[str]) -> str:
    """Of the cells' text without white space, so that a cell that was cut over pages is itself again."""
    text = "".join(squeeze(cell) for cell in cells)
    return hashlib.sha256(text.encode()).hexdigest()[:32]

"""What no outline of any kind may have: a table or chart that contradicts itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fencepost_domain.gates import Violation

from fencepost_documents.office.outline import AnyOutline, DocumentOutline, Outline, Table

from .presentation_shape import judge_chart, judge_columns


def faults(outline: AnyOutline) -> Iterator[Violation]:
    """In order of the outline; each would give a file that can't hold what was asked for."""
    for pointer, part in _parts(outline):
        if part.table is not None:
            yield from judge_columns(f"{pointer}/table", part.table)
            yield from _uneven(f"{pointer}/table", part.table)
        if part.chart is not None:
            yield from judge_chart(f"{pointer}/chart", part.chart)


def _parts(outline: AnyOutline) -> Iterator[tuple[str, Any]]:
    if isinstance(outline, Outline):
        yield from ((f"/slides/{at}", slide) for at, slide in enumerate(outline.slides))
    elif isinstance(outline, DocumentOutline):
        yield from ((f"/sections/{at}", section) for at, section in enumerate(outline.sections))
    else:
        yield from ((f"/sheets/{at}", sheet) for at, sheet in enumerate(outline.sheets))


def _uneven(pointer: str, table: Table) -> Iterator[Violation]:
    for at, row in enumerate(table.rows):
        if len(row.cells) != len(table.columns):
            said = f"{len(row.cells)} cells for {len(table.columns)} columns"
            fix = "one cell for each column, in their order"
            yield Violation("cells_mismatch", f"{pointer}/rows/{at}/cells", said, fix)

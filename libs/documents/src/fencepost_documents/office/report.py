"""What a writer says of the file it made. It is a claim: the gate checks it against outline and file."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from .clean import clean_line, replaced
from .outline import AnyOutline, charts_of, tables_of


class QualityReport(BaseModel):
    """pages: slides of a deck, 0 for the others. rows: records, not lines on paper. fields: all columns,
    once. cited: rows with a source locator. coverage_ratio: cited by rows, 1 without rows. replaced:
    characters shown as U+FFFD because no file can hold them. truncated: whether anything asked for was
    left out; writers never do.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    pages: int
    tables: int
    charts: int
    rows: int
    cited: int
    fields: tuple[str, ...]
    sources: tuple[str, ...]
    coverage_ratio: float
    replaced: int
    truncated: bool
    fonts: tuple[str, ...]


def report_on(outline: AnyOutline, kind: str, *, pages: int, fonts: Sequence[str]) -> QualityReport:
    rows = [row for table in tables_of(outline) for row in table.rows]
    cited = sum(1 for row in rows if row.source_locator)
    return QualityReport(
        kind=kind,
        pages=pages,
        tables=len(tables_of(outline)),
        charts=len(charts_of(outline)),
        rows=len(rows),
        cited=cited,
        fields=tuple(
            dict.fromkeys(clean_line(name) for table in tables_of(outline) for name in table.columns)
        ),
        sources=outline.sources,
        coverage_ratio=cited / len(rows) if rows else 1.0,
        replaced=_replaced(outline),
        truncated=False,
        fonts=tuple(fonts),
    )


def _replaced(value: object) -> int:
    if isinstance(value, str):
        return replaced(value)
    if isinstance(value, BaseModel):
        return sum(_replaced(getattr(value, name)) for name in type(value).model_fields)
    if isinstance(value, tuple):
        return sum(_replaced(one) for one in value)
    return 0

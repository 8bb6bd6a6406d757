"""Source IR: what a document says, in units that each name their place (`source-ir-v1`).

Locators, as text that a person can follow in the file:

| kind | locator | means |
|---|---|---|
| pdf | `p3:¶2` | page 3, paragraph 2 of that page |
| docx | `¶14`, `¶14:r2` | block 14 of the body; row 2 of the table that is block 14 |
| xlsx | `Sheet1!B7`, `Sheet1!7` | a cell; a row |
| pptx | `slide4:2`, `slide4:2:r3`, `slide4:note` | text 2 of slide 4; row 3 of that table; its notes |
| csv, markdown, text | `line12` | the line where the unit starts |

Everything counts from 1. Text is data: nothing in it is ever followed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

SCHEMA_VERSION: Final = "source-ir-v1"

Kind = Literal["pdf", "docx", "pptx", "xlsx", "csv", "markdown", "text"]
UnitKind = Literal[
    "heading", "paragraph", "table_row", "cell", "slide_title", "slide_text", "note", "list_item"
]


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Unit(Frozen):
    """One thing the document says.

    text: what a reader sees there; of a row, its cells joined by ` | `.
    level: of a heading, 1 for the highest; of a list item, its depth.
    columns: of a row under a header row, header -> cell; None where no header is known.
    """

    locator: Annotated[str, Field(min_length=1)]
    kind: UnitKind
    text: str
    level: int | None = None
    columns: Mapping[str, str] | None = None


class Problem(Frozen):
    """Something that could not be read, or was left out on purpose; the rest of the document stands.

    code: for machines, one of `problems.py`; locator: where, None for the whole file.
    """

    code: str
    locator: str | None = None
    detail: str = ""


class SourceDocument(Frozen):
    """A document, read. artifact_id: "" until the caller says whose bytes these were."""

    artifact_id: str = ""
    name: str
    kind: Kind
    sha256: str
    units: tuple[Unit, ...] = ()
    problems: tuple[Problem, ...] = ()
    schema_version: Literal["source-ir-v1"] = SCHEMA_VERSION


class Record(Frozen):
    """One item of a document: its fields, and the unit they stand in."""

    source_locator: Annotated[str, Field(min_length=1)]
    artifact_id: str
    fields: Mapping[str, str]


class Coverage(Frozen):
    """What of the document the records stand for.

    units_total: units that look like a record; units_used: those that became one;
    ratio: used / total, 1.0 where there is nothing to cover; left_out: locators of the others.
    """

    units_total: Annotated[int, Field(ge=0)]
    units_used: Annotated[int, Field(ge=0)]
    ratio: Annotated[float, Field(ge=0, le=1)]
    left_out: tuple[str, ...] = ()


class RecordSet(Frozen):
    """records in the order of the source; fields: their names, in order of first appearance."""

    records: tuple[Record, ...] = ()
    fields: tuple[str, ...] = ()
    coverage: Coverage

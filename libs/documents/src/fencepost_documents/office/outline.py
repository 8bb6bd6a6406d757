"""What is asked of an office file, before it is one: the arguments of the three `work.create_*` tools.

Frozen, closed, bounded. All text is data: it may hold anything, and the writers clean it. The models check
shape; whether the content is right is the gate's to say (`fencepost_documents.gates`).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from .clean import storable

Language = Literal["zh", "en"]
# A lone surrogate isn't text to pydantic; as U+FFFD it is, and the title around it stays readable.
Raw = Annotated[str, BeforeValidator(storable)]
Title = Annotated[Raw, Field(min_length=1, max_length=300)]
Short = Annotated[Raw, Field(max_length=300)]
Text = Annotated[Raw, Field(max_length=4_000)]
Notes = Annotated[Raw, Field(max_length=20_000)]
Locator = Annotated[Raw, Field(max_length=300)]
Artifact = Annotated[str, Field(min_length=1, max_length=64)]


class _Closed(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Row(_Closed):
    """One record. source_locator: its place (`Sheet1!7`), `<artifact id>#<place>` with several sources."""

    cells: Annotated[tuple[Text, ...], Field(min_length=1, max_length=50)]
    source_locator: Locator | None = None


class Table(_Closed):
    columns: Annotated[tuple[Short, ...], Field(min_length=1, max_length=50)]
    rows: Annotated[tuple[Row, ...], Field(max_length=5_000)] = ()


class Series(_Closed):
    """values: one for each category; None where there is none."""

    name: Short
    values: Annotated[tuple[float | None, ...], Field(min_length=1, max_length=200)]


class Chart(_Closed):
    kind: Literal["bar", "column", "line", "pie"]
    categories: Annotated[tuple[Short, ...], Field(min_length=1, max_length=200)]
    series: Annotated[tuple[Series, ...], Field(min_length=1, max_length=12)]
    title: Short = ""


class Slide(_Closed):
    """One topic; a long one takes several pages of the file. notes: for the speaker."""

    title: Title
    kind: Literal["title", "bullets", "table", "chart", "closing"]
    bullets: Annotated[tuple[Text, ...], Field(max_length=100)] = ()
    table: Table | None = None
    chart: Chart | None = None
    notes: Notes = ""


class Outline(_Closed):
    """A presentation. sources: ids of the artifacts it is made from."""

    title: Title
    language: Language
    slides: Annotated[tuple[Slide, ...], Field(min_length=1, max_length=200)]
    sources: Annotated[tuple[Artifact, ...], Field(max_length=50)] = ()


class Section(_Closed):
    """A heading and what stands below it, in this order: paragraphs, bullets, table, chart."""

    title: Title
    level: Annotated[int, Field(ge=1, le=4)] = 1
    paragraphs: Annotated[tuple[Text, ...], Field(max_length=500)] = ()
    bullets: Annotated[tuple[Text, ...], Field(max_length=200)] = ()
    table: Table | None = None
    chart: Chart | None = None


class DocumentOutline(_Closed):
    title: Title
    language: Language
    sections: Annotated[tuple[Section, ...], Field(min_length=1, max_length=300)]
    sources: Annotated[tuple[Artifact, ...], Field(max_length=50)] = ()


class Sheet(_Closed):
    """name: shown on the tab; made to fit what Excel allows."""

    name: Annotated[Raw, Field(min_length=1, max_length=100)]
    table: Table
    chart: Chart | None = None


class WorkbookOutline(_Closed):
    title: Title
    language: Language
    sheets: Annotated[tuple[Sheet, ...], Field(min_length=1, max_length=50)]
    sources: Annotated[tuple[Artifact, ...], Field(max_length=50)] = ()


AnyOutline = Outline | DocumentOutline | WorkbookOutline


def tables_of(outline: AnyOutline) -> tuple[Table, ...]:
    """All tables in order."""
    match outline:
        case Outline():
            found = (slide.table for slide in outline.slides)
        case DocumentOutline():
            found = (section.table for section in outline.sections)
        case WorkbookOutline():
            found = (sheet.table for sheet in outline.sheets)
    return tuple(table for table in found if table is not None)


def charts_of(outline: AnyOutline) -> tuple[Chart, ...]:
    """All charts in order."""
    match outline:
        case Outline():
            found = (slide.chart for slide in outline.slides)
        case DocumentOutline():
            found = (section.chart for section in outline.sections)
        case WorkbookOutline():
            found = (sheet.chart for sheet in outline.sheets)
    return tuple(chart for chart in found if chart is not None)


def arguments_of(outline: AnyOutline) -> dict[str, Any]:
    """The outline as a tool's arguments: what isn't there isn't said."""
    return outline.model_dump(mode="json", exclude_none=True, exclude_defaults=True)

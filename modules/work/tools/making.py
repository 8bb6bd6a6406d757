"""Making office files: an outline in, a file out that was looked into before anybody hears "done".

The same outline and run give the same bytes, so a file made again after a crash is the same one.
"""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from fencepost import Change, Plan, Preview, PreviewLine, Result, ToolContext, ToolRefused, tool
from fencepost_documents.gates.artifact import ArtifactFacts, judge
from fencepost_documents.gates.outlines import faults
from fencepost_documents.office.clean import clean_line
from fencepost_documents.office.deck_layout import lay_deck
from fencepost_documents.office.docx_writer import write_document
from fencepost_documents.office.inspection import inspect_file
from fencepost_documents.office.outline import AnyOutline, DocumentOutline, Outline, WorkbookOutline
from fencepost_documents.office.pptx_writer import write_presentation
from fencepost_documents.office.report import QualityReport, report_on
from fencepost_documents.office.xlsx_writer import write_workbook
from fencepost_domain.gates import reason
from fencepost_domain.task_contract import TaskContract
from pydantic import ValidationError

from .wording import pick

Arguments = Mapping[str, Any]
_OOXML: Final = "application/vnd.openxmlformats-officedocument."
_NAME_CHARS: Final = 80
_UNSAFE: Final = frozenset('/\\:*?"<>|.~')


@dataclass(frozen=True, slots=True)
class _Kind:
    """One kind of file: its suffix, its media type, the shape of its arguments and who writes it."""

    suffix: str
    media_type: str
    outline: type[AnyOutline]
    write: Callable[[Any, datetime], tuple[bytes, QualityReport]]
    zh: str
    en: str


_PPTX: Final = _Kind(
    "pptx", f"{_OOXML}presentationml.presentation", Outline, write_presentation, "演示文稿", "presentation"
)
_DOCX: Final = _Kind(
    "docx", f"{_OOXML}wordprocessingml.document", DocumentOutline, write_document, "文档", "document"
)
_XLSX: Final = _Kind(
    "xlsx", f"{_OOXML}spreadsheetml.sheet", WorkbookOutline, write_workbook, "工作簿", "workbook"
)


class _Creates:
    kind: _Kind

    async def prepare(self, args: Arguments, ctx: ToolContext) -> Plan:
        outline = _read(args, self.kind, ctx)
        names = [
            (await ctx.read_artifact(artifact, pointer=f"/sources/{at}")).name
            for at, artifact in enumerate(outline.sources)
        ]
        pages = len(await asyncio.to_thread(lay_deck, outline)) if isinstance(outline, Outline) else 0
        told = report_on(outline, self.kind.suffix, pages=pages, fonts=())
        lines = _lines(outline, told, names, self.kind, ctx.locale)
        title = pick(ctx.locale, f"生成{self.kind.zh}", f"Make a {self.kind.en}")
        text = pick(ctx.locale, "；", "; ").join(f"{one.label}: {one.value}" for one in lines)
        name = file_name(outline.title, self.kind.suffix)
        shown = {"kind", "pages", "tables", "charts", "rows", "fields", "sources"}
        after = {"name": name, **told.model_dump(mode="json", include=shown)}
        summary = pick(ctx.locale, f"新文件「{name}」", f"a new file “{name}”")
        return Plan(
            Preview(title=title, lines=tuple(lines), text=f"{title}: {text}"),
            Change(after=after, summary=summary),
        )

    async def make(self, args: Arguments, ctx: ToolContext) -> Result:
        outline = _read(args, self.kind, ctx)
        data, report = await asyncio.to_thread(self.kind.write, outline, ctx.asked_at)
        name = file_name(outline.title, self.kind.suffix)
        seen = await inspect_file(data, name)
        told = {"name": name, "media_type": self.kind.media_type, "sha256": seen.sha256,
                "quality_report": report.model_dump(mode="json")}  # fmt: skip
        facts = ArtifactFacts(contract=TaskContract(), kind=self.kind.suffix, outline=args, file=seen)
        result = judge(told, facts)  # what the task's own contract asks for is the run's gate to judge
        file = ctx.new_artifact(
            name, self.kind.media_type, data,
            evidence={"gate": result.to_json(), "quality_report": told["quality_report"]},
            status="verified" if result.passed else "rejected",
        )  # fmt: skip
        said = _said(name, report, self.kind, ctx.locale) if result.passed else reason(result)
        output = {
            **told,
            "artifact_id": str(file.id),
            "inspection": seen.model_dump(mode="json"),
            "text": said,
        }
        return Result(output, artifacts=[file])


@tool("work.create_presentation")
class CreatePresentation(_Creates):
    kind = _PPTX


@tool("work.create_document")
class CreateDocument(_Creates):
    kind = _DOCX


@tool("work.create_workbook")
class CreateWorkbook(_Creates):
    kind = _XLSX


def file_name(title: str, suffix: str) -> str:
    """A name for a title: nothing of a path, nothing unseen, short enough for every system."""
    seen = (char for char in clean_line(title) if unicodedata.category(char)[0] not in "CZ" or char == " ")
    stem = "".join("_" if char in _UNSAFE else char for char in seen).strip(" _")
    return f"{stem[:_NAME_CHARS].strip() or 'file'}.{suffix}"


def _read(args: Arguments, kind: _Kind, ctx: ToolContext) -> AnyOutline:
    """Raises ToolRefused with the pointer of the first thing that is wrong."""
    try:
        outline = kind.outline.model_validate(args)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        pointer = "".join(f"/{part}" for part in first["loc"])
        raise ToolRefused(first["msg"], pointer=pointer, code="outline_invalid") from error
    found = next(faults(outline), None)
    if found is not None:
        words = pick(ctx.locale, f"表格或图表前后不一致：{found.detail}", f"{found.detail}; {found.fix}")
        raise ToolRefused(words, pointer=found.position, code=found.code)
    return outline


def _lines(
    outline: AnyOutline, told: QualityReport, names: Sequence[str], kind: _Kind, locale: str
) -> list[PreviewLine]:
    comma = pick(locale, "、", ", ")
    lines = [PreviewLine(label=pick(locale, "标题", "Title"), value=clean_line(outline.title))]
    if told.pages:
        lines.append(PreviewLine(label=pick(locale, "页数", "Pages"), value=str(told.pages)))
    if told.tables:
        rows = pick(locale, f"{told.tables} 个，共 {told.rows} 行", f"{told.tables} with {told.rows} rows")
        lines.append(PreviewLine(label=pick(locale, "表格", "Tables"), value=rows))
        fields = comma.join(clean_line(name) for name in told.fields)
        lines.append(PreviewLine(label=pick(locale, "字段", "Fields"), value=fields))
    if told.charts:
        lines.append(PreviewLine(label=pick(locale, "图表", "Charts"), value=str(told.charts)))
    if names:
        lines.append(PreviewLine(label=pick(locale, "来源", "Sources"), value=comma.join(names)))
    return lines


def _said(name: str, told: QualityReport, kind: _Kind, locale: str) -> str:
    pages = f"，{told.pages} 页" if told.pages else "", f", {told.pages} pages" if told.pages else ""
    rows = f"，{told.rows} 行" if told.rows else "", f", {told.rows} rows" if told.rows else ""
    return pick(
        locale,
        f"已生成{kind.zh}「{name}」{pages[0]}{rows[0]}，并已重新打开核对。",
        f"Made the {kind.en} “{name}”{pages[1]}{rows[1]}; it was opened again and checked.",
    )

"""Reading attachments: records with their places, and answers that are quotations.

Both tools only read. Parsing is in a child process (fencepost_documents.read), one document after the other,
so that one call takes one processor.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fencepost import ToolContext, ToolRefused, tool
from fencepost_documents.answers import answer
from fencepost_documents.errors import DocumentRefused
from fencepost_documents.fields import field_name
from fencepost_documents.gates.presentation_words import fitting_languages
from fencepost_documents.ir import Coverage, RecordSet, SourceDocument
from fencepost_documents.office.tallies import tallies_of
from fencepost_documents.overview import asks_overview, overview
from fencepost_documents.read import read_document_async
from fencepost_documents.records import extract_records, headings_of, join_sets

from .wording import coverage_words, document_words, is_zh, pick, reading, refused_words

Arguments = Mapping[str, Any]
RECORDS_BYTES: Final = 500_000  # of a result, which may be 1 MiB in all
UNITS_BYTES: Final = 250_000
LEFT_OUT_NAMED: Final = 500
PROBLEMS_NAMED: Final = 100


@dataclass(frozen=True, slots=True)
class Refused:
    """A document that isn't read at all, and why."""

    artifact_id: str
    name: str
    error: DocumentRefused

    def words(self, locale: str) -> str:
        return refused_words(self.name, self.error.code, self.error.detail, self.error.where, locale)


@tool("work.extract_document")
class ExtractDocument:
    async def prepare(self, args: Arguments, ctx: ToolContext) -> Any:
        count = len(args["documents"])
        return reading(pick(ctx.locale, f"读取 {count} 个文档", f"Read {count} document(s)"))

    async def make(self, args: Arguments, ctx: ToolContext) -> dict[str, Any]:
        read, refused = await _read_all(args["documents"], ctx)
        wanted = [field_name(each) for each in args.get("fields", ())]
        sets = [(each.name, extract_records(each, wanted)) for each in read]
        whole = join_sets(sets, [each.name for each in refused])
        kept = _as_fits(whole)
        units, all_units = _rest(read, whole)
        lines = [*_said(read, refused, ctx.locale), coverage_words(kept, ctx.locale)]
        return {
            "text": "\n".join(lines),
            "documents": [
                *(
                    _shown(each, len(found.records)) | {"languages": fitting_languages(found)}
                    for each, (_, found) in zip(read, sets, strict=True)
                ),
                *_shown_refused(refused, ctx.locale),
            ],
            "fields": list(kept.fields),
            "records": [record.model_dump(mode="json") for record in kept.records],
            "coverage": {
                **kept.coverage.model_dump(mode="json"),
                "left_out": list(kept.coverage.left_out[:LEFT_OUT_NAMED]),
            },
            "units": units,
            "cut": len(kept.records) < len(whole.records) or not all_units,
            "values_counted": {
                each.artifact_id: {"headings": headings_of(each), "tallies": tallies_of(found)}
                for each, (_, found) in zip(read, sets, strict=True)
            },
        }


@tool("work.ask_document")
class AskDocument:
    async def prepare(self, args: Arguments, ctx: ToolContext) -> Any:
        return reading(pick(ctx.locale, "查阅文档", "Look it up in the documents"))

    async def make(self, args: Arguments, ctx: ToolContext) -> dict[str, Any]:
        read, refused = await _read_all(args["documents"], ctx)
        language, question = "zh" if is_zh(ctx.locale) else "en", args["question"]
        if asks_overview(question):
            found = overview(read, language=language)
        else:
            found = answer(question, read, language=language)
        warnings = [] if found.found else _said([each for each in read if each.problems], (), ctx.locale)
        return {
            "text": "\n".join([found.text, *warnings, *(each.words(ctx.locale) for each in refused)]),
            "found": found.found,
            "evidence": [one.model_dump(mode="json", exclude_none=True) for one in found.evidence],
            "documents": [*(_shown(each) for each in read), *_shown_refused(refused, ctx.locale)],
        }


async def _read_all(ids: Sequence[str], ctx: ToolContext) -> tuple[list[SourceDocument], list[Refused]]:
    """In the given order. Raises ToolRefused when not one of them can be read."""
    read: list[SourceDocument] = []
    refused: list[Refused] = []
    for place, artifact_id in enumerate(ids):
        file = await ctx.read_artifact(artifact_id, pointer=f"/documents/{place}")
        try:
            read.append(await read_document_async(file.data, file.name, artifact_id=str(file.id)))
        except DocumentRefused as error:
            refused.append(Refused(str(file.id), file.name, error))
    if not read:
        raise ToolRefused(
            "\n".join(each.words(ctx.locale) for each in refused),
            pointer="/documents/0",
            code=f"document_{refused[0].error.code}",
        )
    return read, refused


def _said(read: Iterable[SourceDocument], refused: Iterable[Refused], locale: str) -> list[str]:
    lines = [document_words(one.name, one.kind, len(one.units), one.problems, locale) for one in read]
    return [f"- {line}" for line in [*lines, *(each.words(locale) for each in refused)]]


def _shown(document: SourceDocument, records: int = 0) -> dict[str, Any]:
    return {
        "artifact_id": document.artifact_id,
        "name": document.name,
        "kind": document.kind,
        "sha256": document.sha256,
        "schema_version": document.schema_version,
        "units": len(document.units),
        "records": records,
        "problems": [one.model_dump(mode="json") for one in document.problems[:PROBLEMS_NAMED]],
        "refused": None,
    }


def _shown_refused(refused: Iterable[Refused], locale: str) -> list[dict[str, Any]]:
    return [
        {
            "artifact_id": each.artifact_id, "name": each.name, "kind": None, "units": 0, "records": 0,
            "problems": [],
            "refused": {"code": each.error.code, "detail": each.error.detail, "where": each.error.where,
                        "said": each.words(locale)},
        }
        for each in refused
    ]  # fmt: skip


def _as_fits(found: RecordSet) -> RecordSet:
    """What a result may hold; records beyond it are left out, and named so."""
    size, kept = 0, 0
    for record in found.records:
        size += len(record.model_dump_json().encode())
        if size > RECORDS_BYTES:
            break
        kept += 1
    if kept == len(found.records):
        return found
    beyond = tuple(record.source_locator for record in found.records[kept:])
    total = found.coverage.units_total
    used = max(0, found.coverage.units_used - len(beyond))
    coverage = Coverage(
        units_total=total, units_used=used, ratio=used / total, left_out=(*found.coverage.left_out, *beyond)
    )
    return RecordSet(records=found.records[:kept], fields=found.fields, coverage=coverage)


def _rest(read: Iterable[SourceDocument], found: RecordSet) -> tuple[list[dict[str, Any]], bool]:
    """Units that no record stands for, as many as fit, and whether that is all of them."""
    used = {(record.artifact_id, record.source_locator) for record in found.records}
    units, size = [], 0
    for document in read:
        for unit in document.units:
            if (document.artifact_id, unit.locator) in used:
                continue
            one = {"artifact_id": document.artifact_id, **unit.model_dump(mode="json", exclude_none=True)}
            size += len(json.dumps(one, ensure_ascii=False).encode())
            if size > UNITS_BYTES:
                return units, False
            units.append(one)
    return units, True

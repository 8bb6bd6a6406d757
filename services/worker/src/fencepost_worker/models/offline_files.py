"""A file's arguments from records, without a model: of all of them, or of one batch among several.

A batch's part holds its rows; the first one the cover, the last one the sources. Joined in source order they
are one file with every record once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fencepost_documents.ir import Coverage, Record, RecordSet
from fencepost_documents.office.from_records import (
    Words,
    default_title,
    document_from_records,
    outline_from_records,
    pick_columns,
    tables_of_records,
    workbook_from_records,
)
from fencepost_documents.office.outline import Language
from fencepost_documents.office.page_count import fit_pages
from fencepost_domain.task_contract import TaskContract

_NOTHING: Final = Coverage(units_total=0, units_used=0, ratio=1.0, left_out=())


def file_arguments(tool: str, task: Mapping[str, Any], asked: str, *, is_chinese: bool) -> dict[str, Any]:
    """Arguments of a `work.create_*` tool for this batch. asked: the request's words."""
    contract = TaskContract.from_json(task["contract"])
    documents = _documents(task)
    language = _language(contract, documents, is_chinese=is_chinese)
    names = {str(one["artifact_id"]): str(one.get("name", "")) for one in documents}
    found, words = _records(task), Words(asked, _headings(documents))
    if task["branch"]["of"] > 1:
        return _part(tool, task, found, contract, language, names, words)
    made: Any
    match tool:
        case "work.create_document":
            made = document_from_records(found, contract, language, names, words=words)
        case "work.create_workbook":
            made = workbook_from_records(found, contract, language, names, words=words)
        case _:
            made = outline_from_records(found, contract, language, names, words=words)
            made = fit_pages(made, *contract.pages) if contract.pages else made
    return _plain(made)


def _language(
    contract: TaskContract, documents: Sequence[Mapping[str, Any]], *, is_chinese: bool
) -> Language:
    """What was asked for; else that of the request, unless the sources can stand in the other one only.

    By the documents, not by the records at hand: every batch of a file has to come to the same.
    """
    if contract.language:
        return "zh" if contract.language.lower().startswith("zh") else "en"
    wished: Language = "zh" if is_chinese else "en"
    other: Language = "en" if is_chinese else "zh"
    fitting = [one["languages"] for one in documents if one.get("records") and "languages" in one]
    if any(wished not in one for one in fitting) and all(other in one for one in fitting):
        return other
    return wished


def _headings(documents: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """By field, as the documents have them; what two head differently keeps the field's name."""
    found: dict[str, str] = {}
    for document in documents:
        for name, heading in document.get("headings", {}).items():
            if found.setdefault(name, heading) != heading:
                found[name] = ""
    return {name: heading for name, heading in found.items() if heading}


def _documents(task: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    results = [one["result"] for one in task["results"] if isinstance(one["result"], Mapping)]
    return [document for result in results for document in result.get("documents", ())]


def _coverage(task: Mapping[str, Any]) -> Coverage:
    results = [one["result"] for one in task["results"] if isinstance(one["result"], Mapping)]
    found = [result["coverage"] for result in results if result.get("coverage")]
    if not found:
        return _NOTHING
    total, used = sum(c["units_total"] for c in found), sum(c["units_used"] for c in found)
    left = tuple(one for c in found for one in c["left_out"])
    return Coverage(units_total=total, units_used=used, ratio=used / total if total else 1.0, left_out=left)


def _records(task: Mapping[str, Any]) -> RecordSet:
    records = tuple(Record.model_validate(one) for one in task["records"])
    results = [one["result"] for one in task["results"] if isinstance(one["result"], Mapping)]
    fields = dict.fromkeys(name for result in results for name in result.get("fields", ()))
    return RecordSet(records=records, fields=tuple(fields), coverage=_coverage(task))


def _plain(made: Any) -> dict[str, Any]:
    """JSON without what is left out: a tool's schema knows no nulls where nothing was meant."""
    return dict(made.model_dump(mode="json", exclude_none=True, exclude_defaults=False))


def _part(
    tool: str,
    task: Mapping[str, Any],
    found: RecordSet,
    contract: TaskContract,
    language: Language,
    names: Mapping[str, str],
    words: Words,
) -> dict[str, Any]:
    documents = _documents(task)
    sources = [str(one["artifact_id"]) for one in documents if one.get("records")]
    whole = _whole(found, contract, documents)
    head = default_title(whole, contract, language, names)
    columns = pick_columns(found, contract, language, words.headings)
    tables = tables_of_records(found, columns, language)
    rows = [_placed(_plain(table), found, several=len(sources) > 1) for table in tables if table.rows]
    base = {"title": head, "language": language, "sources": list(contract.attachments or sources)}
    index, of = task["branch"]["index"], task["branch"]["of"]
    if tool == "work.create_workbook":
        listed = f"{_pick(language, '记录', 'Records')} {index + 1}"
        return {**_without(base, ()), "sheets": [{"name": listed, "table": table} for table in rows]}
    first, last = _edges(task, documents, contract, language)
    listed = _pick(language, "记录一览", "All records")
    if tool == "work.create_document":
        opening = [{"title": _pick(language, "概览", "Overview"), "bullets": first}] if index == 0 else []
        closing = [{"title": _pick(language, "来源", "Sources"), "bullets": last}] if index == of - 1 else []
        return {**base, "sections": [*opening, *({"title": listed, "table": t} for t in rows), *closing]}
    opening = [
        {"title": head, "kind": "title", "bullets": first[:1]},
        {"title": _pick(language, "概览", "Overview"), "kind": "bullets", "bullets": first},
        *_chart(documents, contract, language),
    ]
    closing = [{"title": _pick(language, "来源", "Sources"), "kind": "closing", "bullets": last}]
    body = [{"title": listed, "kind": "table", "table": table} for table in rows]
    slides = [*(opening if index == 0 else ()), *body, *(closing if index == of - 1 else ())]
    return {**base, "slides": slides}


def _without(base: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in base.items() if name not in names}


def _whole(found: RecordSet, contract: TaskContract, documents: Sequence[Mapping[str, Any]]) -> RecordSet:
    """For the title, which names all sources: a record of each stands for it."""
    known = [str(one["artifact_id"]) for one in documents if one.get("records")]
    stand_ins = tuple(Record(source_locator="-", artifact_id=one, fields={}) for one in known)
    return RecordSet(records=stand_ins, fields=found.fields, coverage=found.coverage)


def _placed(table: dict[str, Any], found: RecordSet, *, several: bool) -> dict[str, Any]:
    """Rows of a batch have one source; among several their place names it."""
    artifact_id = found.records[0].artifact_id if found.records else ""
    mixed = len({record.artifact_id for record in found.records}) > 1
    if not several or mixed:
        return table
    rows = [{**row, "source_locator": f"{artifact_id}#{row['source_locator']}"} for row in table["rows"]]
    return {**table, "rows": rows}


def _edges(
    task: Mapping[str, Any],
    documents: Sequence[Mapping[str, Any]],
    contract: TaskContract,
    language: Language,
) -> tuple[list[str], list[str]]:
    """What the first and the last part say: how many records of which source, and how much is covered."""
    total = sum(int(one.get("records") or 0) for one in documents)
    counts = [
        _pick(
            language,
            f"{one.get('name', '')}：{one['records']} 条",
            f"{one.get('name', '')}: {one['records']}",
        )
        for one in documents
        if one.get("records")
    ]
    coverage = _coverage(task)
    covered = _pick(
        language,
        f"来源覆盖：{coverage.units_used} / {coverage.units_total} 项",
        f"Sources covered: {coverage.units_used} of {coverage.units_total} items",
    )
    first = [_pick(language, f"共 {total} 条记录", f"{total} records"), *counts]
    return first, [*counts, covered]


def _chart(
    documents: Sequence[Mapping[str, Any]], contract: TaskContract, language: Language
) -> list[dict[str, Any]]:
    """Where pictures are asked for: how many records each source has."""
    counted = [one for one in documents if one.get("records")]
    if not contract.pictures or not counted:
        return []
    chart = {
        "kind": "column",
        "categories": [str(one.get("name", ""))[:60] for one in counted],
        "series": [
            {
                "name": _pick(language, "记录数", "Records"),
                "values": [float(one["records"]) for one in counted],
            }
        ],
    }
    return [{"title": _pick(language, "数量分布", "Distribution"), "kind": "chart", "chart": chart}]


def _pick(language: Language, zh: str, en: str) -> str:
    return zh if language == "zh" else en

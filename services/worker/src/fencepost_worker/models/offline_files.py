"""A file's arguments from records, without a model: of all of them, or of one batch among several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fencepost_documents.ir import Coverage, Record, RecordSet
from fencepost_documents.office.from_records import (
    Words,
    document_from_records,
    outline_from_records,
    workbook_from_records,
)
from fencepost_documents.office.outline import Language
from fencepost_documents.office.page_count import fit_pages
from fencepost_domain.task_contract import TaskContract

from fencepost_worker.models.offline_batch import Batch, plain

_NOTHING: Final = Coverage(units_total=0, units_used=0, ratio=1.0, left_out=())


def file_arguments(tool: str, task: Mapping[str, Any], asked: str, *, is_chinese: bool) -> dict[str, Any]:
    """Arguments of a `work.create_*` tool for this batch. asked: the request's words."""
    contract = TaskContract.from_json(task["contract"])
    documents = _documents(task)
    language = _language(contract, documents, is_chinese=is_chinese)
    names = {str(one["artifact_id"]): str(one.get("name", "")) for one in documents}
    counted = _counted(task)
    found, words = _records(task), Words(asked, _headings(counted))
    if task["branch"]["of"] > 1:
        index, of = task["branch"]["index"], task["branch"]["of"]
        return Batch(
            index, of, found, documents, counted, _coverage(task), contract, language, words
        ).arguments(tool)
    made: Any
    match tool:
        case "work.create_document":
            made = document_from_records(found, contract, language, names, words=words)
        case "work.create_workbook":
            made = workbook_from_records(found, contract, language, names, words=words)
        case _:
            made = outline_from_records(found, contract, language, names, words=words)
            made = fit_pages(made, *contract.pages) if contract.pages else made
    return plain(made)


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


def _counted(task: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """By artifact: headings and tallies, as the tool told."""
    results = [one["result"] for one in task["results"] if isinstance(one["result"], Mapping)]
    return {str(of): one for result in results for of, one in result.get("values_counted", {}).items()}


def _headings(counted: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """By field, as the documents have them; what two head differently keeps the field's name."""
    found: dict[str, str] = {}
    for document in counted.values():
        for name, heading in document["headings"].items():
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

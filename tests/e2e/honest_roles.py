"""What planner, composer, assessor and repairer answer when nobody tells them otherwise: plain and right."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

MAKERS = {
    "pptx": "work.create_presentation",
    "docx": "work.create_document",
    "xlsx": "work.create_workbook",
}
CONTRACT = re.compile(r"Task contract \(fixed\): (\{.*\})")
SCHEMA_OF = re.compile(r"Schema of `([\w.]+)`")


def strings(value: Any) -> Iterator[str]:
    """Every string within a JSON value, also of JSON that stands in a string."""
    if isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
    elif isinstance(value, str):
        try:
            inner = json.loads(value) if value[:1] in "{[" else None
        except ValueError:
            inner = None
        yield from strings(inner) if inner is not None else (value,)


def plain(content: str) -> str:
    """A message as its reader understands it: fenced lines of JSON as the texts they hold."""
    return "\n".join("\n".join(strings(line)) for line in content.splitlines())


def honest(name: str, body: dict[str, Any]) -> dict[str, Any]:
    """The arguments of the role's one call."""
    messages = [str(one.get("content")) for one in body["messages"]]
    found = CONTRACT.search(messages[0])
    contract = json.loads(found.group(1)) if found else {}
    match name:
        case "plan":
            return _plan(contract)
        case "compose":
            return {"arguments": _composed(contract, messages), "used_locators": []}
        case "repair":
            [given] = [one for text in messages if "kind=arguments" in text for one in _lines(text)]
            return {"arguments": given}
        case _:
            return {"verdict": "completed", "reasons": [{"text": "it is all there"}]}


def beside(answer: dict[str, Any], order: dict[str, Any]) -> dict[str, Any]:
    """The answer of a good composer with what it was told to add: slides, and other members."""
    more = {name: value for name, value in order.items() if name != "slides_too"}
    arguments = answer["arguments"]
    if "slides" in arguments:
        slides = [*arguments["slides"], *order["slides_too"]]
        answer["arguments"] = {**arguments, "slides": slides, **more}
    return answer


def _plan(contract: dict[str, Any]) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [{"id": "read", "title": "Read", "tool": "work.extract_document"}]
    for kind in contract["file_kinds"]:
        steps.append({"id": kind, "title": f"Make {kind}", "tool": MAKERS[kind], "needs": ["read"]})
    return {"objective": "What was asked", "steps": steps, "success_criteria": ["it opens"]}


def _lines(text: str) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        if line.startswith("{"):
            yield json.loads(line)


def _composed(contract: dict[str, Any], messages: list[str]) -> dict[str, Any]:
    tool = next(found.group(1) for text in messages if (found := SCHEMA_OF.match(text)))
    units = [one for text in messages if text.startswith("<data") for one in _lines(text)]
    attached = [one["text"] for one in units if str(one.get("locator")).startswith("attachment:")]
    if tool == "work.extract_document":
        return {"documents": attached}
    records = [one for one in units if isinstance(one.get("text"), dict) and one.get("artifact_id")]
    columns = list(dict.fromkeys(field for one in records for field in one["text"]))
    cells = [[one["text"].get(field) or "not given" for field in columns] for one in records]
    rows = [{"cells": row, "source_locator": one["locator"]} for row, one in zip(cells, records, strict=True)]
    table = {"columns": [field.title() for field in columns] or ["Name"], "rows": rows}
    made = {"title": "Deliveries", "language": contract.get("language") or "en", "sources": attached}
    return {**made, "slides": [{"title": "Deliveries", "kind": "table", "table": table}]}

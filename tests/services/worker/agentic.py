"""A catalog of tools that need a plan, and the usual steps: read a source, then make something of it."""

from __future__ import annotations

import re
from typing import Any

from fencepost_contracts.tools import Tool
from fencepost_domain.vocabulary import EffectClass, Risk

from tests.services.worker.bench import Bench
from tests.support.scripted_gateway import LIFE_TOOLS, life_catalog, tool
from tests.support.scripted_roles import ScriptedRoles, text_of

READ = "life.read_source"
MAKE = "life.make_report"
ROWS = {"type": "array", "items": {"type": "object"}}


def read_tool() -> Tool:
    plain = tool(READ, Risk.LOW, EffectClass.NONE, ["what"])
    return plain.model_copy(update={"intermediate": True})


def make_tool(risk: Risk = Risk.LOW) -> Tool:
    plain = tool(MAKE, risk, EffectClass.LOCAL, ["title"])
    schema = {**plain.input_schema, "properties": {**plain.input_schema["properties"], "rows": ROWS}}
    return plain.model_copy(update={"requires_plan": True, "input_schema": schema})


def records(count: int, source: str = "a") -> list[dict[str, Any]]:
    return [
        {"artifact_id": source, "source_locator": f"p{n}", "fields": {"name": f"{source}-{n}"}}
        for n in range(count)
    ]


PLAN = {
    "objective": "a report of all rows",
    "steps": [
        {"id": "read", "title": "read the source", "tool": READ, "observable": "records"},
        {"id": "make", "title": "make the report", "tool": MAKE, "needs": ["read"], "observable": "a report"},
    ],
    "success_criteria": ["the report is made"],
}


def composed(body: dict[str, Any]) -> dict[str, Any]:
    """What a composer that uses everything it was given answers: each record it sees is a row."""
    said = text_of(body)
    if MAKE not in said:
        return {"arguments": {"what": "all"}, "used_locators": []}
    seen = dict.fromkeys(re.findall(r"name[^a-z0-9]+([a-z]-\d+)", said))
    rows = [{"name": name} for name in seen]
    return {"arguments": {"title": "Report", "rows": rows}, "used_locators": []}


async def planned(bench: Bench, *, risk: Risk = Risk.LOW, count: int = 3, **more: Any) -> ScriptedRoles:
    """The catalog published, the provider's roles scripted: one batch of `count` records unless told more."""
    await bench.runs.run("UPDATE agent.catalogs SET revoked_at = clock_timestamp()")
    catalog = bench.gateway.catalog = life_catalog("3", (*LIFE_TOOLS, read_tool(), make_tool(risk)))
    await bench.publish(catalog)
    bench.gateway.results[READ] = {"records": records(count)}
    bench.gateway.results[MAKE] = {"text": "The report is made."}
    fields: dict[str, Any] = {
        "module": [(MAKE, {"objective": "a report"})],
        "planner": [PLAN],
        "composer": [composed],
    }
    roles = ScriptedRoles(**{**fields, **more})
    bench.model.script = roles  # type: ignore[assignment]
    return roles

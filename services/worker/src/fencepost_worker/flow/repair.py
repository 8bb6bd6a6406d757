"""repairer and revise_response: what failed a check, mended. By code first where nothing is lost; then one
model, within its gate's rewrites. With an effect whose outcome is unknown nothing is repaired."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from fencepost_contracts.tools import Tool
from fencepost_domain.vocabulary import Reason

from fencepost_worker.flow import gate_table
from fencepost_worker.flow import gates as told
from fencepost_worker.flow.agent import model_context
from fencepost_worker.flow.role_context import for_repairer, for_responder
from fencepost_worker.flow.roles import RoleFailed, ask
from fencepost_worker.flow.state import UNSETTLED, Patch, State, fail
from fencepost_worker.flow.step import Step
from fencepost_worker.models.guard import check_calls
from fencepost_worker.models.port import Call, ToolSpec

SCHEMA_REWRITES: Final = 2  # of one call that doesn't fit its schema
SCHEMA: Final = "schema"


async def repairer(state: State, step: Step) -> Patch:
    """The refused calls, mended; each try is counted before its outcome is known."""
    if any(a["status"] == UNSETTLED for a in state["actions"]):
        return {"route": "reconcile_side_effect"}
    violations = state["violations"]
    gate = str(violations[0].get("gate", SCHEMA)) if violations else SCHEMA
    used = state["gate_rewrites"].get(gate, 0)
    if used >= rewrites_of(gate):
        return fail(Reason.QUALITY_FAILED, _code_of(gate), told.codes(violations))
    patch: Patch = {"route": "arguments_gate", "gate_rewrites": {gate: used + 1}, "violations": []}
    calls = []
    for call in state["calls"]:
        tool = step.facts.catalog.tool(call["name"]) if step.facts.catalog is not None else None
        coerced = _coerced(call, tool) if gate == SCHEMA else None
        if coerced is not None:
            calls.append(coerced)
            continue
        try:
            calls.append(await _asked(state, step, call, tool))
        except RoleFailed as failed:
            return failed.failure
    return {**patch, "calls": calls, "spent": {"repairs": 1}}


def rewrites_of(gate: str) -> int:
    gates = [*gate_table.ARGUMENT_GATES.values(), gate_table.ARTIFACTS, gate_table.RESPONSE]
    return next((one.rewrites for one in gates if one.name == gate), SCHEMA_REWRITES)


def _code_of(gate: str) -> str:
    gates = [*gate_table.ARGUMENT_GATES.values(), gate_table.ARTIFACTS, gate_table.RESPONSE]
    return next((one.code for one in gates if one.name == gate), "arguments_invalid")


def _coerced(call: Mapping[str, Any], tool: Tool | None) -> dict[str, Any] | None:
    """The call with coercions that lose nothing, where those alone make it fit."""
    if tool is None:
        return None
    arguments = coerced(call["arguments"], tool.input_schema)
    if arguments == call["arguments"]:
        return None
    spec = ToolSpec(tool.name, tool.description, tool.input_schema)
    fits = not check_calls([Call(call["id"], call["name"], arguments)], (spec,))
    return {**call, "arguments": arguments} if fits else None


def coerced(value: Any, schema: Mapping[str, Any]) -> Any:
    """A value as its schema wants it, where that can be undone: numbers written as text, one for a list of
    one, surrounding blanks, members that say nothing. Everything else stays as it is."""
    kind = schema.get("type")
    if kind == "object" and isinstance(value, Mapping):
        known = schema.get("properties", {})
        required = schema.get("required", ())
        return {
            name: coerced(item, known.get(name, {}))
            for name, item in value.items()
            if not (item is None and name in known and name not in required)
        }
    if kind == "array":
        items = value if isinstance(value, list) else [value] if value is not None else value
        return [coerced(one, schema.get("items", {})) for one in items] if isinstance(items, list) else value
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    if kind in ("integer", "number") and isinstance(value, str):
        return _number(value, kind)
    if kind == "string" and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if kind == "string" and isinstance(value, str):
        return value.strip()
    if kind == "boolean" and value in ("true", "false"):
        return value == "true"
    return value


def _number(text: str, kind: str) -> Any:
    """The number a text is the usual writing of; else the text."""
    try:
        number = json.loads(text.strip())
    except ValueError:
        return text
    is_number = isinstance(number, int) or (isinstance(number, float) and kind == "number")
    is_whole = is_number and not isinstance(number, bool) and json.dumps(number) == text.strip()
    return number if is_whole else text  # 3.50 or 1e400 would not come back as they were


async def _asked(state: State, step: Step, call: Mapping[str, Any], tool: Tool | None) -> dict[str, Any]:
    about = model_context(step.facts, {**state, "answers": []})
    said = await ask(step, for_repairer(state, step.facts, about, call, tool))
    return {**call, "arguments": dict(said["arguments"])}


async def revise_response(state: State, step: Step) -> Patch:
    """The answer with its violations mended, once; the gate judges it again."""
    gate = gate_table.RESPONSE
    used = state["gate_rewrites"].get(gate.name, 0)
    about = model_context(step.facts, {**state, "answers": [], "actions": []})
    try:
        said = await ask(step, for_responder(state, step.facts, about), message_id=state["message_id"])
    except RoleFailed as failed:
        return failed.failure
    reply = {**state["reply"], "text": said["text"]}
    return {
        "route": "response_gate",
        "reply": reply,
        "gate_rewrites": {gate.name: used + 1},
        "spent": {"repairs": 1},
    }

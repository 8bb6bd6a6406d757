"""What each role is given: its messages (`contexts.roles`), and the same facts as data for a model that reads
no prose (`task`). Need to know: no more than its part."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fencepost_contracts.tools import Tool
from fencepost_domain.gates import Violation

from fencepost_worker.contexts import roles
from fencepost_worker.contexts.built import RoleContext
from fencepost_worker.contexts.fencing import nonce_of
from fencepost_worker.flow.state import DONE, State
from fencepost_worker.flow.step import Facts
from fencepost_worker.models.port import ModelContext, ToolSpec


@dataclass(frozen=True, slots=True)
class Given:
    """A role's context: what a model reads, and what it is as data."""

    context: RoleContext
    about: ModelContext
    task: Mapping[str, Any]


def for_planner(
    state: State, facts: Facts, about: ModelContext, closed: Sequence[str], faults: Sequence[str]
) -> Given:
    """The user's words, what was chosen, what may be called; what an earlier plan came to, and its faults."""
    tools = facts.catalog.tools if facts.catalog is not None else ()
    bound = list(state["contract"]["attachments"])
    task = {
        "chosen": [call["name"] for call in state["calls"]],
        "tools": [_brief(tool) for tool in tools if tool.name not in closed],
        "closed": list(closed),
        "contract": dict(state["contract"]),
        "attachments": bound,
        "plan": dict(state["plan"]),
        "faults": list(faults),
    }
    before = [{"kind": "plan", **_standing(state["plan"])}] if state["plan"] else []
    wrong = [{"kind": "fault", "detail": fault} for fault in faults]
    sources = [{"artifact_id": one, "kind": "attachment", "name": ""} for one in bound]
    context = roles.planner(
        about=about,
        contract=state["contract"],
        tools=[spec(tool) for tool in tools if tool.name not in closed],
        sources=sources,
        before=[*before, *wrong],
        nonce=nonce_of(facts.run_id, f"planner:{state['plan'].get('revision', 0)}"),
        manifest=facts.manifest,
    )
    return Given(context, about, task)


def spec(tool: Tool) -> ToolSpec:
    return ToolSpec(tool.name, tool.description, tool.input_schema)


def _brief(tool: Tool) -> dict[str, Any]:
    inputs = tool.input_schema.get("properties", {})
    return {"name": tool.name, "intermediate": tool.intermediate, "inputs": sorted(inputs)}


def _standing(plan: Mapping[str, Any]) -> dict[str, Any]:
    """How each step of a plan stands, without what joins it."""
    names = ("id", "title", "tool", "status", "detail")
    return {
        "objective": plan["objective"],
        "success_criteria": list(plan["success_criteria"]),
        "steps": [{name: one[name] for name in names} for one in plan["steps"]],
    }


def for_composer(
    state: State, facts: Facts, about: ModelContext, chosen: Mapping[str, Any], tool: Tool | None
) -> Given:
    """One branch's batch, and the tool whose arguments it is for."""
    batch, bound = state["batch"], list(state["contract"]["attachments"])
    violations = list(state["violations"]) if batch.get("again") else []
    shown_step = {name: chosen[name] for name in ("id", "title", "tool")}
    task = {
        "objective": state["plan"]["objective"],
        "step": shown_step,
        "contract": dict(state["contract"]),
        "attachments": bound,
        "branch": {name: batch[name] for name in ("index", "of", "source")},
        "records": list(batch["records"]),
        "results": list(batch["results"]),
        "violations": violations,
        "inputs": sorted(tool.input_schema.get("properties", {})) if tool is not None else [],
    }
    units = [_unit(record) for record in batch["records"]]
    units += [{"locator": f"result:{r['step']}", "text": shortened(r["result"])} for r in batch["results"]]
    if batch["of"] > 1:
        shown_step["part"] = f"{batch['index'] + 1} of {batch['of']}, joined in order"
    context = roles.composer(
        about=about,
        contract=state["contract"],
        step=shown_step,
        tool=spec(tool) if tool is not None else _WORDS,
        batch=[*units, *({"locator": f"attachment:{one}", "text": one} for one in bound)],
        violations=violations_of(violations),
        nonce=nonce_of(facts.run_id, f"composer:{batch['key']}"),
        manifest=facts.manifest,
    )
    return Given(context, about, task)


_WORDS = ToolSpec(
    "respond",
    "Words for the user.",
    {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
)


def _unit(record: Any) -> dict[str, Any]:
    if not isinstance(record, Mapping):
        return {"locator": "", "text": record}
    place = record.get("source_locator", "")
    return {
        "artifact_id": record.get("artifact_id", ""),
        "locator": place,
        "text": record.get("fields", record),
    }


def for_assessor(state: State, facts: Facts, about: ModelContext) -> Given:
    """How each step stands, and what the finished ones say; no sources."""
    results = [
        {
            "id": f"action_{a['index']}",
            "kind": "result",
            "tool": a["tool"],
            "result": shortened(a.get("result")),
        }
        for a in state["actions"]
        if a["status"] == DONE
    ]
    plan = _standing(state["plan"])
    task = {**plan, "results": results, "contract": dict(state["contract"])}
    context = roles.assessor(
        about=about,
        contract=state["contract"],
        plan=plan,
        evidence=results,
        nonce=nonce_of(facts.run_id, f"assessor:{len(state['actions'])}"),
        manifest=facts.manifest,
    )
    return Given(context, about, task)


def for_repairer(
    state: State, facts: Facts, about: ModelContext, call: Mapping[str, Any], tool: Tool | None
) -> Given:
    """One call's arguments, what is wrong with them, and the schema they have to fit."""
    task = {
        "tool": call["name"],
        "arguments": call["arguments"],
        "violations": list(state["violations"]),
        "contract": dict(state["contract"]),
    }
    context = roles.repairer(
        tool=spec(tool) if tool is not None else _WORDS,
        arguments=call["arguments"],
        violations=violations_of(state["violations"]),
        language=str(state["contract"].get("language") or facts.locale),
        nonce=nonce_of(facts.run_id, f"repairer:{call['id']}"),
        manifest=facts.manifest,
    )
    return Given(context, about, task)


def for_responder(state: State, facts: Facts, about: ModelContext) -> Given:
    """The answer, and what is wrong with it."""
    draft = state["reply"].get("text", "")
    task = {
        "text": draft,
        "violations": list(state["violations"]),
        "contract": dict(state["contract"]),
    }
    context = roles.responder(
        about=about,
        contract=state["contract"],
        results=(),
        violations=violations_of(state["violations"]),
        draft=draft,
        nonce=nonce_of(facts.run_id, "responder"),
        manifest=facts.manifest,
    )
    return Given(context, about, task)


def violations_of(told: Iterable[Mapping[str, Any]]) -> list[Violation]:
    return [Violation(*(str(one.get(n, "")) for n in ("code", "position", "detail", "fix"))) for one in told]


def shortened(result: Any, most: int = 1_500) -> Any:
    """A result as it is, or the beginning of its text."""
    text = json.dumps(result, ensure_ascii=False, default=str)
    return result if len(text) <= most else text[:most] + " …"

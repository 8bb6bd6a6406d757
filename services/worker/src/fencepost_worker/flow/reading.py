"""supervisor and module_agent of `core` 2.0.0: the task contract from the user's words, and the mode by
code."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from typing import Any, Final

from fencepost_contracts.tools import Tool
from fencepost_domain.vocabulary import Ev, Reason
from fencepost_intents.task_contract import compile_task_contract

from fencepost_worker.flow.agent import asked_agent, tool_specs
from fencepost_worker.flow.state import Patch, State, fail, reset
from fencepost_worker.flow.step import Facts, Step
from fencepost_worker.models.port import ToolSpec

# A tool that needs a plan is only chosen here; its arguments are composed from the sources later.
CHOSEN: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"objective": {"type": "string", "maxLength": 500}},
    "additionalProperties": False,
}


async def supervisor(state: State, step: Step) -> Patch:
    """Calls no model: checks the input and compiles what nothing later may weaken."""
    facts = step.facts
    contract = compile_task_contract(facts.text, facts.locale, facts.attachments)
    fresh = reset(
        module=facts.module,
        message_id=str(step.new_id()),
        route="module_agent",
        contract=contract.to_json(),
    )
    if not facts.text.strip():
        return {**fresh, **fail(Reason.REQUIRED_TASK_FAILED, "input_empty")}
    if contract.hard_requirements:
        await step.note(Ev.CONTRACT_COMPILED, "1", fresh["contract"])
    return fresh


def is_planned(tool: Tool | None) -> bool:
    """Route-first: what the tool declares decides, not what the model says of it."""
    return tool is not None and (tool.requires_plan or tool.repeatable or tool.intermediate)


def offered(facts: Facts, *, acted: bool, off: Container[str] = ()) -> tuple[ToolSpec, ...]:
    """The catalog and control tools; of a tool that needs a plan only that it is wanted."""
    catalog = facts.catalog
    return tuple(
        replace(spec, schema=CHOSEN)
        if catalog is not None and not spec.control and is_planned(catalog.tool(spec.name))
        else spec
        for spec in tool_specs(facts, acted=acted, off=off)
    )


async def module_agent(state: State, step: Step) -> Patch:
    """As in 1.0.0, and the mode: one planned tool among the chosen ones makes it `agentic`."""
    # What the words leave aside ("without the attachments") is bound to nothing, and nobody is offered it.
    task = {"contract": dict(state["contract"]), "attachments": list(state["contract"]["attachments"])}
    is_ordered = step.facts.ordered is not None  # one call, as it was ordered: nothing is planned
    patch = await asked_agent(state, step, tool_specs if is_ordered else offered, task)
    if patch["route"] != "arguments_gate":
        return patch
    if is_ordered:
        return {**patch, "mode": "single_action"}
    catalog = step.facts.catalog
    if catalog is not None and any(is_planned(catalog.tool(call["name"])) for call in patch["calls"]):
        return {**patch, "route": "planner", "mode": "agentic"}
    return {**patch, "mode": "single_action"}

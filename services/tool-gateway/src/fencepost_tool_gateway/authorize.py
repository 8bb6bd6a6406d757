"""Which calls may be made at all: the bound catalog's names, the module's prefix, identity, schema, state.

All calls of one answer are judged, in order, before any is prepared; one that is refused refuses all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fencepost_contracts import canonical
from fencepost_contracts.canonical import Fault
from fencepost_contracts.names import identity_in_arguments, skeleton
from fencepost_contracts.tools import PrepareCall, Refusal, RefusalCode, Tool
from fencepost_domain.run import Run

from fencepost_tool_gateway.catalog import Compiled
from fencepost_tool_gateway.executors.port import Executor
from fencepost_tool_gateway.problems import CallsRefused

MAX_ARGUMENTS: Final = 262_144  # bytes of canonical text: a table of 300 records with their places fits


@dataclass(frozen=True, slots=True)
class Accepted:
    """A call that passed. text: RFC 8785 of its arguments; hash: SHA-256 of that text."""

    call: PrepareCall
    tool: Tool
    text: str
    hash: str


def accept_calls(
    calls: Sequence[PrepareCall],
    faults: Mapping[int, Sequence[Fault]],
    run: Run,
    bound: Compiled,
    executor: Executor,
    state: Mapping[str, Any],
) -> list[Accepted]:
    """All calls, or CallsRefused with every reason.

    faults: by position, what was wrong with the raw JSON of a call's arguments. state: the conversation's
    present state; it may be empty where no called tool is judged by it.
    """
    accepted: list[Accepted] = []
    refusals: list[Refusal] = []
    for place, call in enumerate(calls):
        found = list(_refusals(call, faults.get(place, ()), run, bound, executor, state))
        refusals.extend(found)
        if not found:
            accepted.append(_accepted(call, bound))
    if refusals:
        raise CallsRefused(refusals)
    return accepted


def refusal(call: PrepareCall, code: RefusalCode, detail: str, pointer: str = "") -> Refusal:
    return Refusal(index=call.index, code=code, tool=call.tool, pointer=pointer, detail=detail)


def _refusals(
    call: PrepareCall,
    faults: Sequence[Fault],
    run: Run,
    bound: Compiled,
    executor: Executor,
    state: Mapping[str, Any],
) -> Iterator[Refusal]:
    tool = bound.catalog.tool(call.tool)
    if tool is None or tool.name.partition(".")[0] != run.module:
        yield _unknown(call, bound)
        return
    reason = executor.why_not(tool)
    if reason is not None:
        yield refusal(call, *reason)
        return
    if tool.roles and not set(tool.roles) & set(run.roles):
        yield refusal(call, "tool_not_allowed", f"this needs the role {' or '.join(tool.roles)}")
        return
    identity = identity_in_arguments(call.arguments)
    for place in identity:
        yield refusal(call, "identity_argument", "identity comes from the run, never from arguments", place)
    for fault in faults:
        yield refusal(call, "arguments_invalid", fault.detail, fault.pointer)
    if not faults and not identity:
        yield from _by_schema(call, tool, bound)
        for place, why in bound.words.refusals(tool.name, call.arguments, state):
            yield refusal(call, "state_binding", why, place)


def _unknown(call: PrepareCall, bound: Compiled) -> Refusal:
    allowed = tuple(tool.name for tool in bound.catalog.tools)
    shape = skeleton(call.tool)
    alike = next((name for name in allowed if skeleton(name) == shape), None)
    detail = f"it looks like {alike} but is another name" if alike else "no tool of this module has this name"
    return Refusal(index=call.index, code="tool_not_allowed", tool=call.tool, detail=detail, allowed=allowed)


def _by_schema(call: PrepareCall, tool: Tool, bound: Compiled) -> Iterator[Refusal]:
    if canonical.size(call.arguments) > MAX_ARGUMENTS:
        yield refusal(call, "arguments_invalid", f"longer than {MAX_ARGUMENTS} bytes")
        return
    for fault in bound.inputs[tool.name].faults(call.arguments):
        yield refusal(call, "arguments_invalid", fault.detail, fault.pointer)


def _accepted(call: PrepareCall, bound: Compiled) -> Accepted:
    tool = bound.catalog.tool(call.tool)
    assert tool is not None  # _refusals named it otherwise
    text = canonical.dumps(call.arguments)
    return Accepted(call, tool, text.decode(), hashlib.sha256(text).hexdigest())

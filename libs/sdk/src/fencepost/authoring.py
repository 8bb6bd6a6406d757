"""How an author writes a tool.

    @tool("life.create_reminder")
    class CreateReminder:
        async def prepare(self, args, ctx) -> Plan: ...        # no side effect; what a person will read
        async def precondition(self, args, ctx) -> dict: ...   # optional: what it relies on, read at commit
        async def commit(self, args, ctx) -> dict: ...         # the effect; its result fits output_schema

A tool that takes its time, reads files or makes some has `make` in the place of `commit`: it runs outside any
transaction, and what it gives (`Result`, or the plain output) is recorded in one. It writes no table.

A function stands for its `commit` alone; its preview lists the arguments. Arguments were checked against the
contract's schema before; identity is in the context, never in the arguments.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from fencepost_contracts.tools import Change, Preview, PreviewLine

from fencepost.context import ToolContext
from fencepost.files import Result

Arguments = Mapping[str, Any]
Commit = Callable[[Arguments, ToolContext], Awaitable[Any]]
T = TypeVar("T")
_NAME = "__fencepost_tool__"


class ToolRefused(Exception):
    """The tool says no, in words for the model and the user. Nothing is written.

    pointer: the argument that is wrong (at prepare), as a JSON pointer. code: for machines, snake_case.
    """

    def __init__(self, detail: str, *, pointer: str = "", code: str = "tool_refused") -> None:
        self.detail, self.pointer, self.code = detail, pointer, code
        super().__init__(detail)


class PreconditionChanged(Exception):
    """What the approval was given for isn't so any more: prepare, preview and ask again."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a call would do. change: before and after of all it would touch.

    precondition: what was relied on (a version, an ETag, a hash); read again in the committing transaction.
    """

    preview: Preview
    change: Change
    precondition: Mapping[str, Any] = field(default_factory=dict)


class Tool(Protocol):
    """What the gateway calls. `precondition` gives at commit what Plan.precondition gave at prepare."""

    async def prepare(self, args: Arguments, ctx: ToolContext) -> Plan: ...
    async def precondition(self, args: Arguments, ctx: ToolContext) -> Mapping[str, Any]: ...
    async def commit(self, args: Arguments, ctx: ToolContext) -> Any: ...


class Maker(Protocol):
    """A tool's other half, where it has one: see `making`."""

    async def make(self, args: Arguments, ctx: ToolContext) -> Result | Any: ...


def making(code: Tool) -> Maker | None:
    """The tool as one that makes its result outside a transaction; None when it commits inside."""
    made: Any = code.made if isinstance(code, _Class) else code
    return made if hasattr(made, "make") else None


def tool(name: str) -> Callable[[T], T]:
    """Mark a class or an async function as the tool `name` of the module's contract."""

    def mark(thing: T) -> T:
        setattr(thing, _NAME, name)
        return thing

    return mark


def tools_in(namespace: Mapping[str, Any]) -> dict[str, Tool]:
    """The tools among a package's names, by tool name. Raises ValueError when two claim one name."""
    found: dict[str, Any] = {}
    for thing in namespace.values():
        name = getattr(thing, _NAME, None)
        if name is None or found.get(name) is thing:
            continue
        if name in found:
            raise ValueError(f"two tools are named {name}")
        found[name] = thing
    return {name: _completed(thing) for name, thing in found.items()}


def _completed(thing: Any) -> Tool:
    if not isinstance(thing, type):
        return _Function(thing)
    made = thing()
    if hasattr(made, "make") and hasattr(made, "commit"):
        raise ValueError(f"{thing.__name__}: a tool has `make` or `commit`, not both")
    if not hasattr(made, "precondition") or hasattr(made, "make"):
        return _Class(made)
    completed: Tool = made
    return completed


def listing(name: str, args: Arguments) -> Plan:
    """The plain preview: the tool's name and its arguments as they are."""
    lines = tuple(PreviewLine(label=str(key), value=str(value)) for key, value in args.items())
    text = "; ".join(f"{line.label}: {line.value}" for line in lines)
    return Plan(Preview(title=name, lines=lines, text=text or name), Change(after=dict(args), summary=name))


class _Function:
    def __init__(self, function: Commit) -> None:
        self._function = function

    async def prepare(self, args: Arguments, ctx: ToolContext) -> Plan:
        return listing(getattr(self._function, _NAME), args)

    async def precondition(self, args: Arguments, ctx: ToolContext) -> Mapping[str, Any]:
        return {}

    async def commit(self, args: Arguments, ctx: ToolContext) -> Any:
        return await self._function(args, ctx)


class _Class:
    """A class without `precondition` relies on nothing that could change; one with `make` has no `commit`."""

    def __init__(self, made: Any) -> None:
        self.made = made

    async def prepare(self, args: Arguments, ctx: ToolContext) -> Plan:
        if not hasattr(self.made, "prepare"):
            return listing(getattr(type(self.made), _NAME), args)
        plan: Plan = await self.made.prepare(args, ctx)
        return plan

    async def precondition(self, args: Arguments, ctx: ToolContext) -> Mapping[str, Any]:
        if not hasattr(self.made, "precondition"):
            return {}
        relied_on: Mapping[str, Any] = await self.made.precondition(args, ctx)
        return relied_on

    async def commit(self, args: Arguments, ctx: ToolContext) -> Any:
        return await self.made.commit(args, ctx)

"""Which executor a tool is run by: the first outside one of its kind, else the module's own code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from fencepost.authoring import Plan
from fencepost_contracts.tools import RefusalCode, Tool
from fencepost_domain.vocabulary import EffectClass
from fencepost_store.transaction import Store, Tx

from fencepost_tool_gateway.executors.port import Call, Outside
from fencepost_tool_gateway.executors.python import PythonExecutor
from fencepost_tool_gateway.files import Shelf

Guard = Callable[[Tool], tuple[RefusalCode, str] | None]
INSIDE: Final = frozenset({EffectClass.NONE, EffectClass.LOCAL})


class Executors:
    """Implements executors.port.Executor over the modules' code and the outside executors."""

    def __init__(
        self, inside: PythonExecutor, outside: Sequence[Outside] = (), guard: Guard | None = None
    ) -> None:
        """guard: says of a tool that others declare why it may not be called now."""
        self._inside, self._outside, self._guard = inside, tuple(outside), guard

    def outside_of(self, tool: Tool) -> Outside | None:
        return next((one for one in self._outside if one.runs(tool)), None)

    def why_not(self, tool: Tool) -> tuple[RefusalCode, str] | None:
        reason = self._guard(tool) if self._guard is not None else None
        if reason is not None or self.outside_of(tool) is not None:
            return reason
        if tool.effect_class not in INSIDE:
            return "effect_class_not_available", f"nothing here sends {tool.effect_class} tools of this kind"
        if not self._inside.has(tool.name):
            return "tool_not_allowed", "the code of this tool is not here any more"
        return None

    async def plan(self, tx: Tx, call: Call) -> Plan:
        outside = self.outside_of(call.tool)
        if outside is None or self._inside.has(call.tool.name):
            return await self._inside.plan(tx, call)
        return await outside.plan(call)

    async def precondition(self, tx: Tx, call: Call) -> Mapping[str, Any]:
        if self.outside_of(call.tool) is not None and not self._inside.has(call.tool.name):
            return {}
        return await self._inside.precondition(tx, call)

    async def call(self, tx: Tx, call: Call) -> Any:
        return await self._inside.call(tx, call)

    @property
    def shelf(self) -> Shelf:
        return self._inside.shelf

    def makes(self, tool: Tool) -> bool:
        return self.outside_of(tool) is None and self._inside.makes(tool.name)

    async def make(self, store: Store, call: Call) -> Any:
        return await self._inside.make(store, call)

    async def close(self) -> None:
        for one in self._outside:
            await one.close()

"""Tools that are Python functions: imported from a module's `tools/` package, by this service alone.

A tool that leaves the house may have one too: its `prepare` is the preview, its `precondition` is read again
before the attempt; its `commit` is never called.
"""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from fencepost.authoring import Arguments, Plan, Tool, making, tools_in
from fencepost.context import ToolContext
from fencepost_contracts.modules import ModuleFolder
from fencepost_domain.effect import effect_key
from fencepost_store.module_tx import ModuleTx
from fencepost_store.transaction import Store, Tx

from fencepost_tool_gateway.executors.port import Call
from fencepost_tool_gateway.files import Shelf

PACKAGE: Final = "fencepost_module_tools"  # imports of modules live under this name, apart from everything


@dataclass(frozen=True, slots=True)
class Implementation:
    """A tool's code, and the folder of the SQL it may run."""

    tool: Tool
    sql: Path


def import_tools(folder: ModuleFolder) -> dict[str, Implementation]:
    """Import a module's tools; none when it has no `tools/` package.

    Whatever its import raises goes through: a module whose code doesn't load must not start.
    """
    package = folder.tools
    if package is None:
        return {}
    name = f"{PACKAGE}_{folder.name}"
    spec = importlib.util.spec_from_file_location(
        name, package / "__init__.py", submodule_search_locations=[str(package)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"{package} cannot be imported")
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[name] = loaded  # relative imports inside the package look it up here
    spec.loader.exec_module(loaded)
    return {tool: Implementation(code, folder.path / "sql") for tool, code in tools_in(vars(loaded)).items()}


class PythonExecutor:
    """Runs implementations in the gateway's own process, inside its open transaction."""

    def __init__(self, implementations: Mapping[str, Implementation], shelf: Shelf | None = None) -> None:
        self._implementations = dict(implementations)
        self.shelf = shelf or Shelf()

    def has(self, tool: str) -> bool:
        return tool in self._implementations

    async def plan(self, tx: Tx, call: Call) -> Plan:
        async with asyncio.timeout(call.tool.timeout_seconds):
            code, context = self._ready(tx, call)
            return await code.prepare(call.arguments, context)

    async def precondition(self, tx: Tx, call: Call) -> Mapping[str, Any]:
        async with asyncio.timeout(call.tool.timeout_seconds):
            code, context = self._ready(tx, call)
            return await code.precondition(call.arguments, context)

    async def call(self, tx: Tx, call: Call) -> Any:
        async with asyncio.timeout(call.tool.timeout_seconds):
            code, context = self._ready(tx, call)
            return await code.commit(call.arguments, context)

    def makes(self, tool: str) -> bool:
        """Its result is made outside any transaction."""
        known = self._implementations.get(tool)
        return known is not None and making(known.tool) is not None

    async def make(self, store: Store, call: Call) -> Any:
        async with asyncio.timeout(call.tool.timeout_seconds):
            code, context = self._ready(None, call, store)
            maker = making(code)
            assert maker is not None  # `makes` said so
            return await maker.make(call.arguments, context)

    def _ready(self, tx: Tx | None, call: Call, store: Store | None = None) -> tuple[Tool, ToolContext]:
        implementation = self._implementations[call.tool.name]
        run = call.run
        source = tx or store
        assert source is not None
        context = ToolContext(
            tenant_id=run.tenant_id,
            user_id=run.user_id,
            conversation_id=run.conversation_id,
            run_id=run.id,
            effect_key=effect_key(run.id, call.index),
            zone=run.zone,
            locale=run.locale,
            currency=call.currency,
            asked_at=call.asked_at,
            now=call.now,
            deadline=call.now + timedelta(seconds=call.tool.timeout_seconds),
            new_id=source.ids.uuid7(),
            tx=ModuleTx(tx, implementation.sql) if tx is not None else NoTx(),
            files=self.shelf.opened(run, source.ids, tx=tx, store=store),
        )
        return implementation.tool, context


class NoTx:
    """In `make` there is no transaction: it may take longer than one may be open."""

    async def rows(self, name: str, **params: Any) -> Sequence[Mapping[str, Any]]:
        raise RuntimeError(f"{name}: `make` runs outside any transaction; read tables in `prepare`")

    async def row(self, name: str, **params: Any) -> Mapping[str, Any] | None:
        raise RuntimeError(f"{name}: `make` runs outside any transaction; read tables in `prepare`")


__all__ = ["Arguments", "Implementation", "PythonExecutor", "import_tools"]

"""Which declarations of sources were accepted, what sources say now, and what follows for a call.

Looking is this service's, accepting an operator's (by way of the api): the database lets it do no more than
write down what it saw. A tool goes into a catalog as it was accepted, and is called only while its source
still says the same.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Final

from fencepost_contracts.declared import Pin
from fencepost_contracts.loader import LoadedModule
from fencepost_contracts.sources import Declared, Source, endpoint_of
from fencepost_contracts.tools import RefusalCode, Tool
from fencepost_runtime.logging import get_logger
from fencepost_runtime.telemetry import counter
from fencepost_store import pins as store_pins
from fencepost_store.transaction import Store
from pydantic import ValidationError

from fencepost_tool_gateway.executors.mcp import McpExecutor
from fencepost_tool_gateway.mcp.reached import Reached, SourceUnavailable

log = get_logger(__name__)
LOOK_EVERY: Final = 10.0  # seconds between two looks at a server that says nothing by itself
LOOK_AGAIN: Final = 30.0  # after one that failed
Key = tuple[str, str, str]  # module, tool, fingerprint


class Pinning:
    def __init__(self, servers: McpExecutor | None = None) -> None:
        self._servers = servers
        self._pins: dict[str, dict[str, Pin]] = {}
        self._revoked: set[Key] = set()
        self._declared: dict[tuple[str, str], str] = {}  # (module, tool) -> fingerprint of what is said now
        self._next_look: dict[tuple[str, str], float] = {}
        self._changed = counter("fencepost.pins.changed", "Declarations that differ from the accepted ones")

    def of(self, module: str) -> Iterable[Pin]:
        """Accepted declarations of a module's tools."""
        return self._pins.get(module, {}).values()

    def why_not(self, tool: Tool) -> tuple[RefusalCode, str] | None:
        """Why a tool may not be called under the pin it was published with; None when it may, or has none."""
        if tool.source is None:
            return None
        module, pin = tool.name.partition(".")[0], tool.source.pin
        if (module, tool.name, pin) in self._revoked:
            return "tool_changed", "an operator took back what was accepted of this tool"
        now = self._declared.get((module, tool.name))
        if now is not None and now != pin:
            return (
                "tool_changed",
                f"what {tool.source.name} says of it changed; an operator has to accept that first",
            )
        return None

    def forget_looks(self) -> None:
        """The next look asks every server."""
        self._next_look.clear()

    async def read(self, store: Store) -> set[str]:
        """Read the decisions again; the modules whose accepted declarations are others now."""
        async with store.transaction() as tx:
            decided = await store_pins.pins_decided(tx)
        pins: dict[str, dict[str, Pin]] = {}
        for one in decided:
            if one.status == "accepted" and (declared := _read(one)) is not None:
                at = one.decided_at.isoformat() if one.decided_at else ""
                pins.setdefault(one.module, {})[one.tool] = Pin(one.tool, declared, at)
        self._revoked = {(p.module, p.tool, p.fingerprint) for p in decided if p.status == "revoked"}
        changed = {name for name in {*pins, *self._pins} if pins.get(name) != self._pins.get(name)}
        self._pins = pins
        return changed

    async def look(self, store: Store, modules: Iterable[LoadedModule]) -> None:
        """Ask sources what they declare and write down what is new. A server that is away is asked later."""
        for module in modules:
            await self._see(store, module, module.offer.operations.values())
            for source in module.offer.sources.values():
                if source.mcp is None or self._servers is None:
                    continue
                server = self._servers.server(reached(module, source))
                key, now = (module.folder.name, source.name), time.monotonic()
                if now < self._next_look.get(key, 0.0) and not server.changed.is_set():
                    continue
                server.changed.clear()
                self._next_look[key] = now + LOOK_EVERY
                try:
                    tools = await server.declared()
                except SourceUnavailable as error:
                    self._next_look[key] = now + LOOK_AGAIN
                    log.warning("pin.source_unavailable", module=key[0], source=key[1], why=str(error))
                    continue
                await self._see(store, module, tools.values())
                self._gone(module, source, tools)

    def _gone(self, module: LoadedModule, source: Source, tools: Mapping[str, Declared]) -> None:
        for pin in self.of(module.folder.name):
            if pin.declared.source == source.name and pin.declared.target not in tools:
                self._declared[module.folder.name, pin.tool] = ""

    async def _see(self, store: Store, module: LoadedModule, declared: Iterable[Declared]) -> None:
        name = module.folder.name
        for foreign, one in module.offer.foreign(name, declared):
            try:
                fingerprint, text = one.fingerprint(), one.text()
            except ValueError:
                log.warning("pin.unreadable", module=name, tool=foreign.name)
                self._declared[name, foreign.name] = ""
                continue
            before = self._declared.get((name, foreign.name))
            self._declared[name, foreign.name] = fingerprint
            if before == fingerprint:
                continue
            async with store.transaction() as tx:
                status, is_new = await store_pins.see_declaration(
                    tx, module=name, tool=foreign.name, fingerprint=fingerprint, source=one.source,
                    declaration=text,
                )  # fmt: skip
            if status != "accepted":
                self._changed.add(1, {"module": name})
                log.warning(
                    "pin.waits", module=name, tool=foreign.name, fingerprint=fingerprint[:12], new=is_new
                )


def reached(module: LoadedModule, source: Source) -> Reached:
    return Reached(source.name, endpoint_of(source), source.credential, module.folder.path)


def _read(pin: store_pins.StoredPin) -> Declared | None:
    """None for one that an earlier release wrote in another shape: it is accepted anew."""
    try:
        declared = Declared.model_validate_json(pin.declaration)
    except ValidationError:
        return None
    return declared if declared.fingerprint() == pin.fingerprint else None

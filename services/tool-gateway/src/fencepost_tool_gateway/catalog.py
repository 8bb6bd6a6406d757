"""Catalogs: what each module offers now, and what a run is bound to.

A module's contract is compiled at start; one that can't be compiled stops the start. Later a changed file is
compiled anew and published beside the old one; if it can't be, the previous catalog stays and an alarm is
raised (case CP-4). Runs in flight go on with the catalog they are bound to, read from the database by
fingerprint and hashed again (I16).
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from fencepost_contracts.loader import (
    LONGEST_LOCAL_SECONDS,
    ContractFault,
    ContractRefused,
    LoadedModule,
    discover_modules,
    load_module,
    read_catalog,
    text_of,
)
from fencepost_contracts.modules import ModuleFolder
from fencepost_contracts.schema import Schema
from fencepost_contracts.state import StateWords
from fencepost_contracts.tools import Catalog, Tool
from fencepost_domain.errors import Conflict, NotFound, Tampered
from fencepost_domain.vocabulary import EffectClass
from fencepost_runtime.logging import get_logger
from fencepost_runtime.telemetry import counter
from fencepost_store.actions import Surroundings
from fencepost_store.catalogs import catalog_by_fingerprint, publish_catalog
from fencepost_store.transaction import Store, Tx

from fencepost_tool_gateway.executors.port import Outside
from fencepost_tool_gateway.executors.python import PythonExecutor, import_tools
from fencepost_tool_gateway.executors.routing import INSIDE, Executors
from fencepost_tool_gateway.files import Shelf
from fencepost_tool_gateway.pinning import Pinning

log = get_logger(__name__)
MOST_BOUND: Final = 64  # catalogs kept compiled; older ones are read again when a run needs them


@dataclass(frozen=True)
class Compiled:
    """A catalog with its schemas compiled; safe to share, since catalogs never change."""

    catalog: Catalog

    @cached_property
    def inputs(self) -> dict[str, Schema]:
        return {tool.name: Schema(tool.input_schema) for tool in self.catalog.tools}

    @cached_property
    def outputs(self) -> dict[str, Schema]:
        return {tool.name: Schema(tool.output_schema) for tool in self.catalog.tools}

    @cached_property
    def words(self) -> StateWords:
        return self.catalog.state_words()


class Catalogs:
    """The modules found, their tools' code (imported once, at start), and compiled catalogs."""

    def __init__(
        self,
        dirs: Sequence[Path | None],
        *,
        installed: bool = True,
        outside: Sequence[Outside] = (),
        pinning: Pinning | None = None,
        shelf: Shelf | None = None,
    ) -> None:
        self._dirs, self._installed, self._outside = tuple(dirs), installed, tuple(outside)
        self.pinning = pinning or Pinning()
        self._bases: dict[str, LoadedModule] = {}  # without what their sources provide
        self._modules: dict[str, LoadedModule] = {}
        self._seen: dict[str, str] = {}  # module -> hash of the file last looked at
        self._bound: OrderedDict[str, Compiled] = OrderedDict()
        self._failed = counter("fencepost.contract.reload_failures", "Changed contracts that were refused")
        self.refused: dict[str, tuple[str, ...]] = {}  # module -> faults of its file as it is now
        self._shelf = shelf or Shelf()
        self.executor = Executors(PythonExecutor({}, self._shelf), self._outside, self.pinning.why_not)

    def load(self) -> None:
        """Compile and import everything. Raises ContractRefused with all that is wrong."""
        folders = discover_modules(self._dirs, installed=self._installed)
        tools = {}
        for folder in folders:
            tools.update(import_tools(folder))
        inside = PythonExecutor(tools, self._shelf)
        self.executor = Executors(inside, self._outside, self.pinning.why_not)
        faults: list[ContractFault] = []
        for folder in folders:
            try:
                self._take(self._compiled(folder))
                self._seen[folder.name] = _digest(self._bases[folder.name])
            except ContractRefused as error:
                faults.extend(error.faults)
        if faults:
            raise ContractRefused(faults)

    async def publish(self, store: Store) -> int:
        """Put each present catalog in force, kept once by its fingerprint; returns how many weren't."""
        async with store.transaction() as tx:
            new = 0
            for module in self._modules.values():
                new += await _publish(tx, module.catalog)
        return new

    async def reload(self, store: Store) -> int:
        """Look at the contracts again; returns how many changed. A refused one leaves the last in force."""
        changed = 0
        for module in list(self._bases.values()):
            digest = _digest(module)
            if digest == self._seen.get(module.folder.name):
                continue
            try:
                newer = self._compiled(module.folder)
            except ContractRefused as error:
                self._alarm(module, error)
            else:
                await self._replace(store, newer)
                changed += 1
                digest = _digest(newer)  # another document may be named now
            self._seen[module.folder.name] = digest  # an alarm a change, not one a second
        return changed

    async def follow(self, store: Store) -> int:
        """Take up what operators decided of pins; returns how many catalogs changed by that."""
        changed = sorted(await self.pinning.read(store) & set(self._bases))
        for name in changed:
            await self._replace(store, self._bases[name])
        return len(changed)

    async def look(self, store: Store) -> None:
        """Ask the modules' sources what they declare."""
        await self.pinning.look(store, list(self._bases.values()))

    async def _replace(self, store: Store, newer: LoadedModule) -> None:
        # In the database first: a run must never be bound to what nobody else can read.
        async with store.transaction() as tx:
            await _publish(tx, self._with_pins(newer).catalog)
        self._take(newer)

    def _with_pins(self, module: LoadedModule) -> LoadedModule:
        pinned, refused = module.pinned(self.pinning.of(module.folder.name))
        for tool, why in refused.items():
            log.error("pin.unusable", module=module.folder.name, tool=tool, why=why)
        return pinned

    def _alarm(self, module: LoadedModule, error: ContractRefused) -> None:
        name, faults = module.folder.name, tuple(map(str, error.faults))
        self.refused[name] = faults
        self._failed.add(1, {"module": name})
        log.error(
            "contract.reload_refused", module=name, in_force=module.catalog.fingerprint, faults=list(faults)
        )

    def _compiled(self, folder: ModuleFolder) -> LoadedModule:
        module = load_module(folder)
        inside = [tool for tool in module.catalog.tools if tool.effect_class in INSIDE]
        missing = [tool.name for tool in inside if self.executor.why_not(tool) is not None]
        hasty = [tool.name for tool in inside if _takes_time(tool) and not self.executor.makes(tool)]
        for names, why in ((missing, "no code in tools/ for"), (hasty, "it takes time, so write `make` for")):
            if names:
                detail = f"{why} {', '.join(names)}"
                raise ContractRefused([ContractFault(str(folder.contract), 1, "allowed_tools", detail)])
        return module

    def _take(self, module: LoadedModule) -> None:
        name = module.folder.name
        self._bases[name] = module
        self._modules[name] = self._with_pins(module)
        self.refused.pop(name, None)
        self._keep(Compiled(self._modules[name].catalog))

    def folders(self) -> dict[str, Path]:
        return {name: module.folder.path for name, module in self._bases.items()}

    def now(self, module: str) -> Catalog:
        """The module's catalog in force. Raises NotFound."""
        found = self._modules.get(module)
        if found is None:
            raise NotFound("module", module)
        return found.catalog

    async def bound(self, tx: Tx, around: Surroundings, module: str) -> Compiled:
        """The catalog that a run is bound to.

        Raises Conflict catalog_mismatch (bound to none, or to another module's), catalog_revoked, Tampered.
        """
        if around.catalog_fp is None:
            raise Conflict("catalog_mismatch", "the run is bound to no catalog yet")
        if around.catalog_revoked:
            raise Conflict("catalog_revoked", "the catalog this run is bound to was revoked")
        if around.catalog_intact is None:
            raise Conflict("catalog_mismatch", "the catalog this run is bound to is not published")
        if not around.catalog_intact:
            raise Tampered("catalog", around.catalog_fp)
        compiled = await self.by_fingerprint(tx, around.catalog_fp)
        if compiled.catalog.module != module:
            raise Conflict("catalog_mismatch", f"the run is of {module}, its catalog is not")
        return compiled

    async def by_fingerprint(self, tx: Tx, fingerprint: str) -> Compiled:
        """Raises NotFound, Tampered."""
        known = self._bound.get(fingerprint)
        if known is None:
            stored = await catalog_by_fingerprint(tx, fingerprint)
            if stored is None:
                raise NotFound("catalog", fingerprint)
            known = Compiled(read_catalog(fingerprint, stored.body))
        self._keep(known)
        return known

    def _keep(self, compiled: Compiled) -> None:
        self._bound[compiled.catalog.fingerprint] = compiled
        self._bound.move_to_end(compiled.catalog.fingerprint)
        while len(self._bound) > MOST_BOUND:
            self._bound.popitem(last=False)


def _takes_time(tool: Tool) -> bool:
    return tool.effect_class is EffectClass.LOCAL and tool.timeout_seconds > LONGEST_LOCAL_SECONDS


async def _publish(tx: Tx, catalog: Catalog) -> bool:
    return await publish_catalog(
        tx,
        fingerprint=catalog.fingerprint,
        module=catalog.module,
        version=catalog.version,
        body=text_of(catalog),
    )


def _digest(module: LoadedModule) -> str:
    """Of the contract and the documents it names."""
    documents = [module.folder.path / one.openapi for one in module.contract.sources if one.openapi]
    digest = hashlib.sha256()
    for path in (module.folder.contract, *documents):
        try:
            digest.update(hashlib.sha256(path.read_bytes()).digest())
        except OSError:
            digest.update(b"unreadable")
    return digest.hexdigest()

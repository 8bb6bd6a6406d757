"""Binding a run at its first claim, and taking up its versions at each later one (I16)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from fencepost_contracts.graphs import BroughtGraph, Definition, Manifest
from fencepost_contracts.loader import read_catalog
from fencepost_contracts.tools import Catalog
from fencepost_domain.errors import NotFound, Tampered
from fencepost_domain.ports import Clock
from fencepost_domain.vocabulary import Reason
from fencepost_runtime.failpoints import ahit
from fencepost_runtime.logging import get_logger
from fencepost_store import bindings
from fencepost_store.bindings import Stored, Versions
from fencepost_store.claims import Claim
from fencepost_store.transaction import Store, Tx

from fencepost_worker.engine.port import Broken, Deferred
from fencepost_worker.prompts import prompt_of

CATALOGS_FOR_SECONDS: Final = 1.0  # what is published now is asked for at most this often
NOT_PUBLISHED_SECONDS: Final = (
    1.0  # the gateway publishes at its start; a run waits without losing an attempt
)
PROMPT_SECONDS: Final = 5.0  # a rollout that brings the words to this worker, or the run to another

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Bound:
    """A run's versions, verified. modules: whom it may be handed over to."""

    definition: Definition
    manifest: Manifest
    catalog: Catalog
    modules: tuple[str, ...]


@dataclass(slots=True)
class Binder:
    """One per process. `definitions`: those this worker has code for, by fingerprint.

    The first of a module's own is its newest; a module without one gets the first that is ours.
    """

    store: Store
    clock: Clock
    definitions: Mapping[str, Definition]
    manifest: Manifest
    served: Sequence[str]
    _catalogs: tuple[float, Mapping[str, str]] = (float("-inf"), {})
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def versions(self) -> list[str]:
        return list(self.definitions)

    async def publish(self) -> None:
        """Make graph and manifest known; they are immutable, so again changes nothing."""
        async with self.store.transaction() as tx:
            for fingerprint, definition in self.definitions.items():
                await bindings.publish_definition(
                    tx,
                    fingerprint=fingerprint,
                    module=definition.name if isinstance(definition, BroughtGraph) else "*",
                    version=f"{definition.name}-{definition.version}",
                    body=definition.body(),
                )
            await bindings.publish_manifest(
                tx, fingerprint=self.manifest.fingerprint(), body=self.manifest.body()
            )

    async def offered(self, module: str) -> Versions | None:
        """What a run of this module is bound to at its first claim; None while there is no catalog yet."""
        chosen = (await self._published()).get(module)
        if chosen is None:
            return None
        return Versions(self._newest(module), self.manifest.fingerprint(), chosen)

    def _newest(self, module: str) -> str:
        """The fingerprint of the graph that a new run of this module gets."""
        own = [
            f for f, one in self.definitions.items() if isinstance(one, BroughtGraph) and one.name == module
        ]
        ours = (f for f, one in self.definitions.items() if not isinstance(one, BroughtGraph))
        return own[0] if own else next(ours)

    async def read(self, tx: Tx, claims: Sequence[Claim]) -> Mapping[Versions, Mapping[str, Stored]]:
        """The stored versions of these claims, in the claim's own transaction."""
        wanted = {versions_of(one) for one in claims if one.run.graph_version}
        return {versions: await bindings.load(tx, versions) for versions in wanted}

    async def bind(
        self, claim: Claim, stored: Mapping[str, Stored] | None = None
    ) -> Bound | Broken | Deferred:
        """The run's versions: chosen and recorded at its first claim, then the same for ever.

        stored: they were recorded with the claim, or before, and read with it; nothing more is asked.
        Broken when stored content was revoked, altered or is gone; Deferred while there is no catalog yet.
        """
        published = await self._published()
        versions = versions_of(claim)
        if stored is not None and claim.run.graph_version:
            return self._checked(versions, stored, published)
        if not claim.run.graph_version:
            offered = await self.offered(claim.run.module)
            if offered is None:
                return Deferred("catalog_missing", claim.run.module, NOT_PUBLISHED_SECONDS, counts=False)
            versions = offered
        async with self.store.transaction() as tx:
            if not claim.run.graph_version:
                await bindings.bind(tx, claim.run, claim.fence, versions)
                await ahit("worker.bind.before_commit")
            bound = self._checked(versions, await bindings.load(tx, versions), published)
        if not claim.run.graph_version:
            await ahit("worker.bind.after_commit")
        return bound

    def _checked(
        self, versions: Versions, stored: Mapping[str, Stored], published: Mapping[str, str]
    ) -> Bound | Broken | Deferred:
        try:
            return self._take_up(versions, stored, tuple(sorted({*published, *self.served})))
        except NotFound as error:  # words of a newer release, which another worker has
            return Deferred("prompt_not_served", str(error), PROMPT_SECONDS, counts=False)
        except Tampered as error:
            log.error("binding.refused", thing=error.thing, fingerprint=error.fingerprint)
            return Broken(Reason.VERSION_REVOKED, f"{error.thing}_tampered", str(error))

    def _take_up(
        self, versions: Versions, stored: Mapping[str, Stored], modules: tuple[str, ...]
    ) -> Bound | Broken:
        for kind in ("graph", "manifest", "catalog"):
            if kind not in stored:
                return Broken(
                    Reason.VERSION_REVOKED, f"{kind}_missing", f"the {kind} this run is bound to is gone"
                )
            if stored[kind].revoked:
                return Broken(
                    Reason.VERSION_REVOKED, f"{kind}_revoked", f"the {kind} this run is bound to was revoked"
                )
        manifest, catalog = _parsed(stored["graph"], stored["manifest"], versions.catalog, stored["catalog"])
        for reference in (manifest.prompts or {}).values():
            prompt_of(reference)
        return Bound(self.definitions[versions.graph], manifest, catalog, modules)

    async def _published(self) -> Mapping[str, str]:
        """Asked once a second at most, by one of all that wait for it."""
        async with self._asking:
            now = self.clock.monotonic()
            if now - self._catalogs[0] >= CATALOGS_FOR_SECONDS:
                async with self.store.transaction() as tx:
                    self._catalogs = (now, await bindings.newest_catalogs(tx))
            return self._catalogs[1]


@lru_cache(maxsize=64)
def _parsed(graph: Stored, manifest: Stored, catalog_fp: str, catalog: Stored) -> tuple[Manifest, Catalog]:
    """Checked by hash and parsed; the same bytes again are the same answer. Raises Tampered."""
    bindings.check_hash("graph", graph)
    bindings.check_hash("manifest", manifest)
    return Manifest.model_validate_json(manifest.body), read_catalog(catalog_fp, catalog.body)


def versions_of(claim: Claim) -> Versions:
    return Versions(claim.run.graph_version, claim.manifest_fp or "", claim.catalog_fp or "")

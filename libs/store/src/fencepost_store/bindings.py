"""What a run is bound to: graph, manifest and catalog, as immutable versions kept by fingerprint (I16).

A run is bound once, at its first claim, and goes on with those versions for ever. The bodies are checked by
their hash each time a worker takes them up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from fencepost_domain.decision import Decision, NewEvent
from fencepost_domain.errors import Tampered
from fencepost_domain.fence import Fence, FenceKind
from fencepost_domain.run import Run
from fencepost_domain.vocabulary import Ev
from sqlalchemy import RowMapping

from fencepost_store.record import Recorded, record
from fencepost_store.transaction import Tx


@dataclass(frozen=True, slots=True)
class Versions:
    """Fingerprints of a binding. catalog '' : the module has no tools."""

    graph: str
    manifest: str
    catalog: str

    def told(self) -> dict[str, str]:
        """The payload of run.bound."""
        return {"graph": self.graph, "manifest": self.manifest, "catalog": self.catalog}


@dataclass(frozen=True, slots=True)
class Stored:
    """A published version as it lies in the table."""

    fingerprint: str
    body: str
    revoked: bool


async def publish_definition(tx: Tx, *, fingerprint: str, module: str, version: str, body: str) -> None:
    await tx.execute(
        "publish_definition", {"fingerprint": fingerprint, "module": module, "version": version, "body": body}
    )


async def published_as(tx: Tx, *, module: str, version: str) -> set[str]:
    """Fingerprints under which a version of a module's own graph is published; more than one is a fault."""
    return {row["fingerprint"] for row in await tx.rows("published_as", module=module, version=version)}


async def publish_manifest(tx: Tx, *, fingerprint: str, body: str) -> None:
    await tx.execute("publish_manifest", {"fingerprint": fingerprint, "body": body})


async def newest_catalogs(tx: Tx) -> dict[str, str]:
    """Module -> fingerprint of what is published now."""
    return {row["module"]: row["fingerprint"] for row in await tx.rows("newest_catalogs")}


async def load(tx: Tx, versions: Versions) -> Mapping[str, Stored]:
    """The stored versions by kind (`graph`, `manifest`, `catalog`); a missing one is absent."""
    rows = await tx.rows(
        "bound_versions", graph=versions.graph, manifest=versions.manifest, catalog=versions.catalog
    )
    return {row["kind"]: Stored(row["fingerprint"], row["body"], row["revoked"]) for row in rows}


def check_hash(kind: str, stored: Stored) -> None:
    """Raise Tampered unless the body hashes to its fingerprint (SHA-256 of the canonical text)."""
    if hashlib.sha256(stored.body.encode()).hexdigest() != stored.fingerprint:
        raise Tampered(kind, stored.fingerprint)


async def bind(tx: Tx, run: Run, fence: Fence, versions: Versions) -> Recorded:
    """Bind a run that is not bound yet. `run` is as claimed; the write judges the fence. Raises FenceLost."""
    told = versions.told()
    decision = Decision(
        None,
        sets={
            "graph_version": versions.graph,
            "manifest_fp": versions.manifest,
            "catalog_fp": versions.catalog or None,
        },
        events=(NewEvent(tx.ids.uuid7(), Ev.RUN_BOUND, told),),
        fence=fence,
        fence_kind=FenceKind.RECORD,
    )
    return await record(tx, run, decision)


async def asked(tx: Tx, run_id: UUID, kind: str, index: int, n: int) -> RowMapping | None:
    """What became of a question: id, status, resolution, resolved_by; None when it was never asked."""
    return await tx.row("asked_interrupt", run_id=run_id, kind=kind, index=index, n=n)


@dataclass(frozen=True, slots=True)
class EndingFacts:
    """A run's effects and usage as stored. unsettled: `started`, `unknown` or `needs_human`."""

    completed: tuple[dict[str, Any], ...]
    unsettled: tuple[dict[str, Any], ...]
    usage: dict[str, int]


async def ending_facts(tx: Tx, run_id: UUID) -> EndingFacts:
    """Effects that completed or aren't settled, and usage. The run's row is held by the caller."""
    row = await tx.row("ending_facts", run_id=run_id)
    effects: list[dict[str, Any]] = row["effects"] if row is not None else []
    return EndingFacts(
        tuple(e for e in effects if e["state"] == "completed"),
        tuple(e for e in effects if e["state"] != "completed"),
        row["usage"] if row is not None else {},
    )


async def open_effects(tx: Tx, run_id: UUID) -> list[int]:
    """Indexes of a run's actions that are at work outside: to be told that the run is stopped."""
    return [row["index"] for row in await tx.rows("open_effects", run_id=run_id)]


async def is_recorded(tx: Tx, run_id: UUID, message_id: UUID) -> bool:
    """Was the ending with this message committed, though its answer was lost?"""
    return await tx.row("finalization_is", run_id=run_id, message_id=message_id) is not None

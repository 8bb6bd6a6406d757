"""The artifact registry: one owner, versions, a hash, a verdict with evidence, and what the scan found.

The bytes are stored first, under the row's id; a row without bytes is never made here. What became of the
bytes later is a finding of whoever read them (I29).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from fencepost_domain.artifact import ArtifactStatus, Lost
from fencepost_domain.errors import Conflict, NotFound
from sqlalchemy import RowMapping

from fencepost_store.storable import as_json
from fencepost_store.transaction import Tx


@dataclass(frozen=True, slots=True)
class NewArtifact:
    """sha256: of the bytes as stored. replaces: the artifact whose next version this is.

    key: the Idempotency-Key of an upload, with the hash of the request; None for what a run makes.
    """

    id: UUID
    tenant_id: UUID
    user_id: str
    name: str
    media_type: str
    size_bytes: int
    sha256: bytes
    status: ArtifactStatus = ArtifactStatus.DRAFT
    origin: str = "upload"
    run_id: UUID | None = None
    replaces: UUID | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    route: str | None = None
    key: str | None = None
    request_hash: str | None = None


@dataclass(frozen=True, slots=True)
class ToCheck:
    id: UUID
    tenant_id: UUID
    run_id: UUID | None
    sha256: bytes


async def add_artifact(tx: Tx, new: NewArtifact) -> tuple[UUID, bool]:
    """The artifact's id, and whether it was made now (False: this key had made one).

    Raises NotFound for an artifact to replace that isn't the owner's, Conflict idempotency_key_reused.
    """
    first_id, version = new.id, 1
    if new.replaces is not None:
        lineage = await tx.row("lock_lineage", id=new.replaces)
        if lineage is None or lineage["user_id"] != new.user_id:
            raise NotFound("artifact", new.replaces)
        first_id = lineage["first_id"]
        newest = await tx.row("newest_version", first_id=first_id)
        version = (newest["newest"] if newest is not None else 0) + 1
    made = await tx.row(
        "insert_artifact",
        id=new.id,
        tenant_id=new.tenant_id,
        user_id=new.user_id,
        run_id=new.run_id,
        display_name=new.name,
        media_type=new.media_type,
        size_bytes=new.size_bytes,
        sha256=new.sha256,
        status=str(new.status),
        first_id=first_id,
        version=version,
        origin=new.origin,
        evidence=as_json(dict(new.evidence)),
        route=new.route,
        key=new.key,
        request_hash=new.request_hash,
    )
    if made is not None:
        return new.id, True
    found = await made_by_key(tx, new.user_id, new.route or "", new.key or "", new.request_hash or "")
    if found is None:
        raise Conflict("idempotency_key_in_use", "the artifact under this key is not visible")
    return found, False


async def made_by_key(tx: Tx, user_id: str, route: str, key: str, request_hash: str) -> UUID | None:
    """What this key made before. Raises Conflict idempotency_key_reused when it was another request."""
    stored = await tx.row("artifact_by_key", user_id=user_id, route=route, key=key)
    if stored is None:
        return None
    if stored["request_hash"] != request_hash:
        raise Conflict("idempotency_key_reused", "this key was used for another request")
    found: UUID = stored["id"]
    return found


async def artifact(tx: Tx, artifact_id: UUID, user_id: str | None) -> RowMapping:
    """One artifact; user_id: whose it has to be, None for who oversees the tenant. Raises NotFound."""
    row = await tx.row("artifact", id=artifact_id, user_id=user_id)
    if row is None:
        raise NotFound("artifact", artifact_id)
    return row


async def readable_artifact(tx: Tx, artifact_id: UUID, run_id: UUID) -> RowMapping | None:
    """An artifact that this run may see: its user's, attached to or made by a run of its conversation."""
    return await tx.row("readable_artifact", id=artifact_id, run_id=run_id)


async def artifacts_of_run(tx: Tx, run_id: UUID) -> Sequence[RowMapping]:
    """Its own files and those it was given, unless erased or known to be lost: id, tenant, size, hash."""
    return await tx.rows("artifacts_of_run", run_id=run_id)


async def usable_artifacts(tx: Tx, user_id: str, ids: Sequence[UUID]) -> dict[UUID, str | None]:
    """Of the caller's own among the ids: why each can't be used, None when it can."""
    rows = await tx.rows("usable_artifacts", user_id=user_id, ids=list(ids))
    return {row["id"]: row["lost"] or ("rejected" if row["status"] == "rejected" else None) for row in rows}


async def judge_artifact(
    tx: Tx, artifact_id: UUID, status: ArtifactStatus, evidence: Mapping[str, Any]
) -> None:
    """A draft becomes verified or rejected. Raises Conflict artifact_judged."""
    row = await tx.row("judge_artifact", id=artifact_id, status=str(status), evidence=as_json(dict(evidence)))
    if row is None:
        raise Conflict("artifact_judged", "this artifact has its verdict")


async def artifacts_to_check(tx: Tx, every: timedelta, batch: int) -> list[ToCheck]:
    rows = await tx.rows("artifacts_to_check", every=every, batch=batch)
    return [ToCheck(row["id"], row["tenant_id"], row["run_id"], bytes(row["sha256"])) for row in rows]


async def artifacts_to_remove(tx: Tx, batch: int) -> list[tuple[UUID, UUID]]:
    """Erased files whose bytes are still to be removed, as (tenant, id)."""
    return [(row["tenant_id"], row["id"]) for row in await tx.rows("artifacts_to_remove", batch=batch)]


async def note_removed(tx: Tx, artifact_id: UUID) -> None:
    """The bytes of an erased file are gone."""
    await tx.execute("note_removed", {"id": artifact_id})


async def note_check(tx: Tx, artifact_id: UUID, lost: Lost | None) -> bool:
    """Record what a reader found; True when it is news."""
    row = await tx.row("note_check", id=artifact_id, lost=str(lost) if lost else None)
    return row is not None


async def without_row(tx: Tx, ids: Sequence[UUID]) -> tuple[set[UUID], datetime]:
    """Those of the ids that no artifact has, and the database's instant."""
    row = await tx.row("known_of", ids=list(ids))
    assert row is not None  # the statement always returns one row
    return set(ids) - set(row["ids"]), row["now"]

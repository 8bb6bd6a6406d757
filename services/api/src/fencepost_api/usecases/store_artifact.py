"""Take in a file: judged, hashed, its bytes stored first and its row in one transaction with its key.

A crash between the two leaves bytes without a row, which nobody is served and the reconciler's scan removes.
"""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from fencepost_contracts import canonical
from fencepost_domain.artifact import MEDIA_TYPES, ArtifactStatus, contradicts, safe_name
from fencepost_domain.errors import Invalid, Refused
from fencepost_runtime.artifacts import ArtifactStore, ArtifactsUnavailable, key_of
from fencepost_runtime.failpoints import ahit
from fencepost_store import artifacts as registry
from fencepost_store.artifacts import NewArtifact
from fencepost_store.transaction import Tx

from fencepost_api.auth import Caller
from fencepost_api.context import Api
from fencepost_api.problems import Refusal

ROUTE: Final = "POST /v1/artifacts"
_START: Final = 16  # bytes that tell a type


@dataclass(frozen=True, slots=True)
class Upload:
    """What came in: the name as the client gave it, the type it claims."""

    name: str
    media_type: str
    data: bytes
    replaces: UUID | None = None


def store_of(api: Api) -> ArtifactStore:
    """Raises Refusal artifacts_unavailable where no store is set up."""
    if api.artifacts is None:
        raise Refusal(
            "artifacts_unavailable", "This installation keeps no files: set FENCEPOST_ARTIFACTS_URL."
        )
    return api.artifacts


async def store_artifact(api: Api, caller: Caller, upload: Upload, key: str) -> tuple[Any, bool]:
    """The artifact's row, and whether this key had made it before.

    Raises Invalid for a type that isn't taken or bytes that contradict it, Conflict idempotency_key_reused,
    NotFound for an artifact to replace that isn't the caller's.
    """
    caller.need("user", "operator", "admin")
    store = store_of(api)
    _check_type(upload)
    digest = await asyncio.to_thread(lambda: hashlib.sha256(upload.data).digest())
    request_hash = canonical.digest([upload.name, upload.media_type, digest.hex(), str(upload.replaces)])
    async with api.store.transaction(caller.tenant_id) as tx:
        made = await registry.made_by_key(tx, caller.user_id, ROUTE, key, request_hash)
        if made is not None:
            return await registry.artifact(tx, made, caller.user_id), True
    new_id = api.ids.uuid7()
    place = key_of(caller.tenant_id, new_id)
    await store.put(place, upload.data)
    await ahit("api.artifact.after_store")
    if await store.read(place) != upload.data:  # what can't be read back now won't be later
        await store.delete(place)
        raise ArtifactsUnavailable("what was stored can't be read back")
    new = _new(caller, upload, new_id, digest, key, request_hash)

    async def write(tx: Tx) -> tuple[Any, bool]:
        artifact_id, fresh = await registry.add_artifact(tx, new)
        if fresh:
            await registry.judge_artifact(tx, artifact_id, ArtifactStatus.VERIFIED, {"read_back": True})
        row = await registry.artifact(tx, artifact_id, caller.user_id)
        await ahit("api.artifact.before_commit")
        return row, not fresh

    try:
        row, replayed = await api.store.run(caller.tenant_id, write)
    except Refused:  # surely no row; after any other failure there may be one, and the scan will know
        await store.delete(place)
        raise
    if replayed:
        await store.delete(place)  # a twin was quicker; its bytes are the same
    await ahit("api.artifact.before_response")
    return row, replayed


def _new(
    caller: Caller, upload: Upload, new_id: UUID, digest: bytes, key: str, request_hash: str
) -> NewArtifact:
    return NewArtifact(
        id=new_id,
        tenant_id=caller.tenant_id,
        user_id=caller.user_id,
        name=safe_name(upload.name),
        media_type=upload.media_type,
        size_bytes=len(upload.data),
        sha256=digest,
        replaces=upload.replaces,
        evidence={"media_type": "its first bytes fit", "name_given": safe_name(upload.name) == upload.name},
        route=ROUTE,
        key=key,
        request_hash=request_hash,
    )


def _check_type(upload: Upload) -> None:
    if upload.media_type not in MEDIA_TYPES:
        taken = ", ".join(sorted(MEDIA_TYPES))
        raise Refusal("artifact_type_refused", f"This type isn't taken. These are: {taken}.")
    if not upload.data:
        raise Invalid("/file", "the file is empty", "artifact_empty")
    if contradicts(upload.media_type, upload.data[:_START]):
        raise Invalid("/file", f"its content is not {upload.media_type}", "artifact_type_mismatch")

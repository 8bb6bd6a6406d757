"""Files of a tool: read by what its run may see, kept under ids of ours, registered with its outcome.

The bytes are stored first. Their row, its verdict and the event are in the transaction that completes the
call; where that surely failed the bytes are taken back. What a crash leaves, the reconciler's scan removes.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from fencepost.authoring import ToolRefused
from fencepost.files import ArtifactRead, NewArtifact, Verdict
from fencepost_contracts import canonical
from fencepost_domain.artifact import MEDIA_TYPES, ArtifactStatus, contradicts, safe_name
from fencepost_domain.decision import NewEvent
from fencepost_domain.errors import NotFound
from fencepost_domain.ports import Ids
from fencepost_domain.run import Run
from fencepost_domain.vocabulary import Ev
from fencepost_runtime.artifacts import ArtifactMissing, ArtifactStore, ArtifactsUnavailable, key_of
from fencepost_runtime.failpoints import ahit
from fencepost_runtime.logging import get_logger
from fencepost_store import artifacts as registry
from fencepost_store.transaction import Store, Tx

log = get_logger(__name__)
MOST_FILES: Final = 20  # of one result
_START: Final = 16  # bytes that tell a type


@dataclass(frozen=True, slots=True)
class Shelf:
    """Where files are kept. bytes_: None where no artifact store is set up. most: bytes of one file."""

    bytes_: ArtifactStore | None = None
    most: int = 26_214_400

    def opened(self, run: Run, ids: Ids, *, tx: Tx | None = None, store: Store | None = None) -> CallFiles:
        """For one call: by its open transaction, else by short ones of its own."""
        return CallFiles(self, run, ids, tx, store)

    def there(self) -> ArtifactStore:
        if self.bytes_ is None:
            raise ToolRefused(
                "this installation keeps no files: set FENCEPOST_ARTIFACTS_URL", code="artifacts_unavailable"
            )
        return self.bytes_

    async def keep(self, run: Run, files: Sequence[NewArtifact]) -> tuple[Kept, ...]:
        """Store the bytes and read them back. Raises ArtifactsUnavailable; then none of them is kept."""
        kept: list[Kept] = []
        try:
            for file in files:
                place = key_of(run.tenant_id, file.id)
                digest = await asyncio.to_thread(hashlib.sha256, file.data)
                await self.there().put(place, file.data)
                kept.append(Kept(file, len(file.data), digest.digest()))
                if await self.there().read(place) != file.data:
                    raise ArtifactsUnavailable("what was stored can't be read back")
                await ahit("gateway.artifact.after_put")
        except ArtifactsUnavailable:
            await self.drop(run, kept)
            raise
        return tuple(kept)

    async def drop(self, run: Run, kept: Sequence[Kept]) -> None:
        """Take back bytes that surely have no row. What can't be removed now the scan removes."""
        for one in kept:
            try:
                await self.there().delete(key_of(run.tenant_id, one.file.id))
            except ArtifactsUnavailable:
                log.warning("artifact.left_over", artifact_id=str(one.file.id), run_id=str(run.id))


@dataclass(frozen=True, slots=True)
class Kept:
    """A file whose bytes are stored."""

    file: NewArtifact
    size: int
    sha256: bytes


class CallFiles:
    """Implements fencepost.files.ToolFiles for one call of one run."""

    def __init__(self, shelf: Shelf, run: Run, ids: Ids, tx: Tx | None, store: Store | None) -> None:
        self._shelf, self._run, self._ids, self._tx, self._store = shelf, run, ids, tx, store

    async def read(self, artifact_id: UUID | str, pointer: str) -> ArtifactRead:
        row = await self._row(_id(artifact_id, pointer))
        if row is None:
            raise ToolRefused("there is no such file here", pointer=pointer, code="artifact_unknown")
        if row["status"] == "rejected":
            raise ToolRefused("this file was rejected", pointer=pointer, code="artifact_rejected")
        try:
            data = await self._shelf.there().read(key_of(row["tenant_id"], row["id"]))
        except ArtifactMissing:
            raise ToolRefused(
                "the content of this file is gone", pointer=pointer, code="artifact_lost"
            ) from None
        found = await asyncio.to_thread(hashlib.sha256, data)
        if found.digest() != bytes(row["sha256"]):
            log.error("artifact.altered", artifact_id=str(row["id"]), run_id=str(self._run.id))
            raise ToolRefused(
                "the content of this file isn't what was stored", pointer=pointer, code="artifact_lost"
            )
        return ArtifactRead(row["id"], row["name"], row["media_type"], found.hexdigest(), data)

    async def _row(self, artifact_id: UUID) -> Any:
        if self._tx is not None:
            return await registry.readable_artifact(self._tx, artifact_id, self._run.id)
        assert self._store is not None  # one of the two, see Shelf.opened
        async with self._store.transaction(self._run.tenant_id) as tx:
            return await registry.readable_artifact(tx, artifact_id, self._run.id)

    def new(
        self,
        name: str,
        media_type: str,
        data: bytes,
        evidence: Mapping[str, Any],
        status: Verdict,
        replaces: UUID | None,
    ) -> NewArtifact:
        made = NewArtifact(self._ids.uuid7(), safe_name(name), media_type, data, evidence, status, replaces)
        check_file(made, self._shelf.most)
        return made


def check_file(file: NewArtifact, most: int) -> None:
    """Raises ToolRefused artifact_refused for what isn't taken."""
    why = None
    if not isinstance(file.data, bytes) or not file.data:
        why = "it is empty"
    elif len(file.data) > most:
        why = f"it has {len(file.data)} bytes, at most {most} are taken (FENCEPOST_MAX_ARTIFACT_BYTES)"
    elif file.media_type not in MEDIA_TYPES:
        why = f"the type {file.media_type} isn't taken"
    elif contradicts(file.media_type, file.data[:_START]):
        why = f"its content is not {file.media_type}"
    elif file.status not in (ArtifactStatus.DRAFT, ArtifactStatus.VERIFIED, ArtifactStatus.REJECTED):
        why = f"{file.status} is no verdict"
    if why is not None:
        raise ToolRefused(f"the file {safe_name(file.name)}: {why}", code="artifact_refused")


def check_files(files: Sequence[NewArtifact], most: int) -> None:
    """All files of a result. Raises ToolRefused artifact_refused."""
    if len(files) > MOST_FILES:
        raise ToolRefused(
            f"{len(files)} files in one result, at most {MOST_FILES} are taken", code="artifact_refused"
        )
    if len({file.id for file in files}) != len(files):
        raise ToolRefused("a file stands twice in one result", code="artifact_refused")
    for file in files:
        check_file(file, most)


async def register(
    tx: Tx, run: Run, kept: Sequence[Kept], *, index: int, tool: str, actor: str
) -> list[NewEvent]:
    """The rows of stored files, in the transaction of their outcome; returns the events that tell them.

    Raises NotFound for an artifact to replace that the run may not see.
    """
    events = []
    for one in kept:
        events.append(await _registered(tx, run, one, index, tool, actor))
    return events


async def _registered(tx: Tx, run: Run, one: Kept, index: int, tool: str, actor: str) -> NewEvent:
    file = one.file
    if file.replaces is not None and await registry.readable_artifact(tx, file.replaces, run.id) is None:
        raise NotFound("artifact", file.replaces)
    name = safe_name(file.name)
    evidence = {**canonical.plain(dict(file.evidence)), "read_back": True, "tool": tool, "index": index}
    new = registry.NewArtifact(
        id=file.id,
        tenant_id=run.tenant_id,
        user_id=run.user_id,
        name=name,
        media_type=file.media_type,
        size_bytes=one.size,
        sha256=one.sha256,
        status=ArtifactStatus(file.status),
        origin="tool",
        run_id=run.id,
        replaces=file.replaces,
        evidence=evidence,
    )
    await registry.add_artifact(tx, new)
    row = await registry.artifact(tx, file.id, run.user_id)
    told = {
        "artifact_id": str(file.id), "index": index, "tool": tool, "name": name,
        "media_type": file.media_type, "size_bytes": one.size, "sha256": one.sha256.hex(),
        "status": file.status, "version": row["version"],
    }  # fmt: skip
    return NewEvent(tx.ids.uuid7(), Ev.ARTIFACT_CREATED, told, actor)


def _id(given: UUID | str, pointer: str) -> UUID:
    try:
        return given if isinstance(given, UUID) else UUID(str(given))
    except ValueError:
        raise ToolRefused("a file is named by its id", pointer=pointer, code="artifact_unknown") from None

"""The artifact store: bytes under keys of ours, whole or not there, never overwritten.

A key is made of ids only (`<tenant>/<id>`); what a person called the file is data in the registry and never
part of a path. The store knows no hashes: the registry does, and whoever reads compares.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol
from uuid import UUID

from fencepost_domain.errors import FencepostError

_KEY: Final = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
)


class ArtifactMissing(FencepostError):
    """There is nothing under this key."""

    code = "artifact_missing"


class ArtifactExists(FencepostError):
    """Something is under this key already; keys are never used twice."""

    code = "artifact_exists"


class ArtifactsUnavailable(FencepostError):
    """The store doesn't answer, or doesn't let us in. Nothing is said of what is in it."""

    code = "artifacts_unavailable"
    retryable = True


@dataclass(frozen=True, slots=True)
class Stored:
    key: str
    size: int
    at: datetime


class ArtifactStore(Protocol):
    """Every call may raise ArtifactsUnavailable."""

    async def put(self, key: str, data: bytes) -> None:
        """Store whole, durably when it returns. Raises ArtifactExists."""
        ...

    async def read(self, key: str) -> bytes:
        """Raises ArtifactMissing."""
        ...

    async def delete(self, key: str) -> None:
        """Nothing is under the key afterwards, whether or not something was."""
        ...

    def stored(self) -> AsyncIterator[Stored]:
        """Everything that is stored whole, in no order."""
        ...

    async def check(self) -> None:
        """Is the store there, and may we use it?"""
        ...


def key_of(tenant_id: UUID, artifact_id: UUID) -> str:
    return f"{tenant_id}/{artifact_id}"


def checked_key(key: str) -> str:
    """The key itself. Raises ValueError for anything but two ids: nothing else may become a path."""
    if not _KEY.fullmatch(key):
        raise ValueError("a key of the artifact store is <tenant id>/<artifact id>")
    return key


def ids_of(key: str) -> tuple[UUID, UUID]:
    """Tenant and artifact of a key. Raises ValueError."""
    tenant, _, artifact = checked_key(key).partition("/")
    return UUID(tenant), UUID(artifact)

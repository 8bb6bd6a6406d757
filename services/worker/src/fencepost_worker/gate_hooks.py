"""What the recovery gate asks outside the database: are a run's secrets there, and its files as they were?

Asked before the gate's transaction, which stays short. A store that doesn't answer is no finding: what needs
a file then says so itself.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fencepost_runtime.artifacts import ArtifactMissing, ArtifactStore, ArtifactsUnavailable, key_of
from fencepost_runtime.logging import get_logger
from fencepost_runtime.secret_sources import SecretMissing, Secrets, SecretsUnavailable
from fencepost_store.artifacts import artifacts_of_run
from fencepost_store.claims import Claim
from fencepost_store.transaction import Store

MOST_BYTES: Final = 67_108_864  # of files read for one answer; the scan looks at all of them anyway
log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SecretsAtHand:
    """Implements recovery.Hook: the references that give no value now."""

    secrets: Secrets
    references: Sequence[str]

    async def __call__(self, _: Claim) -> Sequence[str]:
        missing = []
        for reference in self.references:
            try:
                await self.secrets.read(reference)
            except (SecretMissing, SecretsUnavailable):
                missing.append(reference)
        return missing


@dataclass(frozen=True, slots=True)
class FilesAsTheyWere:
    """Implements recovery.Hook: files of the run whose bytes are gone or don't have their hash."""

    store: Store
    bytes_: ArtifactStore | None

    async def __call__(self, claim: Claim) -> Sequence[str]:
        if self.bytes_ is None:
            return ()
        async with self.store.transaction() as tx:
            files = await artifacts_of_run(tx, claim.run.id)
        bad: list[str] = []
        left = MOST_BYTES
        for file in files:
            left -= file["size_bytes"]
            if left < 0:
                break
            try:
                data = await self.bytes_.read(key_of(file["tenant_id"], file["id"]))
                right = (await asyncio.to_thread(hashlib.sha256, data)).digest() == bytes(file["sha256"])
            except ArtifactMissing:
                right = False
            except ArtifactsUnavailable:
                log.warning("gate.files_not_read", run_id=str(claim.run.id))
                return bad
            if not right:
                bad.append(str(file["id"]))
        return bad

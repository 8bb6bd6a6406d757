"""What a tool is given: who acts, when, in which words, and for `local` tools the fenced transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from fencepost.files import ArtifactRead, NewArtifact, ToolFiles, Verdict


class ToolTx(Protocol):
    """The module's own named SQL (its `sql/` folder) in the gateway's open transaction.

    On `prepare` the transaction is read-only, a snapshot; on `commit` of a `local` tool it is the one that
    holds the run's row, in which completion and event are written too. Row-level security narrows both to
    the run's tenant.
    """

    async def rows(self, name: str, **params: Any) -> Sequence[Mapping[str, Any]]:
        """All rows of a named statement."""
        ...

    async def row(self, name: str, **params: Any) -> Mapping[str, Any] | None:
        """The one row, or None."""
        ...


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Identity and surroundings of one call, all from the persisted run; nothing here comes from a model.

    effect_key: stable over attempts; write it to the row's `origin_effect_key` so that twice is once.
    asked_at: when the user asked; "today" counts from here, at prepare and at commit alike.
    now: the database's instant. deadline: when the call must be over.
    zone: IANA name, None when nobody said one. locale: BCP 47. currency: the run's default, ISO 4217.
    new_id: a fresh UUIDv7. tx: not there in `make`, which runs outside any transaction.
    """

    tenant_id: UUID
    user_id: str
    conversation_id: UUID
    run_id: UUID
    effect_key: str
    zone: str | None
    locale: str
    currency: str
    asked_at: datetime
    now: datetime
    deadline: datetime
    new_id: UUID
    tx: ToolTx
    files: ToolFiles

    async def read_artifact(self, artifact_id: UUID | str, *, pointer: str = "") -> ArtifactRead:
        """A file of this run's user that the run may see: attached to it or made by it, or by another run of
        its conversation. pointer: the argument that named it.

        Raises ToolRefused artifact_unknown, artifact_lost, artifact_rejected or artifacts_unavailable.
        """
        return await self.files.read(artifact_id, pointer)

    def new_artifact(
        self,
        name: str,
        media_type: str,
        data: bytes,
        *,
        evidence: Mapping[str, Any] | None = None,
        status: Verdict = "draft",
        replaces: UUID | None = None,
    ) -> NewArtifact:
        """A file for `Result(artifacts=...)`, under an id that the output may name. Nothing is stored yet.

        status: `verified` or `rejected` when a check has judged it, with that check's words as evidence.
        Raises ToolRefused artifact_refused for an empty or too large one, or a type that isn't taken.
        """
        return self.files.new(name, media_type, data, evidence or {}, status, replaces)

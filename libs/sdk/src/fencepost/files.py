"""Files that a tool reads and makes.

@tool("work.summarise")
class Summarise:
    async def prepare(self, args, ctx) -> Plan: ...
    async def make(self, args, ctx) -> Result:             # outside any transaction: it may take its time
        source = await ctx.read_artifact(args["document"], pointer="/document")
        file = ctx.new_artifact("summary.md", "text/markdown", summarise(source.data))
        return Result({"artifact_id": str(file.id)}, artifacts=(file,))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol
from uuid import UUID

Verdict = Literal["draft", "verified", "rejected"]


@dataclass(frozen=True, slots=True)
class ArtifactRead:
    """A file as it was stored: its bytes were compared with the hash. sha256: hex. name: safe to show."""

    id: UUID
    name: str
    media_type: str
    sha256: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class NewArtifact:
    """A file to be kept with the result; made by `ToolContext.new_artifact`, which checks it.

    evidence: what the verdict rests on, plain JSON. replaces: the artifact whose next version this is.
    """

    id: UUID
    name: str
    media_type: str
    data: bytes = field(repr=False)
    evidence: Mapping[str, Any] = field(default_factory=dict)
    status: Verdict = "draft"
    replaces: UUID | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool that makes files gives back. output: checked against the contract's output_schema."""

    output: Any
    artifacts: Sequence[NewArtifact] = ()


class ToolFiles(Protocol):
    """The gateway's side of `read_artifact` and `new_artifact`, of one call."""

    async def read(self, artifact_id: UUID | str, pointer: str) -> ArtifactRead: ...

    def new(
        self,
        name: str,
        media_type: str,
        data: bytes,
        evidence: Mapping[str, Any],
        status: Verdict,
        replaces: UUID | None,
    ) -> NewArtifact: ...

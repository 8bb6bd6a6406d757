"""What events say of what a model was given: ids and hashes, and how a long history was shortened."""

from __future__ import annotations

from uuid import UUID

from pydantic import BaseModel, ConfigDict

from fencepost_contracts.event_effects import Payload


class ContextPart(BaseModel):
    """One thing that went in. hash: of its text, 32 hex digits; tokens: an upper estimate."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    id: str
    hash: str
    tokens: int


class ContextBuilt(Payload):
    """What one attempt of a model call was given. prompt: `planner-v1@` and the words' hash, None unnamed."""

    call_id: UUID
    key: str
    attempt: int
    role: str
    prompt: str | None
    tokens: int
    tools: tuple[str, ...]
    parts: tuple[ContextPart, ...]


class CompactionStarted(Payload):
    """A history of `tokens` is over the role's share of `limit`. seqs: messages that are to be shortened."""

    compaction_id: UUID
    role: str
    tokens: int
    limit: int
    source_seqs: tuple[int, ...]
    source_hash: str


class CompactionCandidate(Payload):
    """A summary that isn't one yet. faults: what in it isn't the source's; with any it is never committed."""

    compaction_id: UUID
    source_seqs: tuple[int, ...]
    source_hash: str
    summary_hash: str
    summary: str
    open_tasks: tuple[str, ...]
    done: tuple[str, ...]
    faults: tuple[str, ...]


class CompactionCommitted(Payload):
    """From here on the summary stands for its sources. Only a candidate with such an event is ever read."""

    compaction_id: UUID
    source_hash: str
    summary_hash: str
    tokens: int

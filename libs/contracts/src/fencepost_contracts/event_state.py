"""What events say of conversation state and artifacts."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from fencepost_domain.state import Operation

from fencepost_contracts.event_effects import Payload


class StateChange(Payload):
    """`seq` and `event_id` of the change in the conversation's own log, which holds the values."""

    seq: int
    key: str
    operation: Operation
    event_id: UUID


class StateChanged(Payload):
    """What a completed call wrote to the conversation's state, in the same transaction."""

    conversation_id: UUID
    source: str
    changes: tuple[StateChange, ...]


class StateRefused(Payload):
    """A call reached the world, and what it should have written to the state couldn't be."""

    tool: str
    detail: str


class ArtifactCreated(Payload):
    """A file was made by an action. sha256: of its bytes, hex. status: its maker's verdict."""

    artifact_id: UUID
    index: int
    tool: str
    name: str
    media_type: str
    size_bytes: int
    sha256: str
    status: str
    version: int = 1


class ArtifactLost(Payload):
    """The stored bytes of an artifact of this run are gone, or hash to something else."""

    artifact_id: UUID
    reason: Literal["missing", "altered"]

"""Checkpoints as LangGraph shapes them: copied for a caller, without what is over, and the last."""

from __future__ import annotations

from typing import Any

from langgraph.checkpoint.base import Checkpoint, CheckpointTuple, copy_checkpoint


def copied(found: CheckpointTuple | None) -> CheckpointTuple | None:
    """For a caller that may change it: reading a half-done superstep applies its writes in place."""
    if found is None:
        return None
    return found._replace(
        checkpoint=copy_checkpoint(found.checkpoint), pending_writes=list(found.pending_writes or ())
    )


def is_last(checkpoint: Checkpoint) -> bool:
    """No node is triggered by it: our graphs name the next one in a channel of its own."""
    return not any(name.startswith(("branch:to:", "__pregel_tasks")) for name in checkpoint["channel_values"])


def bare(checkpoint: Checkpoint) -> dict[str, Any]:
    """The checkpoint without values of channels that have no version any more."""
    values = checkpoint["channel_values"]
    versions = checkpoint["channel_versions"]
    return {
        **checkpoint,
        "channel_values": {name: value for name, value in values.items() if name in versions},
    }

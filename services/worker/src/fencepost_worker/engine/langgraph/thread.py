"""A thread's channels and versions between two supersteps, moved on as LangGraph's `apply_writes` moves them.

Only for graphs with a Plan: channels that keep a value (the last one, or a reducer's), channels that pass
within one superstep, and no list of sent tasks that was ever filled.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from fencepost_runtime.logging import get_logger
from langgraph._internal._constants import (
    ERROR,
    ERROR_SOURCE_NODE,
    INPUT,
    INTERRUPT,
    NO_WRITES,
    PUSH,
    RESUME,
    RETURN,
    TASKS,
)
from langgraph._internal._typing import MISSING
from langgraph.channels.base import BaseChannel
from langgraph.checkpoint.base import Checkpoint, CheckpointTuple
from langgraph.checkpoint.base.id import uuid6
from langgraph.constants import START

from fencepost_worker.engine.langgraph.plan import NodePlan, Plan, Write

VERSION: Final = 4  # of the checkpoints' shape
SPECIAL: Final = frozenset({NO_WRITES, PUSH, RESUME, INTERRUPT, RETURN, ERROR, ERROR_SOURCE_NODE})

log = get_logger(__name__)


class Thread:
    """One run's graph state while it is driven. step: the number of the next superstep."""

    __slots__ = ("channels", "id", "parent", "plan", "run_id", "seen", "step", "updated", "versions")

    def __init__(self, plan: Plan, run_id: UUID, values: dict[str, Any]) -> None:
        self.plan = plan
        self.run_id = run_id
        self.channels: dict[str, BaseChannel[Any, Any, Any]] = {
            name: spec.from_checkpoint(values.get(name, MISSING)) for name, spec in plan.specs.items()
        }
        self.versions: dict[str, Any] = {}
        self.seen: dict[str, dict[str, Any]] = {}
        self.updated: set[str] = set()
        self.step = -1
        self.id = ""
        self.parent: str | None = None

    @classmethod
    def begun(cls, plan: Plan, run_id: UUID, given: Any) -> Thread:
        """A thread without a checkpoint that was given its input."""
        thread = cls(plan, run_id, {})
        thread.apply(INPUT, (), [(START, given)])
        return thread

    @classmethod
    def found(cls, plan: Plan, run_id: UUID, stored: CheckpointTuple) -> Thread | None:
        """The thread as stored, to go on with; None when more than one task after another is asked for."""
        checkpoint = stored.checkpoint
        versions = checkpoint["channel_versions"]
        if checkpoint["v"] != VERSION or TASKS in versions or not versions or stored.pending_writes:
            return None
        thread = cls(plan, run_id, checkpoint["channel_values"])
        thread.versions = dict(versions)
        thread.seen = {name: dict(seen) for name, seen in checkpoint["versions_seen"].items()}
        thread.seen.setdefault(INTERRUPT, {}).update(
            {name: versions[name] for name in thread.channels if name in versions}
        )
        thread.updated = set(checkpoint.get("updated_channels") or ())
        thread.step = int(stored.metadata["step"]) + 1
        thread.id = checkpoint["id"]
        return thread

    def triggered(self) -> list[NodePlan] | None:
        """The next superstep's nodes; None when tasks were sent, which have no node's trigger."""
        if TASKS in self.versions:
            return None
        by_trigger, nodes = self.plan.by_trigger, self.plan.nodes
        if self.updated:
            names: Sequence[str] = sorted(
                {name for channel in self.updated for name in by_trigger.get(channel, ())}
            )
        else:
            names = list(nodes)
        return [nodes[name] for name in names if self._is_triggered(nodes[name])]

    def _is_triggered(self, node: NodePlan) -> bool:
        seen = self.seen.get(node.name)
        return any(
            self.channels[name].is_available()
            and (seen is None or self.versions.get(name, 0) > seen.get(name, 0))
            for name in node.triggers
        )

    def read(self, selected: str | Sequence[str]) -> Any:
        """The values of channels that have one, or the value of the one named."""
        if isinstance(selected, str):
            return self.channels[selected].get()
        return {name: self.channels[name].get() for name in selected if self.channels[name].is_available()}

    def apply(self, name: str, triggers: Sequence[str], writes: Sequence[Write]) -> None:
        """One task's writes. triggers: of a node; none where the writes are the thread's input."""
        versions, channels = self.versions, self.channels
        seen = self.seen.setdefault(name, {})
        for channel in triggers:
            if channel in versions:
                seen[channel] = versions[channel]
        following = max(versions.values()) + 1 if versions else 1
        grouped: dict[str, list[Any]] = {}
        for channel, value in writes:
            if channel in channels:
                grouped.setdefault(channel, []).append(value)
            elif channel not in SPECIAL:
                log.warning("engine.unknown_channel", node=name, channel=channel)
        updated: set[str] = set()
        for channel, values in grouped.items():
            self._update(channel, values, following, updated)
        if triggers:
            for channel in self.plan.passing:
                if channel not in updated and channels[channel].is_available():
                    self._update(channel, (), following, updated)
        self.updated = updated

    def _update(self, name: str, values: Sequence[Any], following: Any, updated: set[str]) -> None:
        channel = self.channels[name]
        if channel.update(values):
            self.versions[name] = following
            if channel.is_available():
                updated.add(name)

    def checkpoint(self, at: datetime) -> Checkpoint:
        """The checkpoint of the superstep that was applied, under a new id; the next one goes on from it."""
        self.parent, self.id = self.id or None, self._new_id()
        values: dict[str, Any] = {}
        for name, channel in self.channels.items():
            if name in self.versions:
                value = channel.checkpoint()
                if value is not MISSING:
                    values[name] = value
        return Checkpoint(
            v=VERSION,
            ts=at.isoformat(),
            id=self.id,
            channel_values=values,
            channel_versions=self.versions,
            versions_seen=self.seen,
            updated_channels=sorted(self.updated),
        )

    def _new_id(self) -> str:
        """Ids rise with time. Those before the first node are made of the run and sort before all others:
        a run that begins again finds what its first node already paid for under the same key."""
        if self.step > 0:
            return str(uuid6(clock_seq=self.step))
        tail = self.run_id.int & 0xFFFF_FFFF_FFFF
        return f"00000000-0000-6{self.step + 1:03x}-8000-{tail:012x}"

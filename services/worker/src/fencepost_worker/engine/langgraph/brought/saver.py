"""The fenced saver for an author's state: its own types come back as they were, or are refused going in."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

import ormsgpack
from fencepost_domain.errors import FencepostError
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.serde.event_hooks import SerdeEvent, register_serde_event_listener
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from fencepost_worker.engine.langgraph.saver import FencedSaver
from fencepost_worker.engine.langgraph.serde import ALLOWED

# Channels in which LangGraph tells of a task that failed; control state has it, and the run begins it anew.
ERROR: Final = "__error__"
HANDLED: Final = "__error_source_node__"


class StateNotStorable(FencepostError):
    """A value of a graph's state that no checkpoint can hold, or that wouldn't come back as it was."""

    code = "state_not_storable"


class BroughtSerde(JsonPlusSerializer):
    """Strict both ways: what would be refused when it is read is refused when it is written.

    LangGraph's own only warns when it reads, and gives a dict in the place of the object.
    """

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Raises StateNotStorable, which names the type and, of a checkpoint, the key of the state."""
        try:
            typed = super().dumps_typed(obj)
        except (ormsgpack.MsgpackEncodeError, TypeError, ValueError, RecursionError) as error:
            raise StateNotStorable(f"{self._where(obj)}{error}. {_WAY_OUT}") from error
        blocked = self._blocked(typed)
        if blocked:
            raise StateNotStorable(f"{self._where(obj)}type {blocked[0]} is not declared. {_WAY_OUT}")
        return typed

    def _blocked(self, typed: tuple[str, bytes]) -> list[str]:
        """Types that would not come back. Read with the very rules of a later load."""
        if typed[0] != "msgpack":
            return []
        blocked: list[str] = []

        def listen(event: SerdeEvent) -> None:
            if "block" in event["kind"] or "unregistered" in event["kind"]:
                blocked.append(f"{event['module']}.{event['name']}")

        forget = register_serde_event_listener(listen)
        try:
            super().loads_typed(typed)
        finally:
            forget()
        return blocked

    def _where(self, obj: Any) -> str:
        """`state.key: ` of the first value of a checkpoint that can't be stored; '' where it isn't one."""
        values = obj.get("channel_values") if isinstance(obj, Mapping) else None
        if not isinstance(values, Mapping):
            return ""
        for key, value in values.items():
            try:
                fits = not self._blocked(super().dumps_typed(value))
            except (ormsgpack.MsgpackEncodeError, TypeError, ValueError, RecursionError):
                fits = False
            if not fits:
                return f"state key {key!r}: "
        return ""


_WAY_OUT: Final = (
    "State holds JSON values, messages, dates, and the dataclasses, enums and pydantic models named in its"
    " annotations or in STATE_TYPES of graph.py; keep anything else outside of the state"
)


class BroughtSaver(FencedSaver):
    """Every checkpoint under the fence, at once: no superstep begins before the one ahead of it is stored."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.serde = BroughtSerde(
            pickle_fallback=False, allowed_json_modules=None, allowed_msgpack_modules=ALLOWED
        )

    def allowing(self, types: Iterable[type]) -> BroughtSaver:
        """A saver of its own with further types. Runs opened in one are not open in the other."""
        clone = copy.copy(self)
        clone._runs = {}
        serde = self.serde
        assert isinstance(serde, BroughtSerde)
        clone.serde = serde.with_msgpack_allowlist(types)
        return clone

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """As ever, but for a task that failed or was cut off: it is begun anew and leaves nothing.

        Its answered questions would count as answered for what it asks next.
        """
        channels = {channel for channel, _ in writes}
        if ERROR in channels and HANDLED not in channels:
            return
        await super().aput_writes(config, writes, task_id, task_path)

    async def settle(self, run_id: UUID) -> None:
        """Store what waits, also the writes of tasks whose siblings go on later. Raises FenceLost."""
        await self._flush_all(run_id)

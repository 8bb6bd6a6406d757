"""A worker's part, played in a test of a graph: tools are functions, people answer at once.

    with playing({"travel.book": lambda args: {"id": "b1"}}, rejected={"travel.cancel"}) as played:
        state = await graph.ainvoke({"messages": [("user", "book it")]})
    assert played.calls == [("travel.book", {...})]

Nothing is fenced or stored here; that the real thing is, is Fencepost's to test, not yours.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from fencepost.graphs import HOST, MODEL_MAKER, RunInput, ToolCall, ToolOutcome

Tool = Callable[[Mapping[str, Any]], Any]


@dataclass(slots=True)
class Played:
    """What the graph asked for. Implements graphs.Host."""

    functions: Mapping[str, Tool]
    rejected: Collection[str]
    given: RunInput
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    async def call_tools(self, calls: Sequence[ToolCall]) -> Sequence[ToolOutcome]:
        return [await self._call(call) for call in calls]

    async def _call(self, call: ToolCall) -> ToolOutcome:
        index = len(self.calls)
        self.calls.append((call.name, dict(call.arguments)))
        function = self.functions.get(call.name)
        if function is None:
            reason = {"code": "tool_not_allowed", "tool": call.name, "allowed": sorted(self.functions)}
            return ToolOutcome(call.id, call.name, "refused", reasons=[reason])
        if call.name in self.rejected:
            return ToolOutcome(call.id, call.name, "rejected", index=index)
        try:
            result = function(call.arguments)
            if inspect.isawaitable(result):
                result = await result
        except Exception as error:  # as the gateway does: told as a failure, not raised into the graph
            told = {"code": "tool_failed", "detail": type(error).__name__}
            return ToolOutcome(call.id, call.name, "failed", error=told, index=index)
        return ToolOutcome(call.id, call.name, "completed", result=result, index=index)

    def tools(self) -> Sequence[Mapping[str, Any]]:
        return [
            {"name": name, "description": name, "parameters": {"type": "object"}} for name in self.functions
        ]

    def run_input(self) -> RunInput:
        return self.given


@contextmanager
def playing(
    tools: Mapping[str, Tool] | None = None,
    *,
    rejected: Collection[str] = (),
    model: Any = None,
    text: str = "",
    at: datetime | None = None,
) -> Iterator[Played]:
    """Play the worker inside the block. rejected: tools a person says no to. model: of chat_model()."""
    given = RunInput(text, "en", None, "USD", at or datetime(2026, 1, 1, tzinfo=UTC))
    played = Played(tools or {}, rejected, given)
    host = HOST.set(played)
    maker = MODEL_MAKER.set(lambda *, with_tools: model)
    try:
        yield played
    finally:
        MODEL_MAKER.reset(maker)
        HOST.reset(host)

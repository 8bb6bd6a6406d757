"""Messages of a graph, as LangChain's classes or as dicts: which calls are asked for, how one is answered.

Read by their shape, so that this package needs no LangChain.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fencepost.graph_types import ToolCall, ToolOutcome


def asked_calls(messages: Sequence[Any]) -> tuple[list[ToolCall], list[ToolOutcome]]:
    """The calls of the last assistant message that no later message answers, and those that can't be read."""
    answered: set[str] = set()
    for message in reversed(messages):
        kind = _kind(message)
        if kind == "tool":
            answered.add(str(_get(message, "tool_call_id")))
        elif kind == "assistant":
            break
    else:
        return [], []
    calls = []
    for call_id, name, arguments in map(_call, _get(message, "tool_calls") or ()):
        if call_id not in answered:
            calls.append(ToolCall(call_id, _dotted(name), arguments))
    broken = [
        ToolOutcome(
            str(one.get("id")),
            _dotted(str(one.get("name") or "")),
            "refused",
            reasons=[{"code": "arguments_invalid", "detail": "the arguments are no JSON object"}],
        )
        for one in _get(message, "invalid_tool_calls") or ()
        if one.get("id") and str(one.get("id")) not in answered
    ]
    return calls, broken


def tool_message(outcome: ToolOutcome) -> dict[str, Any]:
    """A tool message as a dict. Its id is the action's: a node that runs again answers no call twice."""
    return {
        **({"id": f"action-{outcome.index}"} if outcome.index is not None else {}),
        "role": "tool",
        "tool_call_id": outcome.call_id,
        "name": outcome.name,
        "content": json.dumps(outcome.told(), ensure_ascii=False, default=str),
        "status": "success" if outcome.status == "completed" else "error",
    }


def _kind(message: Any) -> str:
    named = str(_get(message, "role") or _get(message, "type") or "")
    return {"ai": "assistant", "AIMessageChunk": "assistant"}.get(named, named)


def _call(raw: Mapping[str, Any]) -> tuple[str, str, Mapping[str, Any]]:
    """LangChain's shape ({id, name, args}) or OpenAI's ({id, function: {name, arguments}})."""
    function = raw.get("function")
    if isinstance(function, Mapping):
        arguments = function.get("arguments") or {}
        if isinstance(arguments, str):
            arguments = json.loads(arguments)
        return str(raw.get("id")), str(function.get("name")), arguments
    return str(raw.get("id")), str(raw.get("name")), raw.get("args") or {}


def _dotted(name: str) -> str:
    """Providers allow no dot in a name; a contract's tool always has one."""
    return name if "." in name else name.replace("__", ".", 1)


def _get(message: Any, name: str) -> Any:
    if isinstance(message, Mapping):
        return message.get(name)
    return getattr(message, name, None)

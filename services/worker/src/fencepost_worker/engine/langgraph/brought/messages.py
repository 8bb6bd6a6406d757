"""Messages of LangChain as the model port's, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from fencepost_worker.models.port import Call, Message


def to_langchain(messages: Sequence[Message]) -> list[AnyMessage]:
    """Earlier turns as a graph's state holds them."""
    found: list[AnyMessage] = []
    for message in messages:
        match message.role:
            case "system":
                found.append(SystemMessage(message.text))
            case "user":
                found.append(HumanMessage(message.text))
            case "tool":
                found.append(ToolMessage(message.text, tool_call_id=message.call_id or ""))
            case _:
                calls: list[Any] = [
                    {"id": c.id, "name": c.name, "args": dict(c.arguments), "type": "tool_call"}
                    for c in message.calls
                ]
                found.append(AIMessage(message.text, tool_calls=calls))
    return found


def to_port(messages: Sequence[BaseMessage]) -> list[Message]:
    """What is to be sent. Raises ValueError for content that is no text: this port carries text alone."""
    return [_one(message) for message in messages]


def _one(message: BaseMessage) -> Message:
    text = text_of(message)
    if isinstance(message, AIMessage):
        calls = tuple(Call(str(c["id"]), dotted(c["name"]), c["args"]) for c in message.tool_calls)
        return Message("assistant", text, calls)
    if isinstance(message, ToolMessage):
        return Message("tool", text, call_id=message.tool_call_id)
    if isinstance(message, SystemMessage):
        return Message("system", text)
    if isinstance(message, HumanMessage):
        return Message("user", text)
    raise ValueError(f"a {type(message).__name__} can't be sent: use human, ai, system and tool messages")


def text_of(message: BaseMessage) -> str:
    """Its text; parts of text one after the other."""
    if isinstance(message.content, str):
        return message.content
    parts = []
    for part in message.content:
        if isinstance(part, str):
            parts.append(part)
        elif part.get("type") == "text":
            parts.append(str(part.get("text", "")))
        elif part.get("type") not in ("tool_use", "tool_call", "reasoning", "thinking"):
            raise ValueError(f"content of type {part.get('type')!r} can't be sent: only text")
    return "".join(parts)


def dotted(name: str) -> str:
    """A contract's name, also where a provider's rules made `__` of its dot."""
    return name if "." in name else name.replace("__", ".", 1)


def last_text(messages: Sequence[Any]) -> str:
    """The last assistant message's text: what a chat graph answers."""
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            return text_of(message)
        if isinstance(message, dict) and message.get("role") in ("assistant", "ai"):
            return str(message.get("content") or "")
    return ""

"""What a role is given, and the record of it: `context.built` names parts by id and hash, not their words."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fencepost_worker.models.port import Message, ToolSpec
from fencepost_worker.models.state_summary import tokens
from fencepost_worker.prompts import Prompt


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that went in. kind: contract, tools, source, unit, plan, ...; id: within its kind."""

    kind: str
    id: str
    text: str

    def to_json(self) -> dict[str, Any]:
        hashed = hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return {"kind": self.kind, "id": self.id, "hash": hashed, "tokens": tokens(self.text)}


@dataclass(frozen=True, slots=True)
class RoleContext:
    """All that a role sees. built: the payload of `context.built` but for the call's own ids."""

    role: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    built: Mapping[str, Any]


def role_context(
    role: str, prompt: Prompt, messages: Sequence[Message], tools: Sequence[ToolSpec], parts: Sequence[Part]
) -> RoleContext:
    return RoleContext(role, tuple(messages), tuple(tools), told(prompt, messages, tools, parts))


def told(
    prompt: Prompt, messages: Sequence[Message], tools: Sequence[ToolSpec], parts: Sequence[Part]
) -> dict[str, Any]:
    """What went in, by ids and hashes; `tokens` is an upper estimate of all messages together."""
    return {
        "prompt": prompt.reference,
        "parts": [part.to_json() for part in parts],
        "tools": [tool.name for tool in tools],
        "tokens": sum(tokens(message.text) for message in messages),
    }

"""Which calls may become intents: an exact name of the catalog, arguments its schema allows, no identity.

The gateway checks the same again on its own; neither trusts the other (I14).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from fencepost_contracts import canonical
from fencepost_contracts.names import identity_in_arguments
from fencepost_contracts.schema import Schema

from fencepost_worker.models.port import Call, ToolSpec

MOST_ALLOWED_NAMED: Final = 40


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a call is none. allowed: the names that may be used instead."""

    call_id: str
    code: str
    tool: str
    pointer: str
    detail: str
    allowed: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "tool": self.tool,
            "pointer": self.pointer,
            "detail": self.detail,
            "allowed": list(self.allowed),
        }


def check_calls(calls: Sequence[Call], tools: Sequence[ToolSpec]) -> list[Refusal]:
    """All refusals of an answer, in order; empty when every call may go on."""
    known = {tool.name: tool for tool in tools}
    return [refusal for call in calls for refusal in _check(call, known)]


def _check(call: Call, known: Mapping[str, ToolSpec]) -> list[Refusal]:
    tool = known.get(call.name)
    if tool is None:
        allowed = tuple(sorted(known))[:MOST_ALLOWED_NAMED]
        detail = "no tool of this module has exactly this name"
        return [Refusal(call.id, "tool_not_allowed", call.name[:128], "", detail, allowed)]
    if not tool.control:
        named = identity_in_arguments(dict(call.arguments))
        if named:
            detail = "who acts comes from the run, never from arguments"
            return [Refusal(call.id, "identity_argument", call.name, at, detail) for at in named]
    return [
        Refusal(call.id, "arguments_invalid", call.name, fault.pointer, fault.detail)
        for fault in _schema(canonical.dumps(dict(tool.schema))).faults(dict(call.arguments))
    ]


@lru_cache(maxsize=512)
def _schema(text: bytes) -> Schema:
    return Schema(canonical.loads(text))

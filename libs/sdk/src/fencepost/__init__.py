"""Fencepost for callers and authors: `Client`, `AsyncClient`, `tool`, `ToolContext`, `tool_node` for graphs.

Imported lazily, so that a tool's module doesn't load an HTTP client and a script doesn't load the tools.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fencepost_contracts.tools import Change as Change
    from fencepost_contracts.tools import Preview as Preview
    from fencepost_contracts.tools import PreviewLine as PreviewLine

    from fencepost.aio import AsyncClient as AsyncClient
    from fencepost.authoring import Plan as Plan
    from fencepost.authoring import PreconditionChanged as PreconditionChanged
    from fencepost.authoring import ToolRefused as ToolRefused
    from fencepost.authoring import tool as tool
    from fencepost.client import Client as Client
    from fencepost.context import ToolContext as ToolContext
    from fencepost.errors import ApiError as ApiError
    from fencepost.errors import Unreachable as Unreachable
    from fencepost.files import ArtifactRead as ArtifactRead
    from fencepost.files import NewArtifact as NewArtifact
    from fencepost.files import Result as Result
    from fencepost.graphs import RunInput as RunInput
    from fencepost.graphs import ToolOutcome as ToolOutcome
    from fencepost.graphs import call_tool as call_tool
    from fencepost.graphs import chat_model as chat_model
    from fencepost.graphs import run_input as run_input
    from fencepost.graphs import tool_node as tool_node
    from fencepost.graphs import tool_node_for as tool_node_for
    from fencepost.graphs import tools as tools

_WHERE = {
    "Client": "fencepost.client",
    "AsyncClient": "fencepost.aio",
    "ApiError": "fencepost.errors",
    "Unreachable": "fencepost.errors",
    "ToolContext": "fencepost.context",
    **dict.fromkeys(("ArtifactRead", "NewArtifact", "Result"), "fencepost.files"),
    **dict.fromkeys(
        (
            "RunInput",
            "ToolOutcome",
            "call_tool",
            "chat_model",
            "run_input",
            "tool_node",
            "tool_node_for",
            "tools",
        ),
        "fencepost.graphs",
    ),
    **dict.fromkeys(("Plan", "PreconditionChanged", "ToolRefused", "tool"), "fencepost.authoring"),
    **dict.fromkeys(("Change", "Preview", "PreviewLine"), "fencepost_contracts.tools"),
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'fencepost' has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)

"""Fencepost for callers and authors: `Client`, `AsyncClient`, `tool`, `ToolContext`.

Imported lazily, so that a tool's module doesn't load an HTTP client and a script doesn't load the tools.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fencepost.aio import AsyncClient as AsyncClient
    from fencepost.client import Client as Client
    from fencepost.context import ToolContext as ToolContext
    from fencepost.errors import ApiError as ApiError
    from fencepost.errors import Unreachable as Unreachable
    from fencepost.tool import Plan as Plan
    from fencepost.tool import PreconditionChanged as PreconditionChanged
    from fencepost.tool import ToolRefused as ToolRefused
    from fencepost.tool import tool as tool
    from fencepost_contracts.tools import Change as Change
    from fencepost_contracts.tools import Preview as Preview
    from fencepost_contracts.tools import PreviewLine as PreviewLine

_WHERE = {
    "Client": "fencepost.client",
    "AsyncClient": "fencepost.aio",
    "ApiError": "fencepost.errors",
    "Unreachable": "fencepost.errors",
    "ToolContext": "fencepost.context",
    **dict.fromkeys(("Plan", "PreconditionChanged", "ToolRefused", "tool"), "fencepost.tool"),
    **dict.fromkeys(("Change", "Preview", "PreviewLine"), "fencepost_contracts.tools"),
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'fencepost' has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)

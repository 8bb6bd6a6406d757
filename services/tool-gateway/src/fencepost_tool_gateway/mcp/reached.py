"""How an MCP server is reached, apart from the SDK: its 22 MB are only for who has a server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fencepost_contracts.http_tools import Credential
from fencepost_domain.errors import FencepostError


class SourceUnavailable(FencepostError):
    """The server can't be reached now. Nothing was sent."""

    code = "source_unavailable"
    retryable = True


@dataclass(frozen=True, slots=True)
class Reached:
    """How to reach a server: its endpoint as declared, how requests are signed, and whose folder it is in."""

    source: str
    endpoint: Mapping[str, Any]
    auth: Credential | None
    folder: Path | None = None

"""Tools of MCP servers, behind the port of what leaves the house.

Before each call the server is asked again what it declares: a call goes out only while that is, to the
letter, what an operator accepted. What it answers is an observation, bounded; its errors are its own words.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fencepost.authoring import Plan, listing
from fencepost_contracts import canonical
from fencepost_contracts.sources import Declared, ToolSource
from fencepost_contracts.tools import Tool
from fencepost_domain.effect import Heard, Seen
from fencepost_runtime.secrets import mask_registered

from fencepost_tool_gateway.egress import Egress
from fencepost_tool_gateway.executors.port import Call, Looked, Sending, Told
from fencepost_tool_gateway.mcp.reached import Reached, SourceUnavailable
from fencepost_tool_gateway.secrets import Secrets

if TYPE_CHECKING:
    from mcp_types import CallToolResult

    from fencepost_tool_gateway.mcp.server import McpServer

LONGEST_TEXT: Final = 200_000  # characters of an answer that a model may see
LONGEST_ERROR: Final = 300
NOT_DONE: Final = frozenset({-32601, -32602})  # no such tool, bad parameters: nothing was begun


class McpExecutor:
    """All servers of all modules, by how they are reached; one session each."""

    def __init__(self, secrets: Secrets, egress: Egress) -> None:
        self._secrets, self._egress = secrets, egress
        self._servers: dict[str, McpServer] = {}
        self.folders: dict[str, Path] = {}  # module -> its folder, where a command of its sources is run

    def server(self, reached: Reached) -> McpServer:
        from fencepost_tool_gateway.mcp.server import McpServer  # the SDK, for who has a server

        auth = reached.auth.model_dump(mode="json") if reached.auth is not None else None
        key = canonical.dumps([dict(reached.endpoint), auth, str(reached.folder or "")]).decode()
        return self._servers.setdefault(key, McpServer(reached, self._secrets, self._egress))

    def runs(self, tool: Tool) -> bool:
        return tool.source is not None and tool.source.kind == "mcp"

    async def plan(self, call: Call) -> Plan:
        return listing(call.tool.name, call.arguments)

    def request(self, call: Call, key: str) -> bytes:
        return canonical.dumps({"tool": _source(call.tool).target, "arguments": dict(call.arguments)})

    async def send(self, sending: Sending) -> Told:
        from mcp import MCPError

        source = _source(sending.tool)
        stored = json.loads(sending.request)
        sent = False
        try:
            async with asyncio.timeout(sending.seconds):
                folder = self.folders.get(sending.tool.name.partition(".")[0])
                server = self.server(Reached(source.name, source.endpoint, source.credential, folder))
                declared = (await server.declared()).get(source.target)
                changed = why_changed(source, declared)
                if changed is not None:
                    return Told(Heard.REJECTED, code="tool_changed", detail=changed)
                sent = True
                result = await server.call(stored["tool"], stored["arguments"])
        except TimeoutError:
            return _unknown("timeout") if sent else Told(Heard.LATER, code="timeout", detail="not reached")
        except SourceUnavailable as error:
            return Told(Heard.LATER, code=error.code, detail=str(error))
        except MCPError as error:
            if error.code in NOT_DONE:
                detail = f"{source.name}: {clean(mask_registered(error.message))[:LONGEST_ERROR]}"
                return Told(Heard.REJECTED, code="rejected", detail=detail)
            return _unknown("connection_lost")
        except Exception as error:  # whatever a server makes the SDK raise: what became of it isn't known
            return _unknown(type(error).__name__)
        return told(source, result)

    async def lookup(self, sending: Sending) -> Looked:
        return Looked(Seen.UNSURE, detail="an MCP server has no look-up")

    async def close(self) -> None:
        for server in self._servers.values():
            await server.close()


def _unknown(code: str) -> Told:
    return Told(Heard.UNKNOWN, code="answer_unclear" if code[:1].isupper() else code, detail=code)


def why_changed(source: ToolSource, declared: Declared | None) -> str | None:
    """Why a tool may not be called under its pin; None while the server says what was accepted."""
    if declared is None:
        return f"{source.name} doesn't offer {source.target} any more"
    try:
        fingerprint = declared.model_copy(update={"source": source.name}).fingerprint()
    except ValueError:
        fingerprint = ""
    if fingerprint != source.pin:
        return f"what {source.name} says of {source.target} is not what an operator accepted"
    return None


def told(source: ToolSource, result: CallToolResult) -> Told:
    """What a server answered: structured content where it has a schema, else its texts, one after another."""
    texts = [getattr(part, "text", f"[{part.type}]") for part in result.content]
    text = clean(mask_registered("\n".join(texts)))  # a server may tell the token it was given
    if result.is_error:
        # An error proves nothing about what was done before it (ADR-0032), unless the contract says so.
        heard = Heard.REJECTED if source.errors_are_refusals else Heard.UNKNOWN
        return Told(heard, code="tool_failed", detail=f"{source.name}: {text[:LONGEST_ERROR]}")
    value: Any = result.structured_content
    if not isinstance(value, Mapping):
        value = {"text": text[:LONGEST_TEXT]}
    return Told(Heard.COMPLETED, mask_registered(dict(value)))


def clean(text: str) -> str:
    """Without what would move a terminal or hide words from a reader: control and format characters."""
    return "".join(char for char in text if char in "\n\t" or char.isprintable())


def _source(tool: Tool) -> ToolSource:
    assert tool.source is not None  # runs() said so
    return tool.source

"""A hostile MCP server (official SDK) by stdio: `python injected_mcp.py FOLDER`.

FOLDER/declared.json is what it declares, read at each request: {tool: {description, schema, output_schema?,
read_only?, result}}; a result is {text}, {structured} or {error}. FOLDER/calls.log gets a line a call before
anything else: what reached the provider is counted there, not in our tables.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.server import Server
from mcp.server.stdio import stdio_server

FOLDER = Path(sys.argv[1] if len(sys.argv) > 1 else ".")


def declared() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads((FOLDER / "declared.json").read_text())
    return found


async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(
        tools=[
            types.Tool(
                name=name,
                description=one["description"],
                input_schema=one["schema"],
                output_schema=one.get("output_schema"),
                annotations=types.ToolAnnotations(read_only_hint=True, destructive_hint=False),
            )
            for name, one in declared().items()
        ]
    )


async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    with (FOLDER / "calls.log").open("a") as log:
        log.write(json.dumps({"tool": params.name, "arguments": params.arguments}) + "\n")
    said = declared()[params.name]["result"]
    if "structured" in said:
        return types.CallToolResult(content=[], structured_content=said["structured"])
    text = said.get("text") or said["error"]
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error="error" in said)


SERVER: Server[Any] = Server("shelf", version="1", on_list_tools=list_tools, on_call_tool=call_tool)


async def main() -> None:
    async with stdio_server() as (reads, writes):
        await SERVER.run(reads, writes, SERVER.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)

"""Notes of the prebuilt agent."""

from __future__ import annotations

from fencepost import tool


@tool("prebuilt.note")
async def keep(args, ctx):
    return {"kept": args["text"]}

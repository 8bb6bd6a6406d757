"""A search that finds what it was asked for, and notes that nobody reads."""

from __future__ import annotations

from fencepost import tool


@tool("tutor.search")
async def search(args, ctx):
    return {"found": f"about {args['query']}"}


@tool("tutor.note")
async def keep(args, ctx):
    return {"kept": args["text"]}

"""What the contract's tools do. Only the tool-gateway imports this."""

from __future__ import annotations

from datetime import date
from typing import Any

from fencepost import Change, Plan, Preview, PreviewLine, ToolContext, tool

LEAVES = ("08:10", "12:40", "18:05")


@tool("travel.find_trains")
async def find_trains(args: dict[str, Any], ctx: ToolContext) -> dict[str, Any]:
    """A made-up timetable; yours would ask a server by an OpenAPI source."""
    pair = f"{args['origin'][:1]}{args['destination'][:1]}".upper()
    return {"trains": [{"id": f"{pair}{n}", "leaves": leaves} for n, leaves in enumerate(LEAVES, start=1)]}


@tool("travel.book_seat")
class BookSeat:
    async def prepare(self, args: dict[str, Any], ctx: ToolContext) -> Plan:
        """What a person decides on. Nothing can be written here."""
        day = date.fromisoformat(args["day"]).strftime("%d %B %Y")
        lines = (PreviewLine(label="Train", value=args["train"]), PreviewLine(label="Day", value=day))
        text = f"Book a seat in {args['train']} on {day}"
        return Plan(
            Preview(title="Book a seat", lines=lines, text=text), Change(after=dict(args), summary=text)
        )

    async def commit(self, args: dict[str, Any], ctx: ToolContext) -> dict[str, Any]:
        """One transaction with the completion and the event: a crash leaves all of it or nothing."""
        row = await ctx.tx.row(
            "insert_booking",
            id=ctx.new_id,
            tenant_id=ctx.tenant_id,
            user_id=ctx.user_id,
            train=args["train"],
            day=date.fromisoformat(args["day"]),
            effect_key=ctx.effect_key,
        )
        return {"booking": str((row or {})["id"])}

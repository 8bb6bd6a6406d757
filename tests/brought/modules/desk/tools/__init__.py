"""Drafts and publications: a row each, under the effect that made it."""

from __future__ import annotations

from fencepost import Change, Plan, Preview, PreviewLine, tool


class _Write:
    kind = ""

    async def prepare(self, args, ctx):
        text = f"{self.kind}: {args['title']}"
        line = PreviewLine(label="Title", value=args["title"])
        preview = Preview(title=self.kind, lines=(line,), text=text)
        return Plan(preview, Change(before=None, after={"title": args["title"]}, summary=text))

    async def commit(self, args, ctx):
        await ctx.tx.row(
            "insert_text",
            id=ctx.new_id,
            tenant_id=ctx.tenant_id,
            run_id=ctx.run_id,
            kind=self.kind,
            title=args["title"],
            effect_key=ctx.effect_key,
        )
        return {"id": str(ctx.new_id), "title": args["title"]}


@tool("desk.write_draft")
class WriteDraft(_Write):
    kind = "draft"


@tool("desk.publish")
class Publish(_Write):
    kind = "publication"

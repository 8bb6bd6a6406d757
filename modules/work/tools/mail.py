"""A mail kept as a draft file. Nothing is sent; whoever opens the file sends it, or doesn't.

The gate of its words (email-draft-policy) judged it before it came here. What is checked here once more is
what would make another mail of it: line breaks in its head, and addresses that aren't one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fencepost import Change, Plan, Preview, PreviewLine, Result, ToolContext, ToolRefused, tool
from fencepost_quality.eml import as_message, body_text, recipients_of
from fencepost_quality.mail import HeaderProblem, header_problems, one_line

from .wording import pick

Arguments = Mapping[str, Any]
MEDIA_TYPE: Final = "message/rfc822"
_WORDS: Final[Mapping[str, tuple[str, str]]] = {
    "header_injection": ("这里不能换行或含控制字符", "this has to be one line without control characters"),
    "address_invalid": ("这不是一个单独的邮箱地址", "this isn't one plain mail address"),
    "name_like_address": ("名字写成了另一个邮箱地址", "the name is another mail address"),
}


@tool("work.draft_email")
class DraftEmail:
    async def prepare(self, args: Arguments, ctx: ToolContext) -> Plan:
        _check(args, ctx)
        subject = one_line(args["subject"])
        nobody = pick(ctx.locale, "（未填）", "(not filled in)")
        to = pick(ctx.locale, "、", ", ").join(recipients_of(args)) or nobody
        body = body_text(args)
        lines = (
            PreviewLine(label=pick(ctx.locale, "收件人", "To"), value=to),
            PreviewLine(label=pick(ctx.locale, "主题", "Subject"), value=subject),
            PreviewLine(label=pick(ctx.locale, "正文", "Text"), value=body),
        )
        title = pick(ctx.locale, "保存邮件草稿（不会发送）", "Keep a mail draft (nothing is sent)")
        text = "\n".join([title, *(f"{one.label}: {one.value}" for one in lines)])
        summary = pick(ctx.locale, f"邮件草稿「{subject}」", f"a mail draft “{subject}”")
        after = {"to": recipients_of(args), "subject": subject, "body": body}
        return Plan(
            Preview(title=title, lines=lines, text=text), Change(before=None, after=after, summary=summary)
        )

    async def make(self, args: Arguments, ctx: ToolContext) -> Result:
        _check(args, ctx)
        subject = one_line(args["subject"])
        evidence = {"language": args["language"], "sent": False}
        file = ctx.new_artifact(f"{subject}.eml", MEDIA_TYPE, as_message(args), evidence=evidence)
        said = pick(ctx.locale, "邮件草稿已保存，没有发送", "The mail is kept as a draft; nothing was sent")
        output = {
            "text": f"{said}: {subject}\n\n{body_text(args)}",
            "artifact_id": str(file.id),
            "name": file.name,
            "sent": False,
            "subject": subject,
            "recipients": recipients_of(args),
        }
        return Result(output, artifacts=[file])


def _check(args: Arguments, ctx: ToolContext) -> None:
    """Raises ToolRefused, with the place, before anything is stored."""
    problems = header_problems(args)
    if problems:
        raise ToolRefused(_said(problems[0], ctx.locale), pointer=problems[0].position, code=problems[0].code)


def _said(problem: HeaderProblem, locale: str) -> str:
    return f"{pick(locale, *_WORDS[problem.code])} ({problem.detail})"

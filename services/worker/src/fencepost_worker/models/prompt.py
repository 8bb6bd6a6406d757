"""The system prompt of a module's agent: who it is, when it is, and what it may not do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fencepost_worker.models.port import ModelContext

_RULES: Final = (
    "You are the {module} agent of an assistant. Decide what the user wants, then do exactly one of these:\n"
    "- answer with the tool `respond`, in the user's language ({locale});\n"
    "- call one or more of this module's tools, with arguments from the user's words and nothing else;\n"
    "- ask one short question with the tool `ask` when a time, an amount, a recipient or a choice is missing"
    " or unsure. Never invent one.{hand_over}\n"
    "Rules: use tool names exactly as given. Never pass who the user is, their tenant or a conversation as an"
    " argument. Nothing is done until the user has approved it: never say that something was done. If"
    " part of the request belongs to another module, do your part and name the rest in `left_undone` of"
    " `respond`.\n"
    "Now, for every relative time: {now}. Time zone: {zone}. Currency when none is written: {currency}."
)
_HAND_OVER: Final = (
    "\n- give the whole request to another module with the tool `hand_over` when none of it is yours."
)


def system_prompt(context: ModelContext, added: Sequence[str] = ()) -> str:
    """added: lines about the conversation's state, each a paragraph at the end."""
    rules = _RULES.format(
        module=context.module,
        locale=context.locale,
        hand_over=_HAND_OVER if context.may_hand_over and len(context.modules) > 1 else "",
        now=_local(context),
        zone=context.zone or "not known: ask for it before you set a time",
        currency=context.currency,
    )
    return "\n".join([rules, *added])


def _local(context: ModelContext) -> str:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    if context.zone is None:
        return context.reference.isoformat(timespec="seconds")
    try:
        return context.reference.astimezone(ZoneInfo(context.zone)).strftime("%A, %Y-%m-%dT%H:%M:%S%z")
    except (ZoneInfoNotFoundError, ValueError):
        return context.reference.isoformat(timespec="seconds")

"""The system prompt of a module's agent: who it is, when it is, and what it may not do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fencepost_contracts.graphs import Manifest

from fencepost_worker.models.port import ModelContext
from fencepost_worker.prompts import bound, now_of

_HAND_OVER: Final = (
    "\n- give the whole request to another module with the tool `hand_over` when none of it is yours."
)


def named_prompt(manifest: Manifest | None = None) -> dict[str, str]:
    """Which words, for `context.built`."""
    return {"prompt": bound(manifest, "module").reference}


def system_prompt(context: ModelContext, added: Sequence[str] = (), manifest: Manifest | None = None) -> str:
    """added: lines about the conversation's state, each a paragraph at the end. manifest: the run's own."""
    rules = bound(manifest, "module").render(
        module=context.module,
        locale=context.locale,
        hand_over=_HAND_OVER if context.may_hand_over and len(context.modules) > 1 else "",
        now=now_of(context.reference, context.zone),
        zone=context.zone or "not known: ask for it before you set a time",
        currency=context.currency,
    )
    return "\n".join([rules, *added])

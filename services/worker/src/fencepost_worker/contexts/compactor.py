"""What the compactor is given: the turns to be shortened, what is known to be open, an earlier summary.

All of it is data: turns quote documents and tools, and a summary is read by every later run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fencepost_worker.contexts.answers import COMPACT, answer_of
from fencepost_worker.contexts.built import Part, RoleContext, role_context
from fencepost_worker.contexts.fencing import as_data, fenced, rules
from fencepost_worker.models.port import Message
from fencepost_worker.prompts import Prompt


def compactor(
    *,
    turns: Sequence[Mapping[str, Any]],
    open_tasks: Sequence[str],
    earlier: Mapping[str, Any] | None,
    locale: str,
    nonce: str,
    prompt: Prompt,
) -> RoleContext:
    """turns: {seq, author, on, text, calls}. earlier: {summary, open_tasks, done} of the part before them."""
    messages = [Message("system", prompt.render(fencing=rules(nonce), locale=locale))]
    parts: list[Part] = []
    if earlier is not None:
        messages.append(Message("user", fenced(nonce, "earlier", [earlier])))
        parts.append(Part("earlier", "summary", as_data(earlier)))
    if open_tasks:
        messages.append(Message("user", fenced(nonce, "open", [{"text": one} for one in open_tasks])))
        parts += [Part("open", str(place), one) for place, one in enumerate(open_tasks)]
    messages.append(Message("user", fenced(nonce, "turns", turns)))
    parts += [Part("turn", str(turn["seq"]), as_data(turn)) for turn in turns]
    return role_context("compactor", prompt, messages, [answer_of(COMPACT)], parts)

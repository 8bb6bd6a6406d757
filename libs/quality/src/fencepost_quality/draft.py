"""A mail draft as the gate reads it, and the facts it is judged against."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from fencepost_quality.scripts import main_language

TEXT_BLOCKS: Final = ("subject", "greeting", "introduction", "call_to_action", "courtesy", "closing")
# A request whose mail only says something, and one that wants something of who reads it.
_SAYS: Final = re.compile(
    r"\b(?:thank(?:s|ing|[ -]you)?|congratulat\w+|apolog\w+|condolences?|farewell)\b"
    r"|\bhappy (?:birthday|new year)\b"
    r"|感谢|致谢|答谢|道谢|谢谢|祝贺|恭喜|道歉|致歉|慰问|问候",
    re.IGNORECASE,
)
_WANTS: Final = re.compile(
    r"\b(?:ask(?:ing|s)?|request(?:ing|s)?|invit(?:e|es|ing)|remind(?:ing|s)?|whether|so that (?:he|she|they)"
    r"|to (?:confirm|reply|join|review|sign|approve|come|call|pay))\b"
    r"|请(?:他|她|对方|大家)|要求|邀请|催|询问|问一下|提醒|确认|回复",
    re.IGNORECASE,
)


def wants_action(request: str) -> bool:
    """Whether the mail is to ask something of its reader: not where it only thanks or congratulates."""
    return not _SAYS.search(request) or bool(_WANTS.search(request))


@dataclass(frozen=True, slots=True)
class EmailFacts:
    """What the draft is judged against; from the user's words and the system, never from the draft.

    language: asked for (`zh`, `en`), None for that of the request. relation: one of RELATIONS, None unknown.
    sender_name, sender_organization: who writes; None unknown. recipients: names and addresses the user gave.
    request: the user's words, which names, products and quotations may be taken from.
    """

    request: str
    language: str | None = None
    relation: str | None = None
    sender_name: str | None = None
    sender_organization: str | None = None
    recipients: tuple[str, ...] = ()
    needs_action: bool = True

    @property
    def asked(self) -> str:
        return self.language or main_language(self.request) or "en"

    @property
    def known(self) -> tuple[str, ...]:
        """Words that may stand in the draft as they are, in whatever language."""
        given = (self.request, self.sender_name or "", self.sender_organization or "", *self.recipients)
        return tuple(part for part in given if part)


def blocks(draft: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(JSON pointer, text) of every block with words, in reading order; paragraphs of the body each."""
    body = draft.get("body")
    paragraphs = (
        [body] if isinstance(body, str) else list(body or ()) if isinstance(body, list | tuple) else []
    )
    found = [(f"/{name}", draft.get(name)) for name in TEXT_BLOCKS[:3]]
    found += [(f"/body/{place}", text) for place, text in enumerate(paragraphs)]
    found += [(f"/{name}", draft.get(name)) for name in TEXT_BLOCKS[3:]]
    return [(position, text) for position, text in found if isinstance(text, str) and text.strip()]


def text_of(draft: Mapping[str, Any], name: str) -> str:
    """A block's words, '' for none."""
    value = draft.get(name)
    return value.strip() if isinstance(value, str) else ""

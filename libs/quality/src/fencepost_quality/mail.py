"""Lines of a mail's head: one line each, or refused (case FI-6).

A line break in a subject, a name or an address would be another header to a mail server: `Hi\r\nBcc: ...`.
So nothing with a control character becomes one. What is only unusual (a lone surrogate, a direction mark, a
character that is no character) is replaced visibly, so that the person who approves it sees it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

REPLACED: Final = "\ufffd"
LONGEST_SUBJECT: Final = 160  # characters
LONGEST_NAME: Final = 80
_BREAKS: Final = re.compile("[\u0000-\u001f\u007f\u0080-\u009f\u2028\u2029]")
_UNSEEN: Final = re.compile(
    "[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\uffff\ud800-\udfff\U000e0000-\U000e007f]"
)
_ADDRESS: Final = re.compile(
    r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
    r"@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]{2,63}"
)
LONGEST_ADDRESS: Final = 254  # RFC 5321


@dataclass(frozen=True, slots=True)
class HeaderProblem:
    """code: header_injection, address_invalid, name_like_address. position: JSON pointer into the draft."""

    code: str
    position: str
    detail: str


def has_break(text: str) -> bool:
    """Would this be more than one line of a mail's head?"""
    return _BREAKS.search(text) is not None


def one_line(text: str) -> str:
    """The text as a header may hold it: unseen characters replaced visibly. Not for text with a break."""
    return unicodedata.normalize("NFC", _UNSEEN.sub(REPLACED, text)).strip()


def is_address(text: str) -> bool:
    """One plain address: no name, no group, no comment, no second one."""
    return len(text) <= LONGEST_ADDRESS and _ADDRESS.fullmatch(text) is not None


def header_problems(draft: Mapping[str, Any]) -> list[HeaderProblem]:
    """Everything in a draft's head that may not become a line of one, in order."""
    found = _of_line(draft.get("subject", ""), "/subject")
    found += _of_line(_member(draft, "sender", "name"), "/sender/name")
    for field in ("to", "cc"):
        for place, person in enumerate(people(draft, field)):
            found += _of_line(person.get("name", ""), f"/{field}/{place}/name")
            found += _of_address(person.get("address", ""), f"/{field}/{place}/address")
            found += _of_disguise(person, f"/{field}/{place}/name")
    return found


def people(draft: Mapping[str, Any], field: str) -> Sequence[Mapping[str, Any]]:
    listed = draft.get(field) or ()
    return [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list | tuple) else ()


def _member(draft: Mapping[str, Any], *path: str) -> str:
    value: Any = draft
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, str) else ""


def _of_line(value: Any, position: str) -> list[HeaderProblem]:
    if isinstance(value, str) and has_break(value):
        shown = _BREAKS.sub("\u2424", value)[:80]
        return [HeaderProblem("header_injection", position, f"more than one line: {shown!r}")]
    return []


def _of_address(value: Any, position: str) -> list[HeaderProblem]:
    if not value:
        return []
    if isinstance(value, str) and has_break(value):
        return _of_line(value, position)
    if not isinstance(value, str) or not is_address(value):
        return [HeaderProblem("address_invalid", position, f"not one plain address: {str(value)[:80]!r}")]
    return []


def _of_disguise(person: Mapping[str, Any], position: str) -> list[HeaderProblem]:
    """A name that is another address shows one recipient and means another."""
    name, address = str(person.get("name") or ""), str(person.get("address") or "")
    named = [found.casefold() for found in _ADDRESS.findall(name)]
    if address and any(one != address.casefold() for one in named):
        return [HeaderProblem("name_like_address", position, f"the name {name[:80]!r} is another address")]
    return []

"""A draft as a mail file (RFC 5322) that any mail program opens as unsent. It is never sent from here.

The same draft is the same bytes: made again after a crash, nothing differs. Head lines were checked before
(`mail.header_problems`); the standard library refuses a line break in one once more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from typing import Any, Final

from fencepost_quality.draft import blocks
from fencepost_quality.mail import REPLACED, one_line, people

_UNPRINTABLE: Final = re.compile("[\u0000-\u0008\u000b-\u001f\u007f-\u009f\ud800-\udfff\ufffe\uffff]")


def as_message(draft: Mapping[str, Any]) -> bytes:
    """The file. Raises ValueError for a head line that is more than one line."""
    message = EmailMessage(policy=SMTP)
    for field in ("to", "cc"):
        addressed = [_address(person) for person in people(draft, field) if person.get("address")]
        if addressed:
            message[field.title()] = addressed
    message["Subject"] = one_line(str(draft["subject"]))
    message["X-Unsent"] = "1"  # mail programs open it for writing
    message.set_content(body_text(draft), cte="base64")
    return message.as_bytes()


def body_text(draft: Mapping[str, Any]) -> str:
    """The mail's words: its blocks with an empty line between, then who signs."""
    parts = [text for position, text in blocks(draft) if position != "/subject"]
    sender = draft.get("sender") or {}
    signed = [str(sender[name]) for name in ("name", "title", "organization") if sender.get(name)]
    return shown("\n\n".join([*parts, "\n".join(signed)]).strip() + "\n")


def shown(text: str) -> str:
    """Text as a file may hold it: what can't be printed or stored is replaced visibly."""
    return _UNPRINTABLE.sub(REPLACED, text.replace("\r\n", "\n"))


def recipients_of(draft: Mapping[str, Any]) -> list[str]:
    """Each recipient as a person reads it: `王磊 <wang@example.com>`, or what of it is known."""
    return [_shown_person(person) for field in ("to", "cc") for person in people(draft, field)]


def _shown_person(person: Mapping[str, Any]) -> str:
    name, address = one_line(str(person.get("name") or "")), str(person.get("address") or "")
    return f"{name} <{address}>" if name and address else name or address


def _address(person: Mapping[str, Any]) -> Address:
    return Address(one_line(str(person.get("name") or "")), addr_spec=str(person["address"]))

"""A mail draft without a model: the user's own words in the usual frame. Nothing is sent or invented.

What the rules don't find (whom, what about) makes no draft: then the model says what it can't do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from fencepost_intents import IntentResult, SlotValue
from fencepost_quality.email_request import facts_of, sender_in, without_sender
from fencepost_quality.scripts import main_language

DRAFT: Final = "work.draft_email"
_ADDRESS: Final = re.compile(r"[^\s@<>]+@[^\s@<>]+\.[^\s@<>]+")
_ASKS: Final = re.compile(
    r"^(?:(?:that|which)\s+)?(?:sums?\s+up|summari[sz]es|explains|describes|covers|lists)\s+"
    r"|^(?:summing\s+up|summari[sz]ing|explaining|describing|covering|listing|with\s+a\s+summary\s+of)\s+"
    r"|^(?:to\s+)?(?:asking|ask|telling|tell|saying|say|about|that|requesting|request|regarding)"
    r"(?:\s+(?:him|her|them))?(?:\s+(?:for|to|that|about))?\s+",
    re.IGNORECASE,
)
_NO_NAME: Final = re.compile(r"(?:my|our|the)\s|(?:我|我们)的", re.IGNORECASE)
_THIRD: Final = re.compile(r"^(?:请)?(?:他们|她们|他|她)")


def draft_in(asked: str, result: IntentResult, locale: str) -> dict[str, Any] | None:
    """The draft in the language asked for; None where the words are in another, which rules can't translate.

    asked: a language tag, empty for the request's own.
    """
    written = main_language(result.text) or locale[:2].lower()
    if asked and asked[:2].lower() != written:
        return None
    return draft_of(result, is_chinese=written == "zh")


def draft_of(result: IntentResult, *, is_chinese: bool) -> dict[str, Any] | None:
    """Arguments of `work.draft_email` for a request that says what about; None for any other."""
    part = next((one for one in result.intents if one.intent == "email.draft"), None)
    matter = _text(part.slots.get("payload")) if part is not None else ""
    sender = sender_in(result.text)
    matter = without_sender(matter, sender) if sender else matter
    if part is None or not matter:
        return None
    people = _people(_value(part.slots.get("recipients")))
    frame = dict(_chinese(matter, people) if is_chinese else _english(matter, people))
    return {**frame, **_signed(result.text, is_chinese=is_chinese), **({"to": people} if people else {})}


def _signed(request: str, *, is_chinese: bool) -> dict[str, Any]:
    """Who writes, where the words say it; said in the mail itself to somebody who doesn't know them."""
    known = facts_of(request)
    if known.sender_name is None:
        return {}
    sender = {"name": known.sender_name}
    if known.sender_organization:
        sender["organization"] = known.sender_organization
    if known.relation != "new":
        return {"sender": sender}
    said = f"我叫{known.sender_name}。" if is_chinese else f"My name is {known.sender_name}."
    return {"sender": sender, "introduction": said}


def _value(slot: Any) -> Any:
    return slot.value if isinstance(slot, SlotValue) else None


def _text(slot: Any) -> str:
    value = _value(slot)
    return value.strip(" ,，。.;；") if isinstance(value, str) else ""


def _people(value: Any) -> list[dict[str, str]]:
    named = [one for one in value if isinstance(one, str) and one.strip()] if isinstance(value, list) else []
    return [{"address": one} if _ADDRESS.fullmatch(one) else {"name": one} for one in named]


def _name(people: list[dict[str, str]]) -> str:
    """Whom to greet by name; `my boss` has one that the words don't say."""
    named = (one["name"] for one in people if "name" in one)
    return next((name for name in named if not _NO_NAME.match(name)), "")


def _english(matter: str, people: list[dict[str, str]]) -> Mapping[str, Any]:
    said = _ASKS.sub("", matter) or matter
    return {
        "language": "en",
        "subject": (said[:1].upper() + said[1:])[:100],
        "greeting": f"Dear {_name(people)}," if _name(people) else "Hello,",
        "body": [f"I am writing to you about the following matter: {said}."],
        "call_to_action": "Please reply to this message and let me know.",
        "courtesy": "Thank you very much for your help.",
        "closing": "Kind regards,",
    }


def _chinese(matter: str, people: list[dict[str, str]]) -> Mapping[str, Any]:
    said = _THIRD.sub("请您", matter)
    return {
        "language": "zh",
        "subject": _THIRD.sub("", matter)[:50],
        "greeting": f"{_name(people)}，您好：" if _name(people) else "您好：",
        "body": [f"写这封邮件是为了下面这件事：{said}。"],
        "call_to_action": "请您看到后回复我。",
        "courtesy": "非常感谢您的帮助。",
        "closing": "此致敬礼",
    }

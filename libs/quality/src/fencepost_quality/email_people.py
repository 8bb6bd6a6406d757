"""Who a draft is from and to: nobody but whom the user named, and nobody pretended."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any, Final

from fencepost_domain.gates import Violation

from fencepost_quality import email_words as words
from fencepost_quality.draft import EmailFacts, blocks
from fencepost_quality.mail import header_problems, people

_FIXES: Final[Mapping[str, str]] = {
    "header_injection": "write it in one line, without control characters",
    "address_invalid": "give one plain address, or leave it out",
    "name_like_address": "give the person's name, and the address only as the address",
}


def recipients(draft: Mapping[str, Any], facts: EmailFacts) -> Iterator[Violation]:
    """Heads that are one line each, and addresses the user gave."""
    for problem in header_problems(draft):
        yield Violation(problem.code, problem.position, problem.detail, _FIXES[problem.code])
    given = " ".join((facts.request, *facts.recipients)).casefold()
    for field in ("to", "cc"):
        for place, person in enumerate(people(draft, field)):
            address = person.get("address")
            if isinstance(address, str) and address and address.strip().casefold() not in given:
                told = f"{address[:80]!r} stands nowhere in the request"
                fix = "send to addresses the user gave; leave an unknown one out"
                yield Violation("recipient_unasked", f"/{field}/{place}/address", told, fix)


def greeting(draft: Mapping[str, Any], facts: EmailFacts) -> Iterator[Violation]:
    """There is one, it fits how the two know each other, and it names the one it goes to."""
    value = draft.get("greeting")
    text = value.strip() if isinstance(value, str) else ""
    if not text:
        yield Violation("greeting_missing", "/greeting", "there is no greeting", "greet the recipient")
        return
    if facts.relation in words.FORMAL and words.CASUAL_GREETING.match(text):
        told = f"{text[:40]!r} to a {facts.relation}"
        yield Violation("relation_mismatch", "/greeting", told, "greet more formally")
    elif facts.relation in ("friend", "colleague") and words.STIFF_GREETING.search(text):
        told = f"{text[:40]!r} to a {facts.relation}"
        yield Violation(
            "relation_mismatch", "/greeting", told, "greet by name, as people who know each other"
        )
    elif not _greets_the_recipient(text, draft, facts):
        fix = "greet the recipient by the name the user gave"
        yield Violation("greeting_wrong_name", "/greeting", f"{text[:40]!r} names somebody else", fix)


def _greets_the_recipient(text: str, draft: Mapping[str, Any], facts: EmailFacts) -> bool:
    found = words.NAMED_IN_GREETING.match(text)
    said = next((part for part in found.groups() if part), "").strip() if found else ""
    if not said or words.NOBODY_NAMED.search(said):
        return True
    names = [str(one.get("name") or "") for one in people(draft, "to")]
    pool = _plain(" ".join((facts.request, *facts.recipients, *names)))
    name = _plain(words.HONORIFICS.sub("", said)).removesuffix("的")
    return all(part in pool for part in name.split()) if name else True


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().strip()


def sender(draft: Mapping[str, Any], facts: EmailFacts) -> Iterator[Violation]:
    """Signed by the user, under a name, a title and an organization that they have; for nobody else."""
    signed = draft.get("sender")
    signed = signed if isinstance(signed, Mapping) else {}
    name = str(signed.get("name") or "").strip()
    if not name and facts.sender_name:
        yield Violation("sender_missing", "/sender/name", "not signed", f"sign as {facts.sender_name}")
    pool = _plain(" ".join(facts.known))
    for member in ("name", "title", "organization", "address"):
        value = str(signed.get(member) or "").strip()
        if value and not _is_mine(member, value, pool, facts) and not words.PLACEHOLDER.search(value):
            told = f"{value[:60]!r} isn't the sender's"
            fix = (
                f"sign as {facts.sender_name}" if facts.sender_name else "leave out what the user didn't give"
            )
            yield Violation("sender_forged", f"/sender/{member}", told, fix)
    yield from _speaks_for(draft, pool)


def _is_mine(member: str, value: str, pool: str, facts: EmailFacts) -> bool:
    if member == "name" and facts.sender_name:
        return _plain(value) == _plain(facts.sender_name)
    return _plain(value) in pool


def _speaks_for(draft: Mapping[str, Any], pool: str) -> Iterator[Violation]:
    """`on behalf of` somebody whom the user never named."""
    for position, text in blocks(draft):
        for found in words.SPEAKS_FOR.finditer(text):
            whom = next((part for part in found.groups() if part), "").strip()
            if _plain(whom).removeprefix("the ").removeprefix("my ") not in pool and whom not in _OURSELVES:
                told = f"speaks for {whom[:60]!r}, of whom the request says nothing"
                yield Violation("sender_forged", position, told, "write in the user's own name")


_OURSELVES: Final = frozenset(
    {"我们", "本人", "我", "me", "myself", "us", "全组", "团队", "我们团队", "公司", "我司", "贵司"}
)

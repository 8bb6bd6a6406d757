"""`email-draft-policy-2.1.0`: may this draft be kept and shown as the user's own mail? (design 04)

Pure: a draft (the tool's arguments) and facts that code took from the user's own words. No mail is sent here
or behind it. A violation names the block by JSON pointer and says what to do, for the composer's one rewrite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Final

from fencepost_domain.gates import GateResult, Violation, verdict

from fencepost_quality import email_words as words
from fencepost_quality.draft import EmailFacts, blocks, text_of
from fencepost_quality.email_people import greeting, recipients, sender
from fencepost_quality.meaning import nearly_the_same
from fencepost_quality.scripts import foreign, main_language

GATE: Final = "email-draft-policy-2.1.0"
REWRITES: Final = 1  # then the run ends as email_quality_failed
FAILED_CODE: Final = "email_quality_failed"
LONGEST_SUBJECT: Final = {"zh": 50, "en": 100}  # characters: what a mailbox shows of it
SHORTEST_BODY: Final = {"zh": 12, "en": 30}  # characters


def judge(draft: Mapping[str, Any], facts: EmailFacts) -> GateResult:
    """Every violation, in the order of the draft's blocks."""
    found = [violation for check in CHECKS for violation in check(draft, facts)]
    return verdict(GATE, sorted(found, key=lambda one: _place(one.position)))


_ORDER: Final = (
    "/to", "/cc", "/subject", "/greeting", "/introduction", "/body", "/call", "/courtesy", "/closing",
)  # fmt: skip


def _place(position: str) -> int:
    order = (
        "/to",
        "/cc",
        "/subject",
        "/greeting",
        "/introduction",
        "/body",
        "/call",
        "/courtesy",
        "/closing",
    )
    return next((place for place, start in enumerate(order) if position.startswith(start)), len(order))


def _subject(draft: Mapping[str, Any], facts: EmailFacts) -> Iterator[Violation]:
    subject, longest = text_of(draft, "subject"), LONGEST_SUBJECT[facts.asked]
    if not subject:
        yield Violation(
            "subject_missing", "/subject", "there is no subject", "say in a few words what it is about"
        )
    elif words.VAGUE_SUBJECT.match(subject):
        yield Violation("subject_vague", "/subject", f"{subject!r} says nothing", "name the matter itself")
    elif len(subject) > longest:
        told = f"{len(subject)} characters, at most {longest}"
        yield Violation("subject_too_long", "/subject", told, "keep the matter, drop the rest")


def _body(draft: Mapping[str, Any], facts: EmailFacts) -> Iterator[Violation]:
    text = "".join(part for position, part in blocks(draft) if position.startswith("/body"))
    if len(text.strip()) < SHORTEST_BODY[facts.asked]:
        told = f"{len(text.strip())} characters, at least {SHORTEST_BODY[facts.asked]}"
        yield Violation("body_missing", "/body", told, "write what the request asks to be said")


def _placeholders(draft: Mapping[str, Any], facts: EmailFacts) -> Iterator[Violation]:
    signature = draft.get("sender")
    name = signature.get("name") if isinstance(signature, Mapping) else None
    named = [("/sender/name", name)] if isinstance(name, str) else []
    for position, text in [*blocks(draft), *named]:
        found = words.PLACEHOLDER.search(text)
        if found and found.group() not in facts.request:
            told = f"{found.group()!r} stands for something that was never filled in"
            yield Violation(
                "placeholder_left", position, told, "fill it from the request or write without it"
            )


def _language(draft: Mapping[str, Any], facts: EmailFacts) -> Iterator[Violation]:
    """A block in another language, or one of ours with pieces of another in it; never both for one block."""
    for position, text in blocks(draft):
        language = main_language(text)
        if language is not None and language != facts.asked and not _is_known(text, facts):
            told = f"written in {language}, asked for {facts.asked}"
            yield Violation("language_wrong", position, told, f"write this block in {facts.asked}")
            continue
        strange = foreign(text, facts.asked, facts.known)
        if strange:
            told = f"{strange[0]!r} in a text in {facts.asked}"
            yield Violation(
                "language_mixed", position, told, "translate it, or keep it only where it is a name"
            )


def _is_known(text: str, facts: EmailFacts) -> bool:
    """Nothing but names and words of the request, which are nobody's language."""
    return not foreign(text, facts.asked, facts.known)


def _introduction(draft: Mapping[str, Any], facts: EmailFacts) -> Iterator[Violation]:
    """Somebody new is told who writes; somebody who knows is not."""
    said = [(position, text) for position, text in blocks(draft) if words.INTRODUCES.search(text)]
    has_block = bool(text_of(draft, "introduction"))
    if facts.relation == "new" and not said and not has_block:
        fix = "say in one sentence who writes and from where"
        yield Violation("introduction_missing", "/introduction", "the recipient doesn't know the sender", fix)
    elif facts.relation not in (None, "new", "customer") and (said or has_block):
        position = said[0][0] if said else "/introduction"
        yield Violation(
            "introduction_unneeded", position, f"a {facts.relation} knows who writes", "leave it out"
        )


def _action(draft: Mapping[str, Any], facts: EmailFacts) -> Iterator[Violation]:
    text = text_of(draft, "call_to_action")
    if facts.needs_action and (not text or not words.ASKS.search(text)):
        told = "nothing is asked of the recipient" if not text else f"{text[:60]!r} asks for nothing"
        fix = "say what the recipient should do, and by when if the request says so"
        yield Violation("action_missing", "/call_to_action", told, fix)


def _courtesy(draft: Mapping[str, Any], facts: EmailFacts) -> Iterator[Violation]:
    if facts.relation != "friend" and not words.COURTEOUS.search(text_of(draft, "courtesy")):
        fix = "add one courteous sentence"
        yield Violation("courtesy_missing", "/courtesy", "no word of thanks or wish", fix)


def _closing(draft: Mapping[str, Any], facts: EmailFacts) -> Iterator[Violation]:
    text = text_of(draft, "closing")
    if facts.relation in words.FORMAL and words.CASUAL_CLOSING.search(text):
        told = f"{text[:40]!r} to a {facts.relation}"
        yield Violation("relation_mismatch", "/closing", told, "close more formally")
    elif not words.CLOSES.search(text) and (facts.relation in words.FORMAL or not words.PARTS.search(text)):
        yield Violation(
            "closing_missing", "/closing", "no closing formula", "close as is usual in the language"
        )


def _repeats(draft: Mapping[str, Any], facts: EmailFacts) -> Iterator[Violation]:
    """Blocks that say the same twice. A subject is repeated by every mail's body, so it isn't compared."""
    said = [(position, text) for position, text in blocks(draft) if position != "/subject"]
    for (first, one), (second, other) in combinations(said, 2):
        likeness = nearly_the_same(one, other)
        if likeness is not None:
            told = f"{likeness:.0f} % like {first}"
            yield Violation("blocks_repeat", second, told, "say it in one of the two blocks only")


Check = Callable[[Mapping[str, Any], EmailFacts], Iterator[Violation]]
CHECKS: Final[Sequence[Check]] = (
    recipients, _subject, greeting, _introduction, _body, _placeholders, _language, _action, _courtesy,
    _closing, sender, _repeats,
)  # fmt: skip
CODES: Final = (
    "header_injection", "address_invalid", "name_like_address", "recipient_unasked",
    "subject_missing", "subject_vague", "subject_too_long",
    "greeting_missing", "greeting_wrong_name", "relation_mismatch",
    "introduction_missing", "introduction_unneeded", "body_missing", "placeholder_left",
    "language_wrong", "language_mixed", "action_missing", "courtesy_missing", "closing_missing",
    "sender_missing", "sender_forged", "blocks_repeat",
)  # fmt: skip

# Tables: an entry or a pattern is easier to check on one line than broken up.
# ruff: noqa: E501
"""The text parted into clauses, with quoted stretches masked: a quotation carries no request of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fencepost_intents.patterns import lazy

MASK: Final = "\ufffc"
_QUOTES: Final = lazy(
    r"\"[^\"\n]{1,2000}\"|“[^”\n]{1,2000}”|「[^」\n]{1,2000}」|『[^』\n]{1,2000}』|《[^》\n]{1,200}》"
    r"|(?<![a-z0-9])'[^'\n]{1,2000}'(?![a-z0-9])|(?<![a-z0-9])'(?:[^'\n]|(?<=[a-z])'(?=[a-z])){1,2000}'(?![a-z0-9])"
)
_COMMAND_ZH: Final = (
    r"(?:请|帮我|给我|麻烦|把|提醒|记一?笔|记账|记上|翻译|设|定个|取消|删|查|看看|统计|写|发|做|再|列)"
)
_COMMAND_EN: Final = (
    r"(?:please |also |then )*(?:remind|log|record|add|set|schedule|translate|draft|write|create|make|show|list|cancel|delete|send|note|"
    r"wake|email|tell|put|book|what|how|i (?:spent|paid|bought)|spent|paid|bought|move|change|remove)\b"
)
# A joint is strong when it parts two requests; weak when it may as well go on with the same one.
_JOINT: Final = lazy(
    rf"(?P<strong>[。;!?\n]+|(?<![0-9a-z])\.(?=\s|$)|(?<=[a-z]{{3}})\.(?=\s|$)|(?:,\s*)?(?:然后|并且|同时|另外|还有|顺便|接着|此外|以及)(?:再|请|帮我)?"
    rf"|(?<![一用别要必])再(?={_COMMAND_ZH})|(?:,\s*)?\b(?:and )?(?:then|also|additionally|plus)\b(?= {_COMMAND_EN})|(?:,\s*)?\band (?={_COMMAND_EN}))"
    rf"|(?P<weak>(?:(?<!\d),|,(?!\d))(?!\s*(?:in|into) [a-z]+\s*[?.]?$)|、(?=.{{0,8}}\d)|(?:和|并)(?={_COMMAND_ZH}))"
)

_LONGEST_LEAD: Final = 30
_LEAD_LANGUAGE: Final = lazy(r"(?:in|into) [a-z]{4,12}$")  # in French, how do I say it


@dataclass(frozen=True, slots=True)
class Clause:
    """Code points [start, end); `strong` when the joint before it parts requests."""

    start: int
    end: int
    strong: bool


def mask_quotes(norm: str) -> str:
    """Quoted stretches replaced by a mask of the same length (the marks stay)."""
    if not any(mark in norm for mark in "\"'“「『《"):
        return norm
    return _QUOTES.sub(
        lambda found: found.group()[0] + MASK * (len(found.group()) - 2) + found.group()[-1], norm
    )


def quoted_spans(norm: str) -> list[tuple[int, int]]:
    """The stretches inside quotation marks, marks left out."""
    return [(found.start() + 1, found.end() - 1) for found in _QUOTES.finditer(norm)]


def split(masked: str, whole: Sequence[tuple[int, int]] = ()) -> list[Clause]:
    """The clauses of a masked text, empty ones left out.

    whole: stretches, in order, that no joint parts (a time, an amount).
    """
    found: list[Clause] = []
    start, strong, index = 0, True, 0
    for joint in _JOINT.finditer(masked):
        while index < len(whole) and whole[index][1] <= joint.start():
            index += 1
        if index < len(whole) and whole[index][0] < joint.start():
            continue
        if joint.start() < _LONGEST_LEAD and _LEAD_LANGUAGE.match(masked, 0, joint.start()):
            continue
        if clause := _clause(masked, start, joint.start(), strong):
            found.append(clause)
            strong = False
        strong = strong or joint.group("strong") is not None
        start = joint.end()
    if clause := _clause(masked, start, len(masked), strong):
        found.append(clause)
    return found


def _clause(masked: str, start: int, end: int, strong: bool) -> Clause | None:
    """A clause without the space around it: patterns must not walk through runs of it again and again."""
    words = masked[start:end].strip(" ,")
    if not words:
        return None
    start = masked.index(words[0], start)
    return Clause(start, start + len(words), strong)

"""`response-quality-1.0.0`: an answer says a thing once (design 04).

What is repeated exactly is taken out by code: that can't lose a fact. What is only alike is reported with its
places and its likeness and never taken out here: each of the two may say one thing more.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import combinations
from typing import Final

from fencepost_domain.gates import GateResult, Violation, verdict

from fencepost_quality.meaning import SHORTEST, folded, nearly_the_same

GATE: Final = "response-quality-1.0.0"
EMPTY: Final = "answer_empty"
NEARLY: Final = "nearly_repeated"
MOST_COMPARED: Final = 200  # pieces of one answer; beyond it an answer is a document and has its own gate
_SENTENCES: Final = re.compile(r"(?<=[。！？!?])|(?<=\.)(?=\s+[A-Z\u4e00-\u9fff])")
_LISTED: Final = re.compile(r"^\s*(?:[-*+•·|>#]|\d+[.、)）]|[（(]?[一二三四五六七八九十]+[、.)）])")
_CODE: Final = "```"


def without_repeats(text: str) -> str:
    """The text without paragraphs and sentences that stood before, word for word.

    Lists, tables, quotations and code are left as they are: two equal entries are two entries.
    """
    seen: set[str] = set()
    kept: list[str] = []
    in_code = False
    for paragraph in text.strip().split("\n\n"):
        was_code, in_code = in_code, in_code ^ (paragraph.count(_CODE) % 2 == 1)
        if was_code or _CODE in paragraph or not is_prose(paragraph):
            kept.append(paragraph)
            continue
        rest = _unsaid(paragraph, seen)
        if rest:
            kept.append(rest)
    return "\n\n".join(kept)


def is_prose(paragraph: str) -> bool:
    """One line of running text: no list, no table, no lines that belong to each other."""
    return "\n" not in paragraph.strip() and _LISTED.match(paragraph) is None


def _unsaid(paragraph: str, seen: set[str]) -> str:
    kept: list[str] = []
    for sentence in sentences(paragraph):
        said = folded(sentence)
        if len(said) >= SHORTEST and said in seen and sentence.strip() != "":
            continue
        seen.add(said)
        kept.append(sentence)
    return "".join(kept).strip()


def sentences(paragraph: str) -> list[str]:
    """The paragraph's sentences with what stands between them; joined they are the paragraph."""
    return [part for part in _SENTENCES.split(paragraph) if part]


def judge(text: str) -> GateResult:
    """Of an answer that `without_repeats` went over. Positions: `/3` is paragraph 3, from 0."""
    if not any(_is_said(char) for char in text):
        found = Violation(EMPTY, "", "the answer has no words", "answer the request from the results")
        return verdict(GATE, [found])
    pieces = [
        (place, paragraph)
        for place, paragraph in enumerate(text.strip().split("\n\n"))
        if is_prose(paragraph) and _CODE not in paragraph
    ]
    return verdict(GATE, [*_alike(pieces[:MOST_COMPARED]), *_alike_within(pieces[:MOST_COMPARED])])


def _is_said(char: str) -> bool:
    """A letter or a digit, or a picture that stands for a word (👍); no mark and no space."""
    return char.isalnum() or unicodedata.category(char) == "So"


def _alike(pieces: Sequence[tuple[int, str]]) -> list[Violation]:
    found = []
    for (first, one), (second, other) in combinations(pieces, 2):
        likeness = nearly_the_same(one, other)
        if likeness is not None:
            found.append(
                _nearly(f"/{second}", f"paragraph {second} is {likeness:.0f} % like paragraph {first}")
            )
    return found


def _alike_within(pieces: Sequence[tuple[int, str]]) -> list[Violation]:
    """Sentences of one paragraph, those that stand next to each other or nearly so."""
    found = []
    for place, paragraph in pieces:
        said = sentences(paragraph)[:MOST_COMPARED]
        for first, second in combinations(range(len(said)), 2):
            likeness = nearly_the_same(said[first], said[second]) if second - first <= 3 else None
            if likeness is not None:
                what = f"sentence {second} of paragraph {place} is {likeness:.0f} % like sentence {first}"
                found.append(_nearly(f"/{place}", what))
    return found


def _nearly(position: str, detail: str) -> Violation:
    fix = "say it once, with what either of the two adds; change no amount, date or name"
    return Violation(NEARLY, position, detail, fix)

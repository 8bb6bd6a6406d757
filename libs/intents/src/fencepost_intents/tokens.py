"""Tokens, and the dictionaries that words are looked up in, longest first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from fencepost_intents import lexicon_en, lexicon_zh

# Kinds written with two characters in the English lexicon, and their one-character form.
ONE_CHARACTER: Final = {"R2": "r", "c$": "J", "n2": "n"}


@dataclass(slots=True)
class Tokens:
    """Parallel lists, one entry a token. `kinds` may be overwritten as tokens are used up."""

    kinds: str
    values: list[Any]
    starts: list[int]
    ends: list[int]


def _by_first(words: dict[str, Any]) -> dict[str, tuple[tuple[str, Any], ...]]:
    table: dict[str, list[tuple[str, Any]]] = {}
    for word, entry in words.items():
        table.setdefault(word[0], []).append((word, entry))
    return {first: tuple(sorted(many, key=lambda one: -len(one[0]))) for first, many in table.items()}


ZH: Final = _by_first(lexicon_zh.WORDS)
EN_SINGLE: Final = {word: entry for word, entry in lexicon_en.WORDS.items() if " " not in word}
EN_PHRASES: Final[dict[str, tuple[tuple[str, Any], ...]]] = {}
for _phrase, _entry in sorted(lexicon_en.WORDS.items(), key=lambda one: -len(one[0])):
    if " " in _phrase:
        _first = _phrase.partition(" ")[0]
        EN_PHRASES[_first] = (*EN_PHRASES.get(_first, ()), (_phrase, _entry))

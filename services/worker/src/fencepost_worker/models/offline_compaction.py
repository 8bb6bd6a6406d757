"""The offline model as compactor: what the user said, line by line under its day; what calls did, by name.

Nothing is put in other words: each sentence with an amount, a date, a time or a name stays as it was said,
the rest of a long turn goes. Deterministic, and right by the same check as anybody's summary.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fencepost_quality.said_facts import facts_of

LONGEST: Final = 160  # characters of a turn that are kept whatever they say
MOST_DONE: Final = 40
MOST_OPEN: Final = 20
LINE: Final = 500
_SENTENCE: Final = re.compile(r"[^。！？!?;；\n]+[。！？!?;；]?|\n+")


def compact(task: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `compact`. task: {turns, open_tasks, earlier}."""
    earlier = task.get("earlier") or {"summary": "", "open_tasks": [], "done": []}
    turns: Sequence[Mapping[str, Any]] = task["turns"]
    lines = [*earlier["summary"].splitlines()]
    lines += [f"[{turn['on']}] {_kept(turn['text'])}" for turn in turns if turn["author"] == "user"]
    calls = [call for turn in turns for call in turn["calls"]]
    done = [f"{call['tool']}: {call['text']}"[:LINE] for call in calls if call["state"] == "completed"]
    unsure = [f"{call['tool']}: {call['text']}"[:LINE] for call in calls if call["state"] == "unknown"]
    still = [*earlier["open_tasks"], *task["open_tasks"], *unsure]
    return {
        "summary": "\n".join(line for line in lines if line.strip()) or "-",
        "open_tasks": list(dict.fromkeys(one[:LINE] for one in still))[-MOST_OPEN:],
        "done": [*earlier["done"], *done][-MOST_DONE:],
    }


def _kept(text: str) -> str:
    """A turn in one line: its first words, and every sentence that states something."""
    one_line = " ".join(text.split())
    if len(one_line) <= LONGEST:
        return one_line
    kept: list[str] = []
    for place, sentence in enumerate(_SENTENCE.findall(text)):
        plain = " ".join(sentence.split())
        if plain and ((place == 0 and len(plain) <= LONGEST) or _states(plain)):
            kept.append(plain)
    return " ".join(kept) or one_line[:LONGEST]


def _states(sentence: str) -> bool:
    facts = facts_of(sentence)
    return bool(facts.amounts or facts.dates or facts.clocks or facts.names or facts.relative)

"""`compaction-check-v1`: whether a summary may stand for a part of a conversation (I30). Pure.

Nothing may come in: each amount, date, time and name of the summary, and what it says is open or done, is the
source's. Nothing of the user's may get lost: what they said of amounts, dates, times and names, and what is
still open. A relative date stands in a line that begins with the day it was said, or the day it means is
there. One fault, and the summary is none; what can't be decided is a fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final, Literal

from rapidfuzz import fuzz

from fencepost_quality.said_facts import RELATIVE, Facts, currencies_in, facts_of, folded

LIKE: Final = 80.0  # of 100: words that were inflected or reordered a little; another sentence is below 60
SHORTEST_LIKENESS: Final = 4  # characters: shorter ones must stand there as they are
_LINE_DAY: Final = re.compile(r"\s*[-*•]?\s*\[(\d{4})-(\d{2})-(\d{2})\]")
_TOOL: Final = re.compile(r"\b[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*\b")


@dataclass(frozen=True, slots=True)
class CallMade:
    """A tool call of a turn. state: of its effect; `completed` is done, `unknown` may be. text: arguments and
    result."""

    tool: str
    state: str
    text: str


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of the source. on: the day it was said, where the user is."""

    author: Literal["user", "assistant"]
    text: str
    on: date
    calls: tuple[CallMade, ...] = ()


@dataclass(frozen=True, slots=True)
class Shortened:
    """A summary, what it says is still open, and what it says was carried out."""

    summary: str
    open_tasks: tuple[str, ...] = ()
    done: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return "\n".join((self.summary, *self.open_tasks, *self.done))


@dataclass(frozen=True, slots=True)
class Source:
    """What is to be shortened. earlier: the committed summary that stands for what was before. open_tasks:
    what is known to be undone, in its own words."""

    turns: tuple[Turn, ...]
    earlier: Shortened | None = None
    open_tasks: tuple[str, ...] = ()

    @property
    def everything(self) -> str:
        said = [turn.text for turn in self.turns]
        made = [f"{call.tool} {call.text}" for turn in self.turns for call in turn.calls]
        return "\n".join([*said, *made, *self.open_tasks, self.earlier.text if self.earlier else ""])


def faults_of(made: Shortened, source: Source) -> tuple[str, ...]:
    """`code: what` for everything that is wrong; empty when the summary may be committed.

    Codes: `empty`, `amount|date|time|number|name_not_in_source`, `amount|date|time|name_lost`,
    `date_relative`, `task_not_in_source`, `task_lost`, `done_not_in_source`, `done_and_open`.
    """
    if not made.summary.strip():
        return ("empty: there is no summary",)
    given, told = facts_of(source.everything), facts_of(made.text)
    found = [*_added(told, given, source), *_lost(told, source), *_relative(made, source)]
    return tuple(dict.fromkeys([*found, *_tasks(made, source), *_done(made, source)]))


def _added(told: Facts, given: Facts, source: Source) -> Iterator[str]:
    days = {(t.on.year, t.on.month, t.on.day) for t in source.turns}
    years = {t.on.year for t in source.turns} | {t.on.year + 1 for t in source.turns}
    for value, currency in sorted(told.amounts - given.amounts - _recorded(source)):
        yield f"amount_not_in_source: {value} {currency}"
    for day in sorted(told.dates - days):
        if not any(_same_day(day, other, years) for other in given.dates):
            yield f"date_not_in_source: {_day(day)}"
    for clock in sorted(told.clocks):
        if not any(_same_clock(clock, other) for other in given.clocks):
            yield f"time_not_in_source: {_clock(clock)}"
    known = given.numbers | {value for value, _ in given.amounts} | _parts(given.dates | days)
    for number in sorted(told.numbers - known):
        yield f"number_not_in_source: {number}"
    pool = folded(source.everything)
    for name in sorted(told.names | told.perhaps):
        if folded(name) not in pool:
            yield f"name_not_in_source: {name}"


def _recorded(source: Source) -> set[tuple[str, str]]:
    """Amounts of calls: their value and their currency are arguments of their own."""
    texts = [call.text for turn in source.turns for call in turn.calls]
    return {
        (value, currency)
        for text in texts
        for value in facts_of(text).numbers
        for currency in currencies_in(text)
    }


def _lost(told: Facts, source: Source) -> Iterator[str]:
    """Of what the user said, and of what stood for more of the same before."""
    said = [turn.text for turn in source.turns if turn.author == "user"]
    mine = facts_of("\n".join([*said, source.earlier.text if source.earlier else ""]))
    years = {turn.on.year for turn in source.turns} | {turn.on.year + 1 for turn in source.turns}
    for value, currency in sorted(mine.amounts - told.amounts):
        yield f"amount_lost: {value} {currency}"
    for day in sorted(mine.dates):
        if not any(_same_day(other, day, years) for other in told.dates):
            yield f"date_lost: {_day(day)}"
    for clock in sorted(mine.clocks):
        if not any(_same_clock(clock, other) for other in told.clocks):
            yield f"time_lost: {_clock(clock)}"
    for name in sorted(mine.names - told.names):
        if not any(name in other or other in name for other in told.names | told.perhaps):
            yield f"name_lost: {name}"


def _relative(made: Shortened, source: Source) -> Iterator[str]:
    """`tomorrow` means a day only beside the day it was said; each one of the user's still means its day."""
    dated: set[tuple[str, date]] = set()
    for line in made.text.splitlines():
        words = set(RELATIVE.findall(folded(line)))
        on = _day_of(line)
        if on is not None:
            dated |= {(word, on) for word in words}
        said = {word for t in source.turns if t.on == on for word in RELATIVE.findall(folded(t.text))}
        earlier = source.earlier is not None and line.strip() in source.earlier.text.splitlines()
        if not earlier:
            for word in sorted(words - said):
                yield f"date_relative: {word}"
    told = facts_of(made.text).dates
    for turn in source.turns:
        meant = {day for call in turn.calls for day in facts_of(call.text).dates}
        for word in sorted(set(RELATIVE.findall(folded(turn.text)))):
            if turn.author == "user" and (word, turn.on) not in dated and not meant & told:
                yield f"date_lost: {word} of {turn.on.isoformat()}"


def _tasks(made: Shortened, source: Source) -> Iterator[str]:
    """Each open task is one that somebody asked for; each known one is still named, or done by now."""
    pool = [turn.text for turn in source.turns if turn.author == "user"] + list(source.open_tasks)
    unsure = [c for turn in source.turns for c in turn.calls if c.state not in _OVER]
    named = {call.tool for call in unsure}
    before = source.earlier.open_tasks if source.earlier else ()
    known = _said([*pool, *before])
    for task in made.open_tasks:
        tools = set(_TOOL.findall(task))
        if not (tools and tools <= named) and not _supported(task, known):
            yield f"task_not_in_source: {task[:80]}"
    for task in source.open_tasks:
        if not _covered(task, made.open_tasks):
            yield f"task_lost: {task[:80]}"
    for task in before:
        if not _covered(task, (*made.open_tasks, *made.done)):
            yield f"task_lost: {task[:80]}"
    for call in unsure:
        if not any(call.tool in task for task in made.open_tasks):
            yield f"task_lost: {call.tool} {call.state}"


def _done(made: Shortened, source: Source) -> Iterator[str]:
    """Done is what a call did, by its name, or what somebody said in these words."""
    completed = {c.tool for turn in source.turns for c in turn.calls if c.state == "completed"}
    before = _said(source.earlier.done if source.earlier else ())
    said = _said(turn.text for turn in source.turns)
    for item in made.done:
        tools = set(_TOOL.findall(item))
        is_made = bool(tools) and tools <= completed
        if not is_made and not _supported(item, before) and (tools or not _supported(item, said)):
            yield f"done_not_in_source: {item[:80]}"
    for item in set(made.done) & set(made.open_tasks):
        yield f"done_and_open: {item[:80]}"


_OVER: Final = frozenset(
    {"completed", "failed", "rejected", "absent", "not_executed", "withdrawn", "expired"}
)


@dataclass(frozen=True, slots=True)
class _Said:
    """A text as it is compared: letters and digits alone, and every three of them that stand together."""

    bare: str
    threes: frozenset[str]


def _said(texts: Iterable[str]) -> list[_Said]:
    return [_Said(bare, _threes(bare)) for bare in map(_bare, texts)]


def _threes(bare: str) -> frozenset[str]:
    return frozenset(bare[place : place + 3] for place in range(max(len(bare) - 2, 1)))


def _supported(item: str, pool: Iterable[_Said]) -> bool:
    """The item's words stand in one text of the pool. What shares too few signs is not compared at length."""
    short = _bare(item)
    if not short:
        return False
    mine = _threes(short)
    for text in pool:
        if short in text.bare:
            return True
        is_comparable = SHORTEST_LIKENESS <= len(short) <= len(text.bare)
        is_near = is_comparable and len(mine & text.threes) * 2 >= len(mine)
        if is_near and fuzz.partial_ratio(short, text.bare, score_cutoff=LIKE) >= LIKE:
            return True
    return False


def _covered(task: str, items: Sequence[str]) -> bool:
    wanted = _said([task])
    return any(_supported(task, _said([item])) or _supported(item, wanted) for item in items)


def _bare(text: str) -> str:
    return "".join(c for c in folded(text) if c.isalnum())


def _same_day(one: tuple[int, int, int], other: tuple[int, int, int], years: set[int]) -> bool:
    """The same day; a year that was left out is this one or the next. A month alone is in its days."""
    if one[1] != other[1] or (one[2] != other[2] and one[2] != 0):
        return False
    return one[0] == other[0] or one[0] == 0 or (other[0] == 0 and one[0] in years)


def _same_clock(one: tuple[int, str], other: tuple[int, str]) -> bool:
    return one[0] == other[0] and (one[1] == other[1] or not one[1] or not other[1])


def _parts(dates: Iterable[tuple[int, int, int]]) -> set[str]:
    return {str(part) for day in dates for part in day if part}


def _day(day: tuple[int, int, int]) -> str:
    return "-".join(f"{part:02d}" for part in day if part)


def _clock(clock: tuple[int, str]) -> str:
    return f"{clock[0] // 60:02d}:{clock[0] % 60:02d}{clock[1]}"


def _day_of(line: str) -> date | None:
    found = _LINE_DAY.match(line)
    try:
        return date(int(found[1]), int(found[2]), int(found[3])) if found else None
    except ValueError:
        return None

"""The requests of a text, as the outline gives them: positions are code points, `[start, end)`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cue:
    """An intent and the code points [start, end) of the words that carry it."""

    intent: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Request:
    """One request: its intent, its stretch of the text, its cue."""

    intent: str
    start: int
    end: int
    cue: Cue


@dataclass(frozen=True, slots=True)
class Outline:
    """All requests in order. `refused`: a wish was negated or withdrawn. `open`: it hangs on a condition
    or a tale.
    """

    requests: tuple[Request, ...]
    refused: bool = False
    conditional: bool = False
    tale: bool = False


@dataclass(frozen=True, slots=True)
class Sighting:
    """What stands where in the text: times with a clock or a day, and amounts; all code points."""

    times: Sequence[tuple[int, int, bool]]
    amounts: Sequence[tuple[int, int]]

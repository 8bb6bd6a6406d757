"""Scoring on rows of text and expectation: accuracy, wrong-and-sure, asked, confusion by intent.

A row: `{id?, text, reference, zone, locale?, currency?, expected}`. `expected` is a part of the result's
JSON, matched as a subset: objects by their given keys, lists whole and in order. Besides `intent`,
`required_slots`, `slots`, `times`, `amounts` it may hold `intents` (names in order), `not_intent`, and in a
time `"inferred": true` (something was inferred). Money is compared as decimals, candidates as a set of
values.

Wrong-and-sure is the number that matters: an answer that differs from what was expected and asks nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from fencepost_intents.detect import detect


@dataclass(frozen=True, slots=True)
class Miss:
    """A row that wasn't answered as expected. `sure`: and nothing was asked, nothing handed on."""

    id: str
    text: str
    why: str
    sure: bool


@dataclass(frozen=True, slots=True)
class Report:
    """rows: scored. right: as expected. asked: rows where something was asked or handed on.

    confusion: (expected intent, given intent) -> rows.
    """

    rows: int
    right: int
    asked: int
    wrong_and_sure: int
    misses: tuple[Miss, ...] = ()
    confusion: Mapping[tuple[str, str], int] = field(default_factory=dict)

    @property
    def accuracy(self) -> float:
        return self.right / self.rows if self.rows else 0.0

    def __str__(self) -> str:
        """For a terminal: the numbers, the confusion by intent, and every miss."""
        lines = [
            f"rows {self.rows}, right {self.right} ({self.accuracy:.1%})",
            f"wrong and sure {self.wrong_and_sure}",
            f"asked or handed on {self.asked}",
            "expected intent -> given: rows",
        ]
        lines += [
            f"  {wanted} -> {given}: {count}" for (wanted, given), count in sorted(self.confusion.items())
        ]
        lines += [f"{'WRONG' if one.sure else 'asked'} {one.id} {one.text}: {one.why}" for one in self.misses]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "right": self.right,
            "accuracy": round(self.accuracy, 4),
            "wrong_and_sure": self.wrong_and_sure,
            "asked": self.asked,
            "confusion": [
                {"expected": expected, "given": given, "rows": count}
                for (expected, given), count in sorted(self.confusion.items())
            ],
            "misses": [
                {"id": one.id, "text": one.text, "why": one.why, "sure": one.sure} for one in self.misses
            ],
        }


def evaluate(rows: Iterable[Mapping[str, Any]]) -> Report:
    """Scores rows. Raises ValueError for a row without text, reference or expectation."""
    total = right = asked = sure_wrong = 0
    misses: list[Miss] = []
    confusion: Counter[tuple[str, str]] = Counter()
    for row in rows:
        for name in ("text", "reference", "expected"):
            if name not in row:
                raise ValueError(f"row {row.get('id', total + 1)} has no {name}")
        result = detect(
            row["text"],
            reference=datetime.fromisoformat(row["reference"]),
            zone=row.get("zone"),
            locale=row.get("locale"),
            currency=row.get("currency"),
        )
        given = result.to_json()
        expected = row["expected"]
        total += 1
        unsure = not result.is_complete
        asked += unsure
        confusion[_expected_intent(expected, result.intent), result.intent] += 1
        why = difference(expected, given)
        if why is None:
            right += 1
            continue
        sure = not unsure
        sure_wrong += sure
        misses.append(Miss(str(row.get("id", total)), row["text"], why, sure))
    return Report(total, right, asked, sure_wrong, tuple(misses), dict(confusion))


def _expected_intent(expected: Mapping[str, Any], given: str) -> str:
    if "intents" in expected:
        return str(expected["intents"][0])
    if "intent" in expected:
        return str(expected["intent"])
    refused = expected.get("not_intent")
    return f"not {refused}" if refused else given


def difference(expected: Mapping[str, Any], given: Mapping[str, Any]) -> str | None:
    """The first thing in which a result's JSON differs from what was expected; None when nothing does."""
    names = [one["intent"] for one in given["intents"]]
    if "not_intent" in expected and expected["not_intent"] in names:
        return f"intent: {expected['not_intent']} was given"
    if "intents" in expected and list(expected["intents"]) != names:
        return f"intents: {names}"
    for key in ("intent", "fallback_required"):
        if key in expected and expected[key] != given[key]:
            return f"{key}: {given[key]}"
    # A row that says nothing of questions expects none.
    if "not_intent" not in expected and list(expected.get("required_slots", [])) != list(
        given["required_slots"]
    ):
        return f"required_slots: {given['required_slots']}"
    for key in ("slots", "times", "amounts"):
        if key in expected and (why := _differs(expected[key], given[key], key)):
            return why
    return None


def _differs(expected: Any, given: Any, path: str) -> str | None:
    if isinstance(expected, Mapping):
        return _object_differs(expected, given, path)
    if isinstance(expected, list) and path.endswith(".candidates"):
        wanted, found = (sorted(map(_shown, many)) for many in (expected, given or []))
        return None if wanted == found or _contains(expected, given or []) else f"{path}: {found}"
    if isinstance(expected, list):
        if not isinstance(given, list) or len(expected) != len(given):
            return f"{path}: {given}"
        for index, one in enumerate(expected):
            if why := _differs(one, given[index], f"{path}.{index}"):
                return why
        return None
    if path.endswith(".inferred") and expected is True:
        return None if given else f"{path}: nothing"
    return None if expected == given or _same_decimal(expected, given) else f"{path}: {given}"


def _object_differs(expected: Mapping[str, Any], given: Any, path: str) -> str | None:
    if not isinstance(given, Mapping):
        return f"{path}: {given}"
    for key, value in expected.items():
        if value is None and given.get(key) is None:
            continue
        if why := _differs(value, given.get(key), f"{path}.{key}"):
            return why
    return None


def _contains(expected: list[Any], given: list[Any]) -> bool:
    if len(expected) != len(given) or not all(isinstance(one, Mapping) for one in expected):
        return False
    left = list(given)
    for one in expected:
        match = next((other for other in left if _differs(one, other, "candidate") is None), None)
        if match is None:
            return False
        left.remove(match)
    return True


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return str(value.get("rrule") or value.get("value") or value.get("start"))
    try:
        return str(Decimal(str(value)).normalize())
    except InvalidOperation:
        return str(value)


def _same_decimal(expected: Any, given: Any) -> bool:
    try:
        return Decimal(str(expected)) == Decimal(str(given))
    except InvalidOperation:
        return False

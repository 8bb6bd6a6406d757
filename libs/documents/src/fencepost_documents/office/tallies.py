"""How a document's records add up by each of their few groups: small enough to go where the records don't.

A composer that is given sixty records of three hundred can't add up the rest; what is here was counted over
all of them, exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from fencepost_documents.ir import Record, RecordSet
from fencepost_documents.numbers import is_measure, number_of

from .clean import clean_line
from .counting import day_of
from .wish import MONTH

MOST_GROUPS: Final = 24
MOST_FIELDS: Final = 4
MOST_MEASURES: Final = 3
_LONGEST: Final = 60  # characters of a group's name


@dataclass(slots=True)
class Tally:
    """Of one group. sums and numbers: by measure, of the records that have one."""

    count: int = 0
    sums: dict[str, Decimal] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)

    def add(self, count: int, sums: Mapping[str, tuple[Decimal, int]]) -> None:
        self.count += count
        for measure, (total, numbers) in sums.items():
            self.sums[measure] = self.sums.get(measure, Decimal(0)) + total
            self.numbers[measure] = self.numbers.get(measure, 0) + numbers


def group_of(record: Record, by: str) -> str:
    """The record's group under a field or MONTH, '' for none."""
    if by == MONTH:
        return day_of(record.fields.get("time", ""))[:7]
    return clean_line(record.fields.get(by, ""))[:_LONGEST]


def tally(records: RecordSet, by: str, measures: Sequence[str]) -> dict[str, Tally]:
    """By group, as they come; '' holds the records of none."""
    found: dict[str, Tally] = {}
    for record in records.records:
        values = {one: number_of(record.fields.get(one, "")) for one in measures}
        sums = {one: (value[0], 1) for one, value in values.items() if value is not None}
        found.setdefault(group_of(record, by), Tally()).add(1, sums)
    return found


def tallies_of(records: RecordSet) -> list[dict[str, Any]]:
    """As a tool's result holds them: {by, groups: [[name, count, {measure: [sum, numbers]}]]} for each field
    that makes 2 to MOST_GROUPS groups. A field of long values is told, not counted by.
    """
    measures = [one for one in records.fields if is_measure(records, one)][:MOST_MEASURES]
    others = [one for one in records.fields if one not in (*measures, "time") and _is_short(records, one)]
    kept: list[dict[str, Any]] = []
    for by in [*([MONTH] if "time" in records.fields else ()), *others]:
        found = tally(records, by, measures)
        if 2 <= len(found.keys() - {""}) <= MOST_GROUPS and len(kept) < MOST_FIELDS:
            kept.append({"by": by, "groups": [list(one) for one in _plain(found)]})
    return kept


def _is_short(records: RecordSet, name: str) -> bool:
    return all(len(record.fields.get(name, "")) <= _LONGEST for record in records.records)


def _plain(found: Mapping[str, Tally]) -> Iterator[tuple[str, int, dict[str, list[Any]]]]:
    for name, one in found.items():
        yield name, one.count, {m: [format(total, "f"), one.numbers[m]] for m, total in one.sums.items()}


def stored_tally(documents: Sequence[Sequence[Mapping[str, Any]]], by: str) -> dict[str, Tally] | None:
    """The groups under `by` of all documents' tallies together; None where one of them has no such tally."""
    whole: dict[str, Tally] = {}
    for tallies in documents:
        kept = next((one for one in tallies if one["by"] == by), None)
        if kept is None:
            return None
        for name, count, sums in kept["groups"]:
            given = {m: (Decimal(total), int(numbers)) for m, (total, numbers) in sums.items()}
            whole.setdefault(str(name), Tally()).add(int(count), given)
    return whole or None

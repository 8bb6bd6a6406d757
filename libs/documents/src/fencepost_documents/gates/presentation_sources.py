"""Whether every row can be traced to a source that was really read, and no record is lost or changed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from fencepost_domain.gates import Violation

from fencepost_documents.ir import SCHEMA_VERSION, Record
from fencepost_documents.office.clean import squeeze
from fencepost_documents.office.outline import Outline, Row, Table

from .facts import Places, PresentationFacts
from .fields import is_time, meets
from .presentation_shape import tables

Place = tuple[str, str]  # artifact id, locator within it
_NAMED: Final = 20  # locators that a detail lists
_DIGITS: Final = re.compile(r"\d+")


def judge_sources(outline: Outline, facts: PresentationFacts) -> Iterator[Violation]:
    yield from _sources(outline, facts)
    places = Places(facts.sources)
    cited: dict[Place, str] = {}
    for pointer, table in tables(outline):
        seen: dict[str, str] = {}
        for at, row in enumerate(table.rows):
            here = f"{pointer}/rows/{at}"
            found = places.found(row.source_locator) if row.source_locator else []
            yield from _locator(here, row, found, facts)
            yield from _repeated(here, table, row, found, seen)
            if len(found) == 1:
                cited.setdefault(found[0], here)
    yield from _records(outline, facts, cited)


def _sources(outline: Outline, facts: PresentationFacts) -> Iterator[Violation]:
    bound, read = facts.contract.attachments, {one.artifact_id: one for one in facts.sources}
    for artifact in bound:
        if artifact not in read or read[artifact].schema_version != SCHEMA_VERSION:
            said = f"{artifact} was not read into {SCHEMA_VERSION}"
            yield Violation("source_ir_missing", "/sources", said, "extract it first (work.extract_document)")
        elif artifact not in outline.sources:
            yield Violation(
                "source_unused",
                "/sources",
                f"{artifact} is attached and not named",
                "use it, and name it here",
            )
    for at, artifact in enumerate(outline.sources):
        if artifact not in read and artifact not in bound:
            said = f"{artifact} is no attachment that was read"
            yield Violation("source_unknown", f"/sources/{at}", said, "name only what was attached")


def _locator(here: str, row: Row, found: Sequence[Place], facts: PresentationFacts) -> Iterator[Violation]:
    position = f"{here}/source_locator"
    if not row.source_locator:
        if facts.contract.full_coverage and facts.contract.attachments:
            said = "a row without its source, where everything was asked for"
            yield Violation("locator_missing", position, said, "give the record's `source_locator`")
    elif not found and facts.sources:
        yield Violation(
            "locator_unknown", position, f"{row.source_locator!r} is in no source", "copy it from the record"
        )
    elif len(found) > 1:
        yield Violation(
            "locator_ambiguous",
            position,
            f"{row.source_locator!r} is in {len(found)} sources",
            f"write `<artifact id>#{row.source_locator}`",
        )


def _repeated(
    here: str, table: Table, row: Row, found: Sequence[Place], seen: dict[str, str]
) -> Iterator[Violation]:
    """One place twice, or the same cells again without a place. Equal records of a source stay."""
    key = (
        f"at {found[0]}"
        if len(found) == 1
        else "as " + "|".join(squeeze(cell).casefold() for cell in row.cells)
    )
    words = "as " + "|".join(squeeze(cell).casefold() for cell in row.cells)
    first = seen.get(key) or (seen.get(words) if len(found) != 1 else None)
    if first is not None:
        said = f"the same entity as {first}"
        yield Violation("entity_repeated", here, said, "keep one of them; say in it what the other adds")
    seen.setdefault(key, here)
    seen.setdefault(words, here)


def _records(outline: Outline, facts: PresentationFacts, cited: Mapping[Place, str]) -> Iterator[Violation]:
    wanted = facts.contract.full_coverage and bool(facts.contract.attachments)
    if facts.records is None or (wanted and not facts.records):
        if wanted:
            said = "all was asked for, and no record was extracted"
            yield Violation(
                "record_set_missing", "", said, "extract the records first (work.extract_document)"
            )
        return
    by_place = {(one.artifact_id, one.source_locator): one for one in facts.records}
    lost = [place for place in by_place if place not in cited] if wanted else []
    if lost:
        named = ", ".join(place for _, place in lost[:_NAMED]) + (", ..." if len(lost) > _NAMED else "")
        said = f"{len(lost)} of {len(by_place)} records have no row: {named}"
        yield Violation("record_missing", "/slides", said, "give each of them a row with its source_locator")
    where = dict(_row_pointers(outline))
    for place, pointer in cited.items():
        if place in by_place:
            table, row = where[pointer]
            yield from _faithful(pointer, table, row, by_place[place])


def _row_pointers(outline: Outline) -> Iterator[tuple[str, tuple[Table, Row]]]:
    for pointer, table in tables(outline):
        for at, row in enumerate(table.rows):
            yield f"{pointer}/rows/{at}", (table, row)


def _faithful(here: str, table: Table, row: Row, record: Record) -> Iterator[Violation]:
    """The row is of this record, and its times say all that the source says."""
    values = [value for value in record.fields.values() if squeeze(value)]
    if values and not any(_shares(cell, value) for cell in row.cells for value in values):
        said = f"nothing of the row stands at {record.source_locator}"
        yield Violation(
            "record_mismatch", here, said, "take the cells from the record that the locator names"
        )
        return
    for name, value in record.fields.items():
        if not is_time(name):
            continue
        for column, cell in zip(table.columns, row.cells, strict=False):
            lost = _numbers(value) - _numbers(cell)
            if meets(column, name) and lost and not _other_time(column, name, record):
                said = f"the source says {value[:80]!r}, the cell {cell[:80]!r}"
                position = f"{here}/cells/{table.columns.index(column)}"
                yield Violation(
                    "time_incomplete", position, said, "give the whole time, as the source has it"
                )


def _other_time(column: str, name: str, record: Record) -> bool:
    """The column is that of another of the record's fields: `结束时间` isn't short of `开始时间`."""
    exact = [field for field in record.fields if squeeze(field).casefold() == squeeze(column).casefold()]
    return bool(exact) and name not in exact


def _numbers(text: str) -> set[int]:
    return {int(digits) for digits in _DIGITS.findall(text)}


def _shares(cell: str, value: str) -> bool:
    """They have words or numbers in common; a translation keeps the numbers."""
    have, want = squeeze(cell).casefold(), squeeze(value).casefold()
    if have and (have in want or want in have):
        return True
    if _numbers(cell) & _numbers(value):
        return True
    return any(have[at : at + 2] in want for at in range(len(have) - 1)) and not have.isascii()

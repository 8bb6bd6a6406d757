"""Whether every row can be traced to a source that was really read, and no record is lost or changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Final

from fencepost_domain.gates import Violation

from fencepost_documents.ir import SCHEMA_VERSION
from fencepost_documents.office.clean import squeeze
from fencepost_documents.office.outline import Outline, Row, Table

from .facts import Places, PresentationFacts
from .presentation_shape import tables
from .row_values import judge_row

Place = tuple[str, str]  # artifact id, locator within it
_NAMED: Final = 20  # locators that a detail lists


def judge_sources(outline: Outline, facts: PresentationFacts) -> Iterator[Violation]:
    yield from _sources(outline, facts)
    places = Places(facts.sources)
    cited: dict[Place, str] = {}
    meant: set[Place] = set()  # by ambiguous locators too: those are told as that, not as a loss
    for pointer, table in tables(outline):
        seen: dict[str, str] = {}
        for at, row in enumerate(table.rows):
            here = f"{pointer}/rows/{at}"
            found = places.found(row.source_locator) if row.source_locator else []
            yield from _locator(here, row, found, facts)
            yield from _repeated(here, table, row, found, seen)
            if len(found) == 1:
                cited.setdefault(found[0], here)
            meant.update(found)
    yield from _records(outline, facts, cited, meant)


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


def _records(
    outline: Outline, facts: PresentationFacts, cited: Mapping[Place, str], meant: Set[Place]
) -> Iterator[Violation]:
    wanted = facts.contract.full_coverage and bool(facts.contract.attachments)
    if facts.records is None or (wanted and not facts.records):
        if wanted:
            said = "all was asked for, and no record was extracted"
            yield Violation(
                "record_set_missing", "", said, "extract the records first (work.extract_document)"
            )
        return
    by_place = {(one.artifact_id, one.source_locator): one for one in facts.records}
    lost = [place for place in by_place if place not in meant] if wanted else []
    if lost:
        named = ", ".join(place for _, place in lost[:_NAMED]) + (", ..." if len(lost) > _NAMED else "")
        said = f"{len(lost)} of {len(by_place)} records have no row: {named}"
        yield Violation("record_missing", "/slides", said, "give each of them a row with its source_locator")
    where = dict(_row_pointers(outline))
    for place, pointer in cited.items():
        if place in by_place:
            table, row = where[pointer]
            yield from judge_row(pointer, table, row, by_place[place])


def _row_pointers(outline: Outline) -> Iterator[tuple[str, tuple[Table, Row]]]:
    for pointer, table in tables(outline):
        for at, row in enumerate(table.rows):
            yield f"{pointer}/rows/{at}", (table, row)

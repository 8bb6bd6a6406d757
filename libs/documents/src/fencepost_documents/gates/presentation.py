"""Gate `presentation-arguments-v1`: whether a presentation may be made at all, before any file is.

Everything it says is code, position and fix, so that the composer can mend what is wrong. Pure: the same
arguments and facts give the same result, on any machine and after any crash.

| code | means |
|---|---|
| `arguments_invalid` | not an outline: a field of another shape, missing or unknown |
| `language_wrong` | another language than the contract's |
| `title_blank`, `slide_without_content` | a slide that says nothing |
| `table_missing`, `chart_missing` | asked for, and not there with real rows or values |
| `field_missing` | a field the user named has no column |
| `page_count` | more or fewer pages than were asked for |
| `cells_mismatch`, `columns_repeated`, `chart_mismatch` | a table or chart that contradicts itself |
| `entity_repeated` | one source entity twice |
| `cell_empty`, `cell_punctuation`, `cell_separators` | a cell without words |
| `untranslated` | weekdays, names or runs in another language than the outline's |
| `production_note` | a note for the maker where the audience reads |
| `source_ir_missing`, `source_unknown`, `source_unused` | sources not read, not there, not named |
| `locator_missing`, `locator_unknown`, `locator_ambiguous` | a row that can't be traced |
| `record_set_missing`, `record_missing`, `record_mismatch` | records not extracted, left out, changed |
| `time_incomplete` | a time that says less than its source |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from fencepost_domain.gates import GateResult, Violation, verdict
from pydantic import ValidationError

from fencepost_documents.office.outline import Outline

from .facts import PresentationFacts
from .presentation_shape import judge_shape
from .presentation_sources import judge_sources
from .presentation_words import judge_words

GATE: Final = "presentation-arguments-v1"
CODES: Final = (
    "arguments_invalid", "language_wrong", "title_blank", "slide_without_content", "table_missing",
    "chart_missing", "field_missing", "page_count", "cells_mismatch", "columns_repeated", "chart_mismatch",
    "entity_repeated", "cell_empty", "cell_punctuation", "cell_separators", "untranslated",
    "production_note", "source_ir_missing", "source_unknown", "source_unused", "locator_missing",
    "locator_unknown", "locator_ambiguous", "record_set_missing", "record_missing", "record_mismatch",
    "time_incomplete",
)  # fmt: skip
MOST: Final = (
    60  # violations told at once; a rewriter reads no more, and the rest follows from the next round
)


def judge(subject: Mapping[str, Any], facts: PresentationFacts) -> GateResult:
    """subject: the tool's arguments as the model gave them. Violations in a fixed order, at most MOST."""
    try:
        outline = Outline.model_validate(subject)
    except ValidationError as error:
        return verdict(GATE, list(_invalid(error))[:MOST])
    found = [*judge_shape(outline, facts), *judge_sources(outline, facts), *judge_words(outline, facts)]
    return verdict(GATE, _fairly(found))


def _invalid(error: ValidationError) -> Iterator[Violation]:
    for one in error.errors(include_url=False, include_input=False, include_context=False):
        position = "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in one["loc"])
        yield Violation(
            "arguments_invalid", position, one["msg"], "give what the tool's schema asks for here"
        )


def _fairly(found: list[Violation]) -> list[Violation]:
    """All codes are told even when one of them has a thousand places."""
    if len(found) <= MOST:
        return found
    codes = list(dict.fromkeys(one.code for one in found))
    each = max(MOST // len(codes), 1)
    taken: dict[str, int] = dict.fromkeys(codes, 0)
    kept = []
    for one in found:
        taken[one.code] += 1
        if taken[one.code] <= each:
            kept.append(one)
    return kept

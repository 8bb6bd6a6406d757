"""Records of a document: its table rows, labelled lines and list items as fields. Deterministic, no model.

Coverage counts every unit that looks like a record, and names each that became none: a total that says
"all 300 rows" must be provable, so nothing is dropped in silence. Headers, headings and sums of a table
are no records and count for nothing; a page that couldn't be read may hold some and counts as left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from fencepost_documents.fields import canonical, field_name, is_total, labelled
from fencepost_documents.ir import Coverage, Record, RecordSet, SourceDocument, Unit

ITEM: Final = "item"  # the field of a list item that labels nothing
LABELS_AT_LEAST: Final = 2  # labelled lines together are a record; one alone may be a remark
UNREAD: Final = frozenset({"page_without_text", "page_unreadable", "characters_unmapped", "truncated"})
_INLINE: Final = ("；", ";", "\n", "，", ",")


def extract_records(document: SourceDocument, wanted: Sequence[str] = ()) -> RecordSet:
    """All records in the order of the document.

    wanted: canonical fields (or headers' own words) a record must have some of; a row without any of them
    is left out, and named.
    """
    records: list[Record] = []
    left_out: list[str] = []
    total = 0
    for unit, found in _candidates(document.units):
        total += len(unit)
        fields = {name: value for name, value in found.items() if value}
        if fields and (not wanted or any(name in fields for name in wanted)):
            locator = unit[0].locator
            records.append(Record(source_locator=locator, artifact_id=document.artifact_id, fields=fields))
        else:
            left_out += [each.locator for each in unit]
    unread = [problem.locator or document.name for problem in document.problems if problem.code in UNREAD]
    return _set(records, total + len(unread), left_out + unread)


def headings_of(document: SourceDocument) -> dict[str, str]:
    """How the document heads each field of its tables, where that isn't the field's own name."""
    found: dict[str, str] = {}
    for unit in document.units:
        for header in unit.columns or ():
            found.setdefault(field_name(header), " ".join(header.split()))
    return {name: header for name, header in found.items() if name != header}


def join_sets(sets: Iterable[tuple[str, RecordSet]], unread: Sequence[str] = ()) -> RecordSet:
    """Several documents' records as one set, in the given order; coverage of all of them together.

    sets: each with its document's name, which stands ahead of what it left out when there are several.
    unread: names of documents that weren't read at all; each counts as one that was left out.
    """
    given = list(sets)
    alone = len(given) + len(unread) == 1
    left_out = [
        locator if alone else f"{name} {locator}" for name, one in given for locator in one.coverage.left_out
    ]
    return _set(
        [record for _, one in given for record in one.records],
        sum(one.coverage.units_total for _, one in given) + len(unread),
        [*left_out, *unread],
    )


def _set(records: list[Record], total: int, left_out: list[str]) -> RecordSet:
    used = total - len(left_out)
    names = dict.fromkeys(name for record in records for name in record.fields)
    coverage = Coverage(
        units_total=total, units_used=used, ratio=used / total if total else 1.0, left_out=tuple(left_out)
    )
    return RecordSet(records=tuple(records), fields=tuple(names), coverage=coverage)


def _candidates(units: Sequence[Unit]) -> Iterator[tuple[list[Unit], Mapping[str, str]]]:
    """What looks like a record: the units it stands in, and its fields ({} where none can be told)."""
    at = 0
    while at < len(units):
        unit = units[at]
        if unit.kind == "table_row":
            if (one := _row(unit, units, at)) is not None:
                yield [unit], one
            at += 1
            continue
        group = _labelled_group(units, at)
        if group:
            taken, fields = group
            yield taken, fields
            at += len(taken)
            continue
        if unit.kind == "list_item" and not _introduces(unit):
            yield [unit], _item(unit)
        at += 1


def _row(unit: Unit, units: Sequence[Unit], at: int) -> Mapping[str, str] | None:
    """Fields of a row under a header; {} for a row whose columns nobody named; None for what is no record."""
    if unit.columns:
        cells = list(unit.columns.values())
        return None if is_total(cells) else _named(unit.columns)
    following = units[at + 1] if at + 1 < len(units) else None
    heads = following is not None and following.kind == "table_row" and following.columns is not None
    if heads or is_total(unit.text.split(" | ")) or " | " not in unit.text:
        return None  # the header itself, a sum, a section's title
    return _pair(unit)


def _pair(unit: Unit) -> Mapping[str, str]:
    """A form's row, `姓名 | 张三`: label and value side by side."""
    cells = unit.text.split(" | ")
    pairs = list(zip(cells[0::2], cells[1::2], strict=False))
    if len(cells) % 2 == 0 and all(canonical(label) for label, _ in pairs):
        return _named(dict(pairs))
    return {}


def _named(columns: Mapping[str, str]) -> dict[str, str]:
    """Canonical names; where two columns mean one field the first keeps it, the other its own words."""
    fields: dict[str, str] = {}
    for header, value in columns.items():
        name = field_name(header)
        fields[name if name not in fields else " ".join(header.split())] = value
    return fields


def _labelled_group(units: Sequence[Unit], at: int) -> tuple[list[Unit], dict[str, str]] | None:
    """Labelled lines that stand together: `名称：…`, `时间：…`, until a label comes again or prose follows.

    A heading right above lends its text as the name, where the lines give none.
    """
    taken: list[Unit] = []
    fields: dict[str, str] = {}
    for unit in units[at:]:
        pairs = _pairs(unit)
        if not pairs or any(field_name(label) in fields for label, _ in pairs):
            break
        fields |= {field_name(label): value for label, value in pairs}
        taken.append(unit)
    known = sum(canonical(name) is not None or name in _KNOWN for name in fields)
    if len(fields) < LABELS_AT_LEAST or not known:
        return None
    if "name" not in fields and at and units[at - 1].kind in ("heading", "slide_title"):
        fields = {"name": units[at - 1].text, **fields}
    return taken, fields


_KNOWN: Final = frozenset(
    {"name", "time", "end_time", "place", "amount", "quantity", "person", "organization"}
)


def _pairs(unit: Unit) -> list[tuple[str, str]]:
    """Label and value of each line of a unit; [] unless every line has them."""
    if unit.kind not in ("paragraph", "list_item", "slide_text"):
        return []
    whole = _split(unit.text)
    pairs = [labelled(line) for line in whole]
    return [pair for pair in pairs if pair and pair[1]] if all(pair and pair[1] for pair in pairs) else []


def _split(text: str) -> list[str]:
    """`名称：A；时间：B` is two lines in one; a comma parts only where each part has a label of its own."""
    for mark in _INLINE:
        parts = [part for part in text.split(mark) if part.strip()]
        if len(parts) > 1 and all(labelled(part) for part in parts):
            return parts
    return [line for line in text.split("\n") if line.strip()]


def _item(unit: Unit) -> Mapping[str, str]:
    pairs = _pairs(unit)
    if pairs and canonical(pairs[0][0]):
        return {field_name(label): value for label, value in pairs}
    return {ITEM: unit.text}


def _introduces(unit: Unit) -> bool:
    """`以下事项：` heads a list; it is no item of it."""
    return unit.text.endswith(("：", ":"))

"""What a request wants added up or drawn: "a bar chart of revenue by region", 按地区统计销售额, 各月订单数.

Read against the fields that the records really have; words that name none of them wish for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from fencepost_documents.fields import SYNONYMS, folded, shown, without_unit
from fencepost_documents.ir import RecordSet
from fencepost_documents.numbers import is_measure

ChartKind = Literal["bar", "column", "line", "pie"]
MONTH: Final = "month"
YEAR: Final = "year"
_KINDS: Final[tuple[tuple[ChartKind, re.Pattern[str]], ...]] = (
    ("line", re.compile(r"折线|趋势图|曲线图|\bline (?:chart|graph|plot)\b|\btrend (?:chart|line|graph)\b")),
    ("pie", re.compile(r"饼图|饼状|圆饼|环形图|\bpie\b|\bdonut\b|\bdoughnut\b")),
    ("bar", re.compile(r"条形图|横向柱|\bhorizontal bars?\b")),
)
_CHART: Final = r"图|\b(?:charts?|graphs?|plots?|diagrams?)\b"
_AVERAGE: Final = re.compile(r"平均|均值|\b(?:average|mean|avg)\b")
_SUMS: Final = re.compile(
    r"合计|总计|总和|总额|总量|总数|汇总|统计|平均|均值|\b(?:totals?|sums?|average|mean|aggregate[ds]?|breakdown)\b"
)
_BY_EN: Final = (
    r"\b(?:by|per|for each|for every|in each|across|grouped by|split by|broken down by) (?:the |each )?"
)
_BY_ZH: Final = r"(?:按照?|分|各个?|每个?|依)(?:不同的?)?\s*"
_ORDERED: Final = re.compile(r"\b(?:sort(?:ed)?|order(?:ed)?|arranged?|ranked?)(?:\s+\w+){0,3}\s*$")
_ORDER_AFTER: Final = re.compile(r"\s*(?:先后|升序|降序|从|由)?\s*(?:顺序|次序|排序|排列|排)")
_MOST_GROUPS: Final = 12
_PERIODS: Final = {MONTH: ("month", "月份", "月"), YEAR: ("year", "年份", "年度", "年")}


@dataclass(frozen=True, slots=True)
class Wish:
    """measure: the field to add up, None to count records. by: a field, MONTH or YEAR. kind: of the chart."""

    measure: str | None
    by: str
    average: bool = False
    kind: ChartKind = "column"


def wish_of(asked: str, records: RecordSet, labels: Mapping[str, str] | None = None) -> Wish | None:
    """What the request's words want of these records; None where they don't say what or by what.

    labels: how the document heads its fields, where that isn't the field's own name.
    """
    text = folded(asked)
    names = _names(records, labels or {})
    by, draws = _grouped_by(text, names, records), bool(re.search(_CHART, text))
    measures = [field for field in _mentioned(text, names) if field != by and is_measure(records, field)]
    if by is None and draws and measures:
        by = _telling(records)
    if by is None or not (measures or draws or _SUMS.search(text)):
        return None
    average = bool(measures and _AVERAGE.search(text))
    kind: ChartKind = next((one for one, rule in _KINDS if rule.search(text)), "column")
    return Wish(measures[0] if measures else None, by, average, kind)


def group_field(wish: Wish) -> str:
    """By what records are tallied for it: years are months together."""
    return MONTH if wish.by == YEAR else wish.by


def usual_wish(records: RecordSet) -> Wish | None:
    """What is worth a picture where nobody said of what: the first measure by the first few groups."""
    by = _telling(records)
    measure = next((field for field in records.fields if is_measure(records, field)), None)
    return Wish(measure, by) if by else None


def _telling(records: RecordSet) -> str | None:
    """The first field of words that makes a few groups, or labels few records; else the months."""
    for field in records.fields:
        values = {value for record in records.records if (value := record.fields.get(field))}
        if 2 <= len(values) <= _MOST_GROUPS and field != "time" and not is_measure(records, field):
            return field
    return MONTH if "time" in records.fields else None


def _names(records: RecordSet, labels: Mapping[str, str]) -> list[tuple[str, str]]:
    """What a field may be called, the longest first, with the field."""
    found: dict[str, str] = {}
    for field in records.fields:  # what the document itself calls it, ahead of what others might
        for name in (field, labels.get(field, field)):
            found.setdefault(without_unit(name), field)
    for field in records.fields:
        for name in (*SYNONYMS.get(field, ()), shown(field, "zh"), shown(field, "en")):
            found.setdefault(folded(name), field)
    return sorted(((name, field) for name, field in found.items() if name), key=lambda one: -len(one[0]))


def _pattern(name: str) -> str:
    """A field's name in running words; an English one whole, and in the plural."""
    plain = re.escape(name).replace(r"\ ", r"\s+")
    return rf"\b{plain}(?:s|es)?\b" if name.isascii() and name[-1:].isalnum() else plain


def _grouped_by(text: str, names: list[tuple[str, str]], records: RecordSet) -> str | None:
    """The field that stands where `by` does, unless the records are only to be put in its order."""
    several = [(name, field) for name, field in names if not is_measure(records, field)]
    for name, field in [*several, *_periods(records)]:
        cue = _BY_EN if name.isascii() else _BY_ZH
        for found in re.finditer(f"(?:{cue}){_pattern(name)}", text):
            is_order = _ORDERED.search(text, 0, found.start()) or _ORDER_AFTER.match(text, found.end())
            if not is_order:
                return field
    return None


def _periods(records: RecordSet) -> Iterator[tuple[str, str]]:
    if "time" in records.fields:
        yield from ((name, period) for period, names in _PERIODS.items() for name in names)


def _mentioned(text: str, names: list[tuple[str, str]]) -> list[str]:
    """Fields that the words name, in order; a longer name hides the shorter one within it."""
    at: dict[str, int] = {}
    rest = text
    for name, field in names:
        for found in re.finditer(_pattern(name), rest):
            at[field] = min(at.get(field, found.start()), found.start())
            rest = rest[: found.start()] + "\0" * (found.end() - found.start()) + rest[found.end() :]
    return sorted(at, key=at.__getitem__)

"""Records by groups, as a request wants them: how many, how much together, how much on average."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from fencepost_documents.ir import RecordSet
from fencepost_documents.numbers import currency_of, shown_number

from .outline import Chart, Language, Row, Series, Table
from .tallies import Tally, tally
from .wish import MONTH, YEAR, Wish, group_field
from .wording import MISSING, cell_text, pick

_MOST_BARS: Final = 24
_MOST_SAID: Final = 12


@dataclass(frozen=True, slots=True)
class Totals:
    """title: what was added up, by what. groups: name and value; months and years in order, else as they
    come. without: records whose value is no number, or that belong to no group.
    """

    wish: Wish
    measure: str
    by: str
    groups: tuple[tuple[str, Decimal], ...]
    without: int
    language: Language

    @property
    def title(self) -> str:
        if self.wish.measure is None:
            return pick(self.language, f"各{self.by}记录数", f"Records by {self.by}")
        if self.wish.average:
            return pick(
                self.language, f"各{self.by}平均{self.measure}", f"Average {self.measure} by {self.by}"
            )
        return pick(self.language, f"各{self.by}{self.measure}合计", f"Total {self.measure} by {self.by}")


def totals_of(
    records: RecordSet,
    wish: Wish,
    language: Language,
    headings: Mapping[str, str],
    counted: Mapping[str, Tally] | None = None,
) -> Totals | None:
    """headings: fields as the file names them. counted: of more records than these, by the wish's groups; of
    these themselves where absent. None where nothing can be added up.
    """
    found = counted or tally(records, group_field(wish), _measures(wish))
    sums: dict[str, tuple[Decimal, int]] = {}
    without = 0
    for name, one in found.items():
        group = _named(name[:4] if wish.by == YEAR else name, language)
        total, numbers = _part_of(one, wish.measure)
        without += one.count - numbers if group else one.count
        if group and numbers:
            before = sums.get(group, (Decimal(0), 0))
            sums[group] = (before[0] + total, before[1] + numbers)
    if not sums:
        return None
    names = sorted(sums) if wish.by in (MONTH, YEAR) else list(sums)
    groups = tuple((name, sums[name][0] / (sums[name][1] if wish.average else 1)) for name in names)
    periods = {MONTH: pick(language, "月", "month"), YEAR: pick(language, "年", "year")}
    by = periods.get(wish.by) or headings.get(wish.by, wish.by)
    return Totals(wish, _measure(records, wish, headings), by, groups, without, language)


def _measures(wish: Wish) -> tuple[str, ...]:
    return (wish.measure,) if wish.measure else ()


def _part_of(one: Tally, measure: str | None) -> tuple[Decimal, int]:
    """What a group adds up to, and of how many records."""
    if measure is None:
        return Decimal(one.count), one.count
    return one.sums.get(measure, Decimal(0)), one.numbers.get(measure, 0)


def _named(group: str, language: Language) -> str:
    name = cell_text(group, language)
    return "" if name == MISSING[language] else name


def _measure(records: RecordSet, wish: Wish, headings: Mapping[str, str]) -> str:
    """Its heading, with the currency that its values name and the heading doesn't."""
    if wish.measure is None:
        return ""
    heading, currency = headings.get(wish.measure, wish.measure), currency_of(records, wish.measure)
    return f"{heading} ({currency})" if currency and not heading.endswith((")", "）")) else heading


def said(totals: Totals) -> Iterator[str]:
    """Bullets for who reads nothing else."""
    shown = [f"{name} {shown_number(value)}" for name, value in totals.groups[:_MOST_SAID]]
    more = len(totals.groups) - len(shown)
    if more:
        shown.append(pick(totals.language, f"另有 {more} 组", f"{more} more"))
    mark = pick(totals.language, "：", ": ")
    yield f"{totals.title}{mark}{pick(totals.language, '、', '; ').join(shown)}"
    if totals.without:
        yield pick(
            totals.language,
            f"未计入 {totals.without} 条没有数值的记录",
            f"Left out of it: {totals.without} records without a number",
        )


def chart_of_totals(totals: Totals) -> Chart:
    """The groups as bars, a line or a pie; of very many the largest."""
    groups, title = list(totals.groups), totals.title
    if len(groups) > _MOST_BARS:
        groups = sorted(groups, key=lambda one: -one[1])[:_MOST_BARS]
        title = pick(totals.language, f"{title}（前 {_MOST_BARS}）", f"{title} ({_MOST_BARS} largest)")
    name = totals.measure or pick(totals.language, "记录数", "Records")
    series = Series(name=name, values=tuple(float(round(value, 2)) for _, value in groups))
    kind = totals.wish.kind
    if kind == "pie" and any(value < 0 for _, value in groups):
        kind = "column"  # a slice can't be negative
    return Chart(kind=kind, categories=tuple(name for name, _ in groups), series=(series,), title=title)


def table_of_totals(totals: Totals) -> Table:
    """Group and value. Its rows are of no one place: they are made of many records."""
    value = totals.title if totals.wish.measure is None else totals.measure
    rows = tuple(Row(cells=(name, _plain(number))) for name, number in totals.groups)
    return Table(columns=(totals.by, value), rows=rows)


def _plain(value: Decimal) -> str:
    return format(value.quantize(Decimal("0.01")).normalize(), "f")

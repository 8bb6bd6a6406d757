"""One batch's part of a file, without a model.

It holds the batch's rows; the first one the cover, what was added up and the chart, the last one the sources.
Joined in source order the parts are one file with every record once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fencepost_documents.ir import Coverage, Record, RecordSet
from fencepost_documents.office.counting import counted_en
from fencepost_documents.office.from_records import (
    Words,
    default_title,
    named_fields,
    pick_columns,
    tables_of_records,
)
from fencepost_documents.office.outline import Language
from fencepost_documents.office.tallies import stored_tally
from fencepost_documents.office.totals import Totals, chart_of_totals, said, table_of_totals, totals_of
from fencepost_documents.office.wish import Wish, group_field, usual_wish
from fencepost_documents.office.wording import pick
from fencepost_domain.task_contract import TaskContract


def plain(made: Any) -> dict[str, Any]:
    """JSON without what is left out: a tool's schema knows no nulls where nothing was meant."""
    return dict(made.model_dump(mode="json", exclude_none=True, exclude_defaults=False))


@dataclass(frozen=True, slots=True)
class Batch:
    """The `index`th part of `of`. found: its records; documents: all that were read, and what was counted in
    them by artifact, as the tool told."""

    index: int
    of: int
    found: RecordSet
    documents: Sequence[Mapping[str, Any]]
    counted: Mapping[str, Mapping[str, Any]]
    coverage: Coverage
    contract: TaskContract
    language: Language
    words: Words

    def arguments(self, tool: str) -> dict[str, Any]:
        """Of a `work.create_*` tool."""
        sources = list(self.contract.attachments or self._sources())
        base = {"title": self._title(), "language": self.language, "sources": sources}
        match tool:
            case "work.create_workbook":
                return {**base, "sheets": self._sheets()}
            case "work.create_document":
                return {**base, "sections": self._sections()}
            case _:
                return {**base, "slides": self._slides()}

    @property
    def _is_first(self) -> bool:
        return self.index == 0

    @property
    def _is_last(self) -> bool:
        return self.index == self.of - 1

    def _slides(self) -> list[dict[str, Any]]:
        counted, listed = self._counted(), pick(self.language, "记录一览", "All records")
        slides: list[dict[str, Any]] = [
            {"title": listed, "kind": "table", "table": table} for table in self._tables()
        ]
        if self._is_first:
            chart = [{"kind": "chart", **one} for one in self._chart()]
            overview = {"title": self._overview(), "kind": "bullets", "bullets": self._points()}
            cover = {"title": self._title(), "kind": "title", "bullets": counted[:1]}
            slides = [cover, overview, *chart, *slides]
        if self._is_last:
            slides.append({"title": self._end(), "kind": "closing", "bullets": self._closing()})
        return slides

    def _sections(self) -> list[dict[str, Any]]:
        listed = pick(self.language, "记录一览", "All records")
        sections: list[dict[str, Any]] = [{"title": listed, "table": table} for table in self._tables()]
        if self._is_first:
            sections = [{"title": self._overview(), "bullets": self._points()}, *self._chart(), *sections]
        if self._is_last:
            sections.append({"title": self._end(), "bullets": self._closing()})
        return sections

    def _sheets(self) -> list[dict[str, Any]]:
        listed = f"{pick(self.language, '记录', 'Records')} {self.index + 1}"
        sheets = [{"name": listed, "table": table} for table in self._tables()]
        if self._is_first and sheets:
            for one in self._chart():
                sheets[0]["chart"] = one["chart"]
        if self._is_last and self._wish() and (totals := self._totals()):
            sheets.append({"name": totals.title, "table": plain(table_of_totals(totals))})
        return sheets

    def _title(self) -> str:
        """It names all sources: a record of each stands for it."""
        stand_ins = tuple(Record(source_locator="-", artifact_id=one, fields={}) for one in self._sources())
        whole = RecordSet(records=stand_ins, fields=self.found.fields, coverage=self.coverage)
        names = {str(one["artifact_id"]): str(one.get("name", "")) for one in self.documents}
        return default_title(whole, self.contract, self.language, names)

    def _sources(self) -> list[str]:
        return [str(one["artifact_id"]) for one in self._with_records()]

    def _with_records(self) -> list[Mapping[str, Any]]:
        return [one for one in self.documents if one.get("records")]

    def _tables(self) -> list[dict[str, Any]]:
        columns = pick_columns(self.found, self.contract, self.language, self.words.headings)
        tables = tables_of_records(self.found, columns, self.language)
        return [self._placed(plain(table)) for table in tables if table.rows]

    def _placed(self, table: dict[str, Any]) -> dict[str, Any]:
        """Rows of a batch have one source; among several their place names it."""
        sources = {record.artifact_id for record in self.found.records}
        if len(self._sources()) == 1 or len(sources) > 1:
            return table
        of = next(iter(sources))
        return {
            **table,
            "rows": [{**row, "source_locator": f"{of}#{row['source_locator']}"} for row in table["rows"]],
        }

    def _wish(self) -> Wish | None:
        return self.words.wish(self.found)

    def _totals(self) -> Totals | None:
        """Of all records, as they were counted when they were read; this batch's tell what is what."""
        wish = self._wish() or usual_wish(self.found)
        if wish is None:
            return None
        tallies = [self.counted.get(one, {}).get("tallies", ()) for one in self._sources()]
        counted = stored_tally(tallies, group_field(wish))
        if counted is None:
            return None
        headings = named_fields(self.found, self.contract, self.language, self.words.headings)
        return totals_of(self.found, wish, self.language, headings, counted)

    def _chart(self) -> list[dict[str, Any]]:
        """Where pictures are asked for: what was added up, else how many records each source has."""
        if not self.contract.pictures or not self._with_records():
            return []
        if totals := self._totals():
            return [{"title": totals.title, "chart": plain(chart_of_totals(totals))}]
        values = [float(one["records"]) for one in self._with_records()]
        series = {"name": pick(self.language, "记录数", "Records"), "values": values}
        names = [str(one.get("name", ""))[:60] for one in self._with_records()]
        chart = {"kind": "column", "categories": names, "series": [series]}
        return [{"title": pick(self.language, "数量分布", "Distribution"), "chart": chart}]

    def _points(self) -> list[str]:
        totals = self._totals() if self._wish() else None
        return [*self._counted(), *(said(totals) if totals else ())]

    def _counted(self) -> list[str]:
        """How many records there are, of which source."""
        total = sum(int(one["records"]) for one in self._with_records())
        return [pick(self.language, f"共 {total} 条记录", counted_en(total, "record")), *self._by_source()]

    def _by_source(self) -> list[str]:
        return [
            pick(
                self.language,
                f"{one.get('name', '')}：{one['records']} 条",
                f"{one.get('name', '')}: {one['records']}",
            )
            for one in self._with_records()
        ]

    def _closing(self) -> list[str]:
        used, total = self.coverage.units_used, self.coverage.units_total
        covered = pick(
            self.language, f"来源覆盖：{used} / {total} 项", f"Sources covered: {used} of {total} items"
        )
        return [*self._by_source(), covered]

    def _overview(self) -> str:
        return pick(self.language, "概览", "Overview")

    def _end(self) -> str:
        return pick(self.language, "来源", "Sources")

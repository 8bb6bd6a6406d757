"""Outlines, records and facts that the tests of writers and gates start from; each is right until changed."""

from __future__ import annotations

from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

from fencepost_documents.gates.facts import PresentationFacts, SourceFacts
from fencepost_documents.ir import Coverage, Record, RecordSet
from fencepost_documents.office.outline import Outline, Row, Slide, Table
from fencepost_domain.task_contract import TaskContract

AT = datetime(2026, 11, 30, 8, tzinfo=UTC)
SOURCE = "0190b000-0000-7000-8000-00000000aaaa"
OTHER = "0190b000-0000-7000-8000-00000000bbbb"
ITEMS = (
    ("年度工作会议", "2026-01-15 09:00", "北京会议中心"),
    ("数据治理研讨会", "2026-03-02 14:30", "上海展览馆"),
    ("技术开放日", "2026-05-20 10:00", "深圳湾"),
)


def records(items: Any = ITEMS, artifact: str = SOURCE) -> RecordSet:
    found = tuple(
        Record(
            source_locator=f"Sheet1!{at}",
            artifact_id=artifact,
            fields=dict(zip(("name", "time", "place"), item, strict=True)),
        )
        for at, item in enumerate(items, 2)
    )
    cover = Coverage(units_total=len(found), units_used=len(found), ratio=1.0)
    return RecordSet(records=found, fields=("name", "time", "place"), coverage=cover)


def contract(**more: Any) -> TaskContract:
    values: dict[str, Any] = {
        "file_kinds": ("pptx",),
        "full_coverage": True,
        "attachments": (SOURCE,),
        "language": "zh-CN",
        "required_fields": ("名称", "时间", "地点"),
        "tables": True,
    }
    return TaskContract(**{**values, **more})


def facts(**more: Any) -> PresentationFacts:
    found = more.pop("records", records())
    source = SourceFacts(
        artifact_id=SOURCE, locators=frozenset(f"Sheet1!{at}" for at in range(1, 2 + len(ITEMS)))
    )
    return PresentationFacts(
        contract=contract(**more.pop("contract", {})),
        sources=more.pop("sources", (source,)),
        records=found.records if found is not None else None,
    )


def arguments() -> dict[str, Any]:
    """A deck without a fault, as a model would give it."""
    rows = [{"cells": list(item), "source_locator": f"Sheet1!{at}"} for at, item in enumerate(ITEMS, 2)]
    return deepcopy(
        {
            "title": "2026 年活动汇总",
            "language": "zh",
            "sources": [SOURCE],
            "slides": [
                {"title": "2026 年活动汇总", "kind": "title", "bullets": ["共 3 项活动"]},
                {
                    "title": "概览",
                    "kind": "bullets",
                    "bullets": ["活动分布在北京、上海和深圳", "时间为一月至五月"],
                },
                {
                    "title": "活动一览",
                    "kind": "table",
                    "table": {"columns": ["名称", "时间", "地点"], "rows": rows},
                    "notes": "TODO 讲解各项活动",
                },
                {
                    "title": "各地数量",
                    "kind": "chart",
                    "chart": {
                        "kind": "column",
                        "categories": ["北京", "上海", "深圳"],
                        "series": [{"name": "活动数", "values": [1, 1, 1]}],
                    },
                },
                {"title": "谢谢", "kind": "closing", "bullets": ["数据来自《活动清单》"]},
            ],
        }
    )


def table_deck(columns: Any, rows: Any, language: Any = "zh", **more: Any) -> Outline:
    table = Table(columns=tuple(columns), rows=tuple(Row(cells=tuple(cells)) for cells in rows))
    slide = Slide(title=more.pop("title", "一览"), kind="table", table=table, **more)
    return Outline(title="一览", language=language, slides=(slide,))

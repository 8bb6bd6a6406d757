"""Decks with one fault each, and decks that look like one and have none."""

from collections.abc import Callable
from typing import Any

from fencepost_documents.gates.facts import SourceFacts

from tests.unit.documents.office.outlines import ITEMS, OTHER, SOURCE, arguments, facts, records

ROWS = "/slides/2/table/rows"


def deck(change: Callable[[Any], None]) -> Any:
    changed = arguments()
    change(changed)
    return changed


def cell(value: str, column: int = 2) -> Any:
    return deck(lambda it: it["slides"][2]["table"]["rows"][1]["cells"].__setitem__(column, value))


def bullet(value: str) -> Any:
    return deck(lambda it: it["slides"][1]["bullets"].__setitem__(1, value))


def row(change: Any) -> Any:
    return deck(lambda it: it["slides"][2]["table"]["rows"][1].update(change))


def slide(index: int, change: Any) -> Any:
    return deck(lambda it: it["slides"][index].update(change))


def without_columns(*names: int) -> Any:
    def change(it: Any) -> None:
        table = it["slides"][2]["table"]
        keep = [at for at in range(3) if at not in names]
        table["columns"] = [table["columns"][at] for at in keep]
        for one in table["rows"]:
            one["cells"] = [one["cells"][at] for at in keep]

    return deck(change)


BAD: list[tuple[str, str, Any, Any]] = [
    ("arguments_invalid", "/language", deck(lambda it: it.update(language="fr")), facts()),
    ("arguments_invalid", "/slides/0/color", slide(0, {"color": "red"}), facts()),
    ("arguments_invalid", "/slides/1/bullets/0", slide(1, {"bullets": [7]}), facts()),
    ("arguments_invalid", "/slides", deck(lambda it: it.pop("slides")), facts()),
    ("language_wrong", "/language", arguments(), facts(contract={"language": "en-GB"})),
    ("title_blank", "/slides/1/title", slide(1, {"title": " \u2028 "}), facts()),
    ("slide_without_content", "/slides/1/bullets", slide(1, {"bullets": []}), facts()),
    ("slide_without_content", "/slides/3/chart", slide(3, {"chart": None, "bullets": ["有"]}), facts()),
    ("slide_without_content", "/slides/1/table", slide(1, {"kind": "table"}), facts()),
    (
        "table_missing",
        "/slides",
        slide(2, {"kind": "bullets", "table": None, "bullets": ["有"]}),
        facts(contract={"required_fields": (), "full_coverage": False}),
    ),
    (
        "field_missing",
        "/slides",
        slide(2, {"kind": "bullets", "table": None, "bullets": ["有"]}),
        facts(contract={"tables": False, "full_coverage": False}),
    ),
    (
        "chart_missing",
        "/slides",
        slide(3, {"kind": "bullets", "chart": None, "bullets": ["有"]}),
        facts(contract={"pictures": True}),
    ),
    ("page_count", "/slides", arguments(), facts(contract={"pages": (1, 3)})),
    ("page_count", "/slides", arguments(), facts(contract={"pages": (9, 12)})),
    ("field_missing", "/slides/2/table/columns", without_columns(2), facts()),
    ("field_missing", "/slides/2/table/columns", without_columns(1), facts()),
    ("cells_mismatch", f"{ROWS}/1/cells", row({"cells": ["数据治理研讨会", "2026-03-02 14:30"]}), facts()),
    (
        "cells_mismatch",
        f"{ROWS}/1/cells",
        row({"cells": ["数据治理研讨会", "2026-03-02 14:30", "上海", "多"]}),
        facts(),
    ),
    (
        "columns_repeated",
        "/slides/2/table/columns/3",
        deck(
            lambda it: [
                it["slides"][2]["table"]["columns"].append("名 称"),
                [one["cells"].append("又一次") for one in it["slides"][2]["table"]["rows"]],
            ]
        ),
        facts(),
    ),
    (
        "chart_mismatch",
        "/slides/3/chart/series/0/values",
        deck(lambda it: it["slides"][3]["chart"]["series"][0].update(values=[1, 2])),
        facts(),
    ),
    (
        "chart_mismatch",
        "/slides/3/chart/series/0/values",
        deck(lambda it: it["slides"][3]["chart"]["series"][0].update(values=[None] * 3)),
        facts(),
    ),
    (
        "chart_mismatch",
        "/slides/3/chart/series",
        deck(
            lambda it: it["slides"][3]["chart"].update(
                kind="pie", series=[{"name": "甲", "values": [1, 2, -3]}]
            )
        ),
        facts(),
    ),
    (
        "entity_repeated",
        f"{ROWS}/3",
        deck(lambda it: it["slides"][2]["table"]["rows"].append(it["slides"][2]["table"]["rows"][0])),
        facts(),
    ),
    (
        "entity_repeated",
        f"{ROWS}/3",
        deck(
            lambda it: it["slides"][2]["table"]["rows"].append(
                {"cells": ["年度工作会议 ", "2026-01-15 09:00", "北京会议中心"]}
            )
        ),
        facts(contract={"full_coverage": False}),
    ),
    ("cell_empty", f"{ROWS}/1/cells/2", cell("  \n"), facts()),
    ("cell_empty", "/slides/1/bullets/1", bullet(""), facts()),
    (
        "cell_empty",
        "/slides/2/table/columns/1",
        deck(lambda it: it["slides"][2]["table"]["columns"].__setitem__(1, "：")),
        facts(contract={"required_fields": ()}),
    ),
    ("cell_punctuation", f"{ROWS}/1/cells/2", cell("——"), facts()),
    ("cell_punctuation", "/slides/1/bullets/1", bullet("、、、"), facts()),
    ("cell_separators", f"{ROWS}/1/cells/2", cell("上海，，展览馆"), facts()),
    ("cell_separators", f"{ROWS}/1/cells/2", cell("上海 | | 展览馆"), facts()),
    ("untranslated", f"{ROWS}/1/cells/1", cell("2026-03-02 14:30 Monday", 1), facts()),
    ("untranslated", f"{ROWS}/1/cells/1", cell("2026-03-02周一Mon. 14:30", 1), facts()),
    ("untranslated", f"{ROWS}/1/cells/2", cell("上海 University of Finance", 2), facts()),
    (
        "untranslated",
        "/slides/1/bullets/1",
        bullet("本次活动 brings together many people from all regions"),
        facts(),
    ),
    ("untranslated", "/slides/1/title", slide(1, {"title": "Overview"}), facts()),
    ("production_note", "/slides/1/bullets/1", bullet("此处插入图片"), facts()),
    ("production_note", "/slides/1/bullets/1", bullet("本页应突出三个城市"), facts()),
    ("production_note", "/slides/1/bullets/1", bullet("根据用户要求，列出全部活动"), facts()),
    ("production_note", "/slides/1/title", slide(1, {"title": "TODO 概览"}), facts()),
    ("production_note", "/slides/1/bullets/1", bullet("地点：待补充"), facts()),
    (
        "source_ir_missing",
        "/sources",
        arguments(),
        facts(sources=(), records=None, contract={"full_coverage": False}),
    ),
    (
        "source_ir_missing",
        "/sources",
        arguments(),
        facts(
            sources=(
                SourceFacts(
                    artifact_id=SOURCE,
                    locators=frozenset({"Sheet1!2", "Sheet1!3", "Sheet1!4"}),
                    schema_version="guess",
                ),
            )
        ),
    ),
    ("source_unknown", "/sources/1", deck(lambda it: it["sources"].append(OTHER)), facts()),
    ("source_unused", "/sources", deck(lambda it: it.update(sources=[])), facts()),
    (
        "locator_missing",
        f"{ROWS}/1/source_locator",
        row({"source_locator": None}),
        facts(records=records(ITEMS[:1])),
    ),
    (
        "locator_unknown",
        f"{ROWS}/1/source_locator",
        row({"source_locator": "Sheet9!3"}),
        facts(records=records(ITEMS[:1])),
    ),
    (
        "locator_ambiguous",
        f"{ROWS}/1/source_locator",
        deck(lambda it: it["sources"].append(OTHER)),
        facts(
            records=records(ITEMS[:1]),
            contract={"attachments": (SOURCE, OTHER)},
            sources=(
                SourceFacts(artifact_id=SOURCE, locators=frozenset({"Sheet1!2", "Sheet1!3", "Sheet1!4"})),
                SourceFacts(artifact_id=OTHER, locators=frozenset({"Sheet1!3"})),
            ),
        ),
    ),
    ("record_set_missing", "", arguments(), facts(records=None)),
    ("record_set_missing", "", arguments(), facts(records=records(()))),
    ("record_missing", "/slides", deck(lambda it: it["slides"][2]["table"]["rows"].pop(2)), facts()),
    ("record_mismatch", f"{ROWS}/1", row({"cells": ["合唱比赛", "待定日期", "大礼堂"]}), facts()),
    ("time_incomplete", f"{ROWS}/1/cells/1", cell("2026-03-02", 1), facts()),
    ("time_incomplete", f"{ROWS}/1/cells/1", cell("三月二日 14:30", 1), facts()),
]

GOOD: list[tuple[str, Any, Any]] = [
    ("the deck as it is", arguments(), facts()),
    (
        "longer names of the fields",
        deck(lambda it: it["slides"][2]["table"].update(columns=["活动名称", "举办时间", "会场"])),
        facts(),
    ),
    (
        "English names of the fields",
        arguments(),
        facts(contract={"required_fields": ("name", "date", "venue")}),
    ),
    ("the whole time in other words", cell("2026年3月2日 14时30分", 1), facts()),
    ("a time with its weekday", cell("2026-03-02（星期一）14:30", 1), facts()),
    (
        "a name in its own language in brackets",
        cell("上海（Shanghai World Expo Exhibition Center）"),
        facts(),
    ),
    ("a product's name of two words", bullet("采用 Google Cloud 与 API 网关"), facts()),
    ("a link", bullet("见 https://example.org/a//b/the-whole-list-of-events"), facts()),
    ("an address", bullet("联系 maximilian.of.the.north@example.org"), facts()),
    ("words of absence", cell("未提供"), facts(records=records((ITEMS[0], (*ITEMS[1][:2], ""), ITEMS[2])))),
    (
        "two sources, each place with its source",
        deck(
            lambda it: [
                it["sources"].append(OTHER),
                it["slides"][2]["table"]["rows"][1].update(source_locator=f"{SOURCE}#Sheet1!3"),
            ]
        ),
        facts(
            contract={"attachments": (SOURCE, OTHER)},
            sources=(
                SourceFacts(artifact_id=SOURCE, locators=frozenset({"Sheet1!2", "Sheet1!3", "Sheet1!4"})),
                SourceFacts(artifact_id=OTHER, locators=frozenset({"Sheet1!3"})),
            ),
        ),
    ),
    (
        "equal records of two places",
        deck(
            lambda it: it["slides"][2]["table"]["rows"].append(
                {"cells": list(ITEMS[0]), "source_locator": "Sheet1!5"}
            )
        ),
        facts(
            records=records((*ITEMS, ITEMS[0])),
            sources=(
                SourceFacts(artifact_id=SOURCE, locators=frozenset(f"Sheet1!{at}" for at in range(1, 6))),
            ),
        ),
    ),
    (
        "a source that says it itself",
        cell("待补充"),
        facts(records=records((ITEMS[0], (*ITEMS[1][:2], "待补充"), ITEMS[2]))),
    ),
    (
        "no contract on coverage",
        deck(lambda it: it["slides"][2]["table"]["rows"].pop()),
        facts(contract={"full_coverage": False}),
    ),
    (
        "no sources at all",
        deck(
            lambda it: [
                it.update(sources=[]),
                [one.pop("source_locator") for one in it["slides"][2]["table"]["rows"]],
            ]
        ),
        facts(sources=(), records=None, contract={"attachments": (), "full_coverage": True}),
    ),
    ("percent, ranges and negatives", bullet("增长 -3.5%，区间 10–20"), facts()),
]

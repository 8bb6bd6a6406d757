"""work.create_*: the outline is shown before, the file is read again after, nothing is computed."""

from collections.abc import AsyncIterator
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from docx import Document
from fencepost_documents.gates.artifact import ArtifactFacts, judge, proofs
from fencepost_domain.task_contract import TaskContract
from fencepost_runtime.artifacts import key_of
from fencepost_runtime.artifacts.filesystem import FilesystemArtifacts
from fencepost_runtime.system import SystemIds
from fencepost_store import artifacts as registry
from fencepost_tool_gateway.files import Shelf
from openpyxl import load_workbook
from pptx import Presentation

from tests.support.gateway import Served, code, serving
from tests.support.lives import TENANT, USER, Lives

IDS = SystemIds()
TABLE: dict[str, Any] = {
    "columns": ["名称", "时间", "地点"],
    "rows": [
        {"cells": ["年会", "2026-12-01 09:00", "北京"], "source_locator": "Sheet1!2"},
        {"cells": ["=SUM(A1:A9)", "2026-12-02 14:00", "上海"], "source_locator": "Sheet1!3"},
    ],
}
CHART: dict[str, Any] = {
    "kind": "column",
    "categories": ["北京", "上海"],
    "series": [{"name": "数量", "values": [1.5, None]}],
}
DECK: dict[str, Any] = {
    "title": "活动/汇总", "language": "zh",
    "slides": [
        {"title": "活动汇总", "kind": "title", "bullets": ["共 2 项"]},
        {"title": "一览\u000b", "kind": "table", "table": TABLE, "notes": "按时间讲"},
        {"title": "数量", "kind": "chart", "chart": CHART},
    ],
}  # fmt: skip
LETTER = {
    "title": "活动汇总", "language": "zh",
    "sections": [
        {"title": "概览", "paragraphs": ["共 2 项"]}, {"title": "一览", "table": TABLE, "chart": CHART},
    ],
}  # fmt: skip
BOOK = {
    "title": "活动汇总",
    "language": "zh",
    "sheets": [{"name": "一览", "table": TABLE, "chart": CHART}],
}


@pytest.fixture
def bytes_(tmp_path: Path) -> FilesystemArtifacts:
    return FilesystemArtifacts(tmp_path / "artifacts", IDS)


@pytest.fixture
async def working(lives: Lives, bytes_: FilesystemArtifacts) -> AsyncIterator[Served]:
    async with serving(lives, shelf=Shelf(bytes_, 5_000_000)) as running:
        yield running


async def made(working: Served, tool: str, arguments: Any, **more: Any) -> tuple[Any, Any]:
    held = await working.bound(module="work", locale=more.pop("locale", "zh-CN"))
    action = await working.prepared(held, tool, arguments)
    response = await working.commit(held, action)
    assert response.status_code == 200, response.text
    return action, response.json()["result"]


async def bytes_of(kept: FilesystemArtifacts, result: Any) -> BytesIO:
    data = await kept.read(key_of(TENANT, UUID(result["artifact_id"])))
    assert sha256(data).hexdigest() == result["sha256"]
    return BytesIO(data)


async def test_a_presentation_is_shown_before_made_and_read_again(
    working: Served, bytes_: FilesystemArtifacts, lives: Lives
) -> None:
    action, result = await made(working, "work.create_presentation", DECK)
    shown = {one["label"]: one["value"] for one in action["preview"]["lines"]}
    assert shown == {
        "标题": "活动/汇总",
        "页数": "3",
        "表格": "1 个，共 2 行",
        "字段": "名称、时间、地点",
        "图表": "1",
    }

    deck = Presentation(await bytes_of(bytes_, result))
    assert [slide.shapes.title.text_frame.text for slide in deck.slides] == ["活动汇总", "一览�", "数量"]
    table = next(shape.table for shape in deck.slides[1].shapes if shape.has_table)
    assert [cell.text for cell in table.rows[2].cells] == ["=SUM(A1:A9)", "2026-12-02 14:00", "上海"]
    assert "按时间讲" in deck.slides[1].notes_slide.notes_text_frame.text
    assert "Sheet1!3" in deck.slides[1].notes_slide.notes_text_frame.text
    assert result["name"] == "活动_汇总.pptx"
    assert result["quality_report"]["replaced"] == 1

    [kept] = await lives.sql("SELECT status, media_type, evidence FROM agent.artifacts")
    assert kept["status"] == "verified"
    assert kept["media_type"].endswith("presentationml.presentation")


async def test_what_the_tool_answers_is_enough_for_the_gate_to_prove_the_contract(working: Served) -> None:
    _, result = await made(working, "work.create_presentation", DECK)
    contract = TaskContract(
        file_kinds=("pptx",),
        language="zh",
        tables=True,
        pictures=True,
        required_fields=("名称", "时间", "地点"),
    )
    facts = ArtifactFacts(contract=contract, kind="pptx", outline=DECK, file=result["inspection"])
    judged = judge(result, facts)
    assert judged.codes == ()
    assert proofs(judged, contract) == dict.fromkeys(contract.hard_requirements, True)


async def test_a_document_has_real_headings_and_a_table_whose_header_repeats(
    working: Served, bytes_: FilesystemArtifacts
) -> None:
    _, result = await made(working, "work.create_document", LETTER)
    document = Document(await bytes_of(bytes_, result))
    assert [one.text for one in document.paragraphs if one.style.name == "Heading 1"] == ["概览", "一览"]
    [table] = document.tables
    assert [cell.text for cell in table.rows[1].cells] == ["年会", "2026-12-01 09:00", "北京", "Sheet1!2"]
    assert "tblHeader" in table.rows[0]._tr.xml


async def test_a_workbook_computes_nothing_that_a_cell_says(
    working: Served, bytes_: FilesystemArtifacts
) -> None:
    _, result = await made(working, "work.create_workbook", BOOK, locale="en-US")
    sheet = load_workbook(await bytes_of(bytes_, result))["一览"]
    assert (sheet["A3"].value, sheet["A3"].data_type, sheet["A3"].quotePrefix) == ("=SUM(A1:A9)", "s", True)
    assert result["inspection"]["formulas"] == 0
    assert "opened again and checked" in result["text"]


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"cells": ["只有一个"]}, "/slides/1/table/rows/1/cells"),
        ({"cells": ["多", "出", "一", "个"]}, "/slides/1/table/rows/1/cells"),
    ],
)
async def test_a_row_that_does_not_fit_its_table_is_refused_by_its_place(
    working: Served, change: Any, pointer: str
) -> None:
    table = {**TABLE, "rows": [TABLE["rows"][0], change]}
    slides = [DECK["slides"][0], {"title": "一览", "kind": "table", "table": table}]
    held = await working.bound(module="work", locale="zh-CN")
    response = await working.prepare(held, "work.create_presentation", {**DECK, "slides": slides})
    assert code(response) == "calls_refused"
    assert [one["pointer"] for one in response.json()["refusals"]] == [pointer]


async def test_a_source_of_somebody_else_is_no_source(working: Served) -> None:
    held = await working.bound(module="work", locale="zh-CN")
    arguments = {**DECK, "sources": [str(IDS.uuid7())]}
    response = await working.prepare(held, "work.create_presentation", arguments)
    assert [one["pointer"] for one in response.json()["refusals"]] == ["/sources/0"]


async def test_sources_are_named_to_who_decides(
    working: Served, lives: Lives, bytes_: FilesystemArtifacts
) -> None:
    new, data = IDS.uuid7(), b"a,b\n1,2\n"
    await bytes_.put(key_of(TENANT, new), data)
    async with lives.api.transaction(TENANT) as tx:
        await registry.add_artifact(
            tx,
            registry.NewArtifact(new, TENANT, USER, "清单.csv", "text/csv", len(data), sha256(data).digest()),
        )
    held = await working.bound(module="work", locale="zh-CN")
    await lives.sql(
        "UPDATE agent.runs SET input = input || jsonb_build_object('attachments', CAST(%s AS text[]))"
        " WHERE id = %s",
        [str(new)],
        held.run.id,
    )
    action = await working.prepared(held, "work.create_presentation", {**DECK, "sources": [str(new)]})
    assert action["preview"]["lines"][-1] == {"label": "来源", "value": "清单.csv"}


async def test_three_hundred_records_with_their_places_fit_an_action(working: Served) -> None:
    name, place = "第{}届全国信息化建设与数据治理研讨会（含分会场）", "北京市海淀区中关村展示中心 B 座 3 层"
    rows = [
        {"cells": [name.format(at), f"2026-03-{at % 28 + 1:02d}", place], "source_locator": f"Sheet1!{at}"}
        for at in range(2, 302)
    ]  # fmt: skip
    slide = {"title": "一览", "kind": "table", "table": {"columns": TABLE["columns"], "rows": rows}}
    _, result = await made(working, "work.create_presentation", {**DECK, "slides": [slide]})
    assert result["quality_report"]["rows"] == result["inspection"]["tables"][0]["rows"] == 300

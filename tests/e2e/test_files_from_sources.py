"""Issue 6.7: files from what is attached, all the way on the offline model, over the whole mesh."""

from __future__ import annotations

import asyncio
import io
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from openpyxl import Workbook
from pptx import Presentation

from tests.documents.made.pdfs import Page, pdf, table
from tests.e2e.conftest import Caller

PAGES, ROWS_A_PAGE, SHEET_ROWS = 30, 4, 300
ASKED = "基于附件全部内容生成中文PPT，包含名称、时间、地点"
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


@dataclass(frozen=True)
class Asked:
    """One run over freshly uploaded sources: its end, and the text of every slide of its file."""

    run: dict[str, Any]
    slides: list[list[str]]
    rows: list[list[str]]


def paper() -> bytes:
    """30 pages, each a table of four events."""
    pages = []
    for page in range(PAGES):
        rows = [["名称", "时间", "地点"]]
        for row in range(ROWS_A_PAGE):
            number = page * ROWS_A_PAGE + row
            rows.append([f"讲座{number + 1}", f"2026-03-{number % 28 + 1:02d} 10:00", f"第{page + 1}教室"])
        pages.append(Page(table(rows)))
    return pdf(*pages)


def sheet() -> bytes:
    """300 rows with a header."""
    book = Workbook()
    page = book.active
    assert page is not None
    page.append(["名称", "时间", "地点"])
    for number in range(SHEET_ROWS):
        page.append([f"活动{number + 1}", f"2026-05-{number % 28 + 1:02d} 14:30", f"{number % 40 + 1}号楼"])
    kept = io.BytesIO()
    book.save(kept)
    return kept.getvalue()


async def asked(caller: Caller) -> Asked:
    files = [("讲座安排.pdf", paper(), "application/pdf"), ("活动清单.xlsx", sheet(), XLSX)]
    ids = [
        (await caller.client.upload(name, data, kind, idempotency_key=str(uuid4())))["id"]
        for name, data, kind in files
    ]
    made = await caller.client.create_run(
        ASKED, idempotency_key=str(uuid4()), zone="Asia/Shanghai", locale="zh-CN", attachments=ids
    )
    run = await caller.client.wait(made["id"], 120)
    if run["status"] == "waiting":
        run = await caller.resolve(run, decision="approve")
    files_made = [one for one in run["artifacts"] if one["role"] == "output"]
    assert len(files_made) == 1, run["finalization"]
    assert files_made[0]["media_type"] == PPTX
    deck = Presentation(io.BytesIO(await caller.client.content(files_made[0]["id"])))
    texts, rows = [], []
    for slide in deck.slides:
        found = [shape.text_frame.text for shape in slide.shapes if shape.has_text_frame]
        for shape in slide.shapes:
            if shape.has_table:
                lines = [[cell.text for cell in row.cells] for row in shape.table.rows]
                rows += lines[1:]
                found += [" | ".join(line) for line in lines]
        texts.append(found)
    return Asked(run, texts, rows)


async def test_a_deck_of_all_rows_is_made_checked_and_the_same_twice(caller: Caller) -> None:
    first = await asked(caller)

    assert first.run["status"] == "succeeded", first.run["finalization"]
    assert first.run["finalization"]["reason"] == "acceptance_met"
    wanted = [f"讲座{n + 1}" for n in range(PAGES * ROWS_A_PAGE)]
    wanted += [f"活动{n + 1}" for n in range(SHEET_ROWS)]
    assert [row[0] for row in first.rows] == wanted, "every record once, in source order"
    assert all(all(cell.strip() for cell in row[:3]) for row in first.rows)
    its_plan_its_contract_and_its_gates_are_seen(first.run)
    await a_question_that_follows_means_the_same_files(caller, first.run)

    second = await asked(caller)
    assert second.slides == first.slides


def its_plan_its_contract_and_its_gates_are_seen(run: dict[str, Any]) -> None:
    assert [step["status"] for step in run["plan"]["steps"]] == ["done", "done"]
    assert run["task_contract"]["file_kinds"] == ["pptx"]
    assert {report["gate"] for report in run["quality_reports"]} >= {
        "presentation-arguments-v1",
        "artifact-quality-v1",
    }
    assert all(report["passed"] for report in run["quality_reports"])


async def a_question_that_follows_means_the_same_files(caller: Caller, run: dict[str, Any]) -> None:
    done = await asyncio.to_thread(caller.cli_json, "run", "--after", run["id"], "活动7在哪里举办？")
    assert (done["module"], done["conversation_id"]) == ("work", run["conversation_id"])
    assert "7号楼" in done["output"]["text"]


async def test_a_mail_is_drafted_from_the_users_words_and_nothing_is_sent(caller: Caller) -> None:
    made = await caller.client.create_run(
        "draft an email to bob@example.com asking for the quarterly report by Friday",
        idempotency_key=str(uuid4()),
        zone="Asia/Shanghai",
        locale="en-US",
    )
    run = await caller.client.wait(made["id"], 60)

    assert run["status"] == "succeeded", run["finalization"]
    [draft] = [one for one in run["artifacts"] if one["role"] == "output"]
    text = (await caller.client.content(draft["id"])).decode()
    assert "bob@example.com" in text and "quarterly report by Friday" in text

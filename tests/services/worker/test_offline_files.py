"""The offline model's files from records: in one part or in several, joined, they pass their gate."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from fencepost_contracts.graph_core2 import CORE_2
from fencepost_documents.ir import Coverage, Record, RecordSet
from fencepost_documents.office.tallies import tallies_of
from fencepost_domain.task_contract import TaskContract
from fencepost_worker.flow import gate_table
from fencepost_worker.flow.batches import batches_for
from fencepost_worker.flow.joining import arguments_of
from fencepost_worker.models.control import RESPOND
from fencepost_worker.models.offline import from_sources
from fencepost_worker.models.offline_files import file_arguments
from fencepost_worker.models.port import ModelContext, ToolSpec

FIELDS = ("name", "time", "place", "类型", "amount")
A, B = str(UUID(int=1)), str(UUID(int=2))


def record(source: str, number: int) -> dict[str, Any]:
    fields = {
        "name": f"活动{source[-1]}{number}",
        "time": f"2026-{number % 3 + 4:02d}-01 10:00",
        "place": f"{number}号楼",
        "类型": "室内" if number % 2 else "室外",
        "amount": f"{number}.50",
    }
    return {"artifact_id": source, "source_locator": f"Sheet1!{number}", "fields": fields}


def of_one(source: str, count: int) -> RecordSet:
    records = tuple(Record.model_validate(record(source, n)) for n in range(2, count + 2))
    coverage = Coverage(units_total=count, units_used=count, ratio=1.0)
    return RecordSet(records=records, fields=FIELDS, coverage=coverage)


def reading(counts: dict[str, int]) -> dict[str, Any]:
    """A result of `work.extract_document` over these sources."""
    records = [record(source, n) for source, count in counts.items() for n in range(2, count + 2)]
    total = len(records)
    return {
        "text": "read",
        "documents": [
            {"artifact_id": source, "name": f"文件{source[-1]}.xlsx", "kind": "xlsx", "units": count,
             "records": count, "problems": [], "refused": None}
            for source, count in counts.items()
        ],
        "values_counted": {
            source: {"headings": {"amount": "费用"}, "tallies": tallies_of(of_one(source, count))}
            for source, count in counts.items()
        },
        "fields": list(FIELDS),
        "records": records,
        "coverage": {"units_total": total, "units_used": total, "ratio": 1.0, "left_out": []},
        "units": [],
        "cut": False,
    }  # fmt: skip


def composed(
    counts: dict[str, int], contract: TaskContract, tool: str, asked: str = ""
) -> tuple[dict[str, Any], int]:
    """The joined arguments, and of how many batches."""
    result = reading(counts)
    plan = {"revision": 1}
    step = {"id": "make", "needs": ["read"], "tries": 0}
    actions = [{"status": "done", "step": "read", "tool": "work.extract_document", "result": result}]
    batches = batches_for(step, plan, actions, 60, CORE_2)
    parts = []
    for batch in batches:
        task = {
            "contract": contract.to_json(),
            "branch": batch,
            "records": batch["records"],
            "results": batch["results"],
        }
        made = file_arguments(tool, task, asked, is_chinese=True)
        parts.append({"index": batch["index"], "arguments": made})
    return arguments_of(parts), len(batches)


@pytest.mark.parametrize("counts", [{A: 5}, {A: 130}, {A: 30, B: 40}, {A: 500, B: 300}])
@pytest.mark.parametrize("pictures", [False, True])
def test_a_presentation_of_all_records_passes_its_gate(counts: dict[str, int], pictures: bool) -> None:
    contract = TaskContract(
        file_kinds=("pptx",),
        full_coverage=True,
        attachments=tuple(counts),
        required_fields=("名称", "时间", "地点"),
        language="zh",
        pictures=pictures,
    )
    arguments, batches = composed(counts, contract, "work.create_presentation")

    assert batches <= 8
    facts = {
        "contract": contract.to_json(),
        "request": "",
        "readings": gate_table.Readings.of([reading(counts)]),
    }
    judged = gate_table.ARGUMENT_GATES["work.create_presentation"].judge(arguments, facts)
    assert [one.to_json() for one in judged.violations] == []
    rows = [row for s in arguments["slides"] if s.get("table") for row in s["table"]["rows"]]
    assert len(rows) == sum(counts.values())


@pytest.mark.parametrize("counts", [{A: 5}, {A: 130}, {A: 90, B: 75}])
@pytest.mark.parametrize(
    ("tool", "kind"),
    [
        ("work.create_presentation", "slides"),
        ("work.create_document", "sections"),
        ("work.create_workbook", "sheets"),
    ],
)
def test_what_is_to_be_added_up_is_added_up_over_all_batches(
    counts: dict[str, int], tool: str, kind: str
) -> None:
    contract = TaskContract(file_kinds=("pptx",), attachments=tuple(counts), pictures=True)
    arguments, _ = composed(counts, contract, tool, "按类型统计费用，做成柱状图")

    sums = {"室内": 0.0, "室外": 0.0}
    for count in counts.values():
        for number in range(2, count + 2):
            sums["室内" if number % 2 else "室外"] += number + 0.5
    [chart] = [part["chart"] for part in arguments[kind] if part.get("chart")]
    assert dict(zip(chart["categories"], chart["series"][0]["values"], strict=True)) == sums
    assert chart["title"] == "各类型费用合计"
    if kind == "sheets":
        cells = {row["cells"][0]: float(row["cells"][1]) for row in arguments[kind][-1]["table"]["rows"]}
        assert cells == sums
    else:
        assert any("各类型费用合计：" in line for part in arguments[kind] for line in part.get("bullets", ()))


def test_the_parts_are_the_same_each_time() -> None:
    contract = TaskContract(file_kinds=("xlsx",), attachments=(A, B))
    first, _ = composed({A: 70, B: 70}, contract, "work.create_workbook")
    second, _ = composed({A: 70, B: 70}, contract, "work.create_workbook")

    assert json.dumps(first, ensure_ascii=False) == json.dumps(second, ensure_ascii=False)
    assert sum(len(sheet["table"]["rows"]) for sheet in first["sheets"]) == 140


def test_a_mail_about_nothing_is_asked_about() -> None:
    context = ModelContext(
        text="写封邮件",
        reference=datetime(2026, 5, 1, tzinfo=UTC),
        zone="UTC",
        locale="zh",
        currency="CNY",
        module="work",
        modules=("companion", "work"),
        may_hand_over=True,
        answers=(),
        task={"contract": TaskContract(file_kinds=("email",)).to_json(), "attachments": []},
    )
    [said] = from_sources(context, (ToolSpec("work.draft_email", "", {}),))
    assert said.name == RESPOND and "写给谁" in said.arguments["text"]


@pytest.mark.parametrize(("locale", "says"), [("zh", "请带上附件"), ("en", "attach some first")])
def test_without_a_source_no_file_is_made_up(locale: str, says: str) -> None:
    contract = TaskContract(file_kinds=("pptx",))
    context = ModelContext(
        text="make slides",
        reference=datetime(2026, 5, 1, tzinfo=UTC),
        zone="UTC",
        locale=locale,
        currency="USD",
        module="work",
        modules=("companion", "work"),
        may_hand_over=True,
        answers=(),
        task={"contract": contract.to_json(), "attachments": []},
    )
    [said] = from_sources(context, (ToolSpec("work.create_presentation", "", {}),))
    assert said.name == RESPOND and says in said.arguments["text"]


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("再加一页", RESPOND),
        ("把标题改成“春季活动”", RESPOND),
        ("再来一遍", RESPOND),
        ("do it again", RESPOND),
        ("change the title to Spring", RESPOND),
        ("活动7在哪里？", "work.ask_document"),
        ("改到哪天了", "work.ask_document"),
        ("增值税金额", "work.ask_document"),
        ("where is the review", "work.ask_document"),
        ("a" * 5000, "work.ask_document"),
    ],
)
def test_an_order_about_what_was_made_is_no_question_to_the_documents(text: str, tool: str) -> None:
    context = ModelContext(
        text=text,
        reference=datetime(2026, 5, 1, tzinfo=UTC),
        zone="UTC",
        locale="en",
        currency="USD",
        module="work",
        modules=("companion", "work"),
        may_hand_over=True,
        answers=(),
        task={"contract": TaskContract().to_json(), "attachments": [A]},
    )
    [said] = from_sources(context, (ToolSpec("work.ask_document", "", {}),))
    assert said.name == tool and len(said.arguments.get("question", "")) <= 2000


@pytest.mark.parametrize(
    ("fitting", "asked", "is_chinese", "language"),
    [
        ([["zh"], ["zh", "en"]], None, False, "zh"),
        ([["en"], ["zh", "en"]], None, True, "en"),
        ([["zh", "en"], ["zh", "en"]], None, False, "en"),
        ([["zh"], ["en"]], None, True, "zh"),
        ([["zh"], ["zh"]], "en", False, "en"),
    ],
)
def test_a_file_nobody_asked_a_language_of_has_the_one_its_sources_can_stand_in(
    fitting: list[list[str]], asked: str | None, is_chinese: bool, language: str
) -> None:
    result = reading({A: 1, B: 1})
    for document, languages in zip(result["documents"], fitting, strict=True):
        document["languages"] = languages
    contract = TaskContract(file_kinds=("pptx",), attachments=(A, B), language=asked)
    task = {
        "contract": contract.to_json(),
        "branch": {"index": 0, "of": 1},
        "records": result["records"],
        "results": [{"result": result}],
    }
    made = file_arguments("work.create_presentation", task, "", is_chinese=is_chinese)
    assert made["language"] == language

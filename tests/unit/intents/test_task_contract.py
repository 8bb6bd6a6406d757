"""The task contract's compiler: its golden rows pass whole, and hostile texts neither break nor slow it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from fencepost_domain.task_contract import TaskContract
from fencepost_intents.evaluate_contracts import differences, main
from fencepost_intents.task_contract import LONGEST, compile_task_contract
from hypothesis import given, settings
from hypothesis import strategies as st

TABLES = Path(__file__).parents[2] / "evals" / "task_contracts"
ROWS, HELD_OUT = (
    [json.loads(line) for line in (TABLES / name).read_text(encoding="utf-8").splitlines()]
    for name in ("contracts.jsonl", "held-out.jsonl")
)
PIECES = (
    "不要 做 PPT Word Excel 全部 每一行 包含 名称、时间、地点 ， 。 用中文 翻译成英文 ： “ ” 附件 "
    "提醒我 的 表格 图表 "
    "make a deck with name, date and place don't include all every instead of into slides > email"
)
WORDS = st.sampled_from([*PIECES.split(), " ", "\n"])
TEXTS = st.lists(WORDS, max_size=25).map("".join) | st.text(max_size=80)
LONG = ("做", "PPT，", "name, ", "包含名称、", "“", "with a ", "全部", "每一行包含")


@pytest.mark.parametrize("row", ROWS + HELD_OUT, ids=[row["id"] for row in ROWS + HELD_OUT])
def test_a_golden_row_compiles_to_its_contract(row: dict[str, Any]) -> None:
    assert differences(row) == {}


def test_the_evaluation_says_which_row_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "rows.jsonl"
    table.write_text('{"id": "x-1", "text": "做PPT", "expected": {"file_kinds": ["docx"]}}\n', "utf-8")

    assert main([str(table)]) == 1
    assert "x-1" in capsys.readouterr().out
    assert main([]) == 1


def test_the_table_is_large_enough_in_both_languages() -> None:
    chinese = [row for row in ROWS if any("\u4e00" <= char <= "\u9fff" for char in row["text"])]

    assert len(ROWS) >= 150 and len(chinese) >= 75 and len(ROWS) - len(chinese) >= 75
    assert len({row["id"] for row in ROWS}) == len({row["text"] for row in ROWS}) == len(ROWS)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(WORDS, max_size=25).map("".join) | st.text(max_size=80), st.sampled_from([None, "en", "zh-CN"])
)
def test_any_text_has_a_contract_and_always_the_same(text: str, locale: str | None) -> None:
    contract = compile_task_contract(text, locale, ["a", "a", "b"])

    assert contract == compile_task_contract(text, locale, ["a", "b"])
    assert TaskContract.from_json(contract.to_json()) == contract


@given(st.sampled_from([row["text"] for row in ROWS if "：" not in row["text"] and ":" not in row["text"]]))
def test_a_quoted_order_orders_nothing(text: str) -> None:
    said = text.replace("“", "").replace("”", "").replace('"', "").replace("\n", " ")
    contract = compile_task_contract(f"“{said}”是什么意思", "zh-CN")

    assert (contract.file_kinds, contract.required_fields, contract.full_coverage) == ((), (), False)


@pytest.mark.parametrize("piece", LONG)
def test_a_long_text_takes_no_long_time(piece: str) -> None:
    text = piece * (60_000 // len(piece))
    began = time.process_time()
    compile_task_contract(text, "en", ["a"])

    assert time.process_time() - began < 1.0
    assert len(text) > LONGEST

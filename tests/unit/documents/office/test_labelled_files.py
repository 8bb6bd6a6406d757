"""The gates of files on rows written without a look at their rules: judged as labelled, every code."""

import json
from pathlib import Path

import pytest
from fencepost_documents.gates.evaluate import evaluate, main
from fencepost_documents.gates.row_values import judge_row
from fencepost_documents.ir import Record
from fencepost_documents.office.outline import Row, Table

TABLES = Path(__file__).parents[3] / "evals" / "file_gates"


@pytest.mark.parametrize("name", sorted(one.name for one in TABLES.glob("*.jsonl")))
def test_files_and_their_arguments_are_judged_as_labelled(name: str) -> None:
    lines = (TABLES / name).read_text(encoding="utf-8").splitlines()
    report = evaluate(json.loads(line) for line in lines)

    assert report.is_good, report.lines()
    assert report.bad >= len(report.codes) and report.good >= 14


def test_a_table_without_a_bad_row_is_no_proof(tmp_path: Path) -> None:
    first = (TABLES / "held-out-presentation.jsonl").read_text(encoding="utf-8").splitlines()[0]
    table = tmp_path / "rows.jsonl"
    table.write_text(first + "\n", encoding="utf-8")

    assert main([str(table)]) == 1
    assert main([]) == 1


@pytest.mark.parametrize(
    ("field", "source", "column", "cell", "code"),
    [
        ("amount", "3,075.25", "Amount", "3,705.25", "record_mismatch"),
        ("amount", "3,075.25", "Amount", "3,075", None),  # rounded
        ("amount", "12400", "金额（万元）", "1.24", None),
        ("amount", "12000", "金额", "1.2万", None),
        ("amount", "12600", "金额", "1.2万", "record_mismatch"),
        ("amount", "€410,000", "Budget", "€410k", None),
        ("amount", "1 240,00", "Amount", "1,240.00", None),  # can be read in two ways
        ("amount", "100-200", "Amount", "150", None),  # a range
        ("quantity", "12 pcs", "Quantity", "21", "record_mismatch"),
        ("number", "INV-1041", "Number", "INV-1042", "record_mismatch"),
        ("number", "INV-1041", "Number", "1041", None),
        ("phone", "021-55550101", "电话", "02155550101", None),
        ("time", "2026-03-04 14:30", "Date", "4 March 2026, 2:30 pm", None),
        ("time", "2026-03-04 14:30", "时间", "2026年3月4日下午2:30", None),
        ("time", "2026-03-04 14:30", "时间", "2026年3月4日", "time_incomplete"),
    ],
)
def test_a_row_says_its_records_numbers(
    field: str, source: str, column: str, cell: str, code: str | None
) -> None:
    record = Record(source_locator="Sheet1!2", artifact_id="a", fields={"name": "Item", field: source})
    table = Table(columns=("Name", column), rows=(Row(cells=("Item", cell)),))

    found = [one.code for one in judge_row("/rows/0", table, table.rows[0], record)]

    assert found == ([code] if code else [])

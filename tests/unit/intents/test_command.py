"""`fencepost intent --eval`: what it says of a row that can't be scored, and how it exits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fencepost_cli.commands.intent import intent
from typer import Exit, Typer
from typer.testing import CliRunner

ROW = {
    "text": "明早九点提醒我交周报",
    "reference": "2026-03-04T10:00:00+08:00",
    "zone": "Asia/Shanghai",
    "expected": {"intent": "reminder.create"},
}


def scored(path: Path) -> tuple[int, str]:
    app = Typer()
    app.command()(intent)
    ran = CliRunner().invoke(app, ["--eval", str(path)])
    code = ran.exit_code if not isinstance(ran.exception, Exit) else ran.exception.exit_code
    return code, ran.output


def test_a_file_that_passes_exits_with_0(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(ROW) + "\n", encoding="utf-8")

    assert scored(path)[0] == 0


@pytest.mark.parametrize(
    "row",
    [
        {**ROW, "reference": "2026-03-04T10:00:00"},
        {**ROW, "reference": "yesterday"},
        {**ROW, "zone": "Atlantis/Capital"},
        {key: value for key, value in ROW.items() if key != "expected"},
    ],
)
def test_a_row_that_cannot_be_scored_is_named_by_file_and_line(row: object, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(ROW) + "\n\n" + json.dumps(row) + "\n", encoding="utf-8")

    code, said = scored(path)

    assert code == 2
    assert f"{path}:3" in said.replace("\n", "")

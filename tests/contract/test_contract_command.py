"""`fencepost contract check` and `diff`: what CI asks, and its exit codes."""

import json
from pathlib import Path

import pytest
from fencepost_cli.main import build
from fencepost_contracts.compare import compare
from fencepost_contracts.loader import parse_contract
from typer.testing import CliRunner, Result

from tests.contract.test_contracts_loader import GOOD
from tests.support.openapi import HELPDESK, helpdesk

RUNNER = CliRunner()


def run(*words: object) -> Result:
    return RUNNER.invoke(build(("contract",)), ["contract", *map(str, words)])


def module(folder: Path, text: str = GOOD, name: str = "mail") -> Path:
    path = folder / name
    path.mkdir(parents=True)
    (path / "contract.yaml").write_text(text)
    return path


def test_check_takes_a_file_a_module_and_a_folder_of_modules(tmp_path: Path) -> None:
    path = module(tmp_path)
    for place in (path, path / "contract.yaml", tmp_path):
        result = run("check", place)
        assert result.exit_code == 0 and "ok  mail 1: 1 tools" in result.output
    other = tmp_path / "old.yaml"
    other.write_text(GOOD)
    assert run("check", other).exit_code == 0, "another file name: by the name it gives itself"


def test_check_names_file_line_and_key_of_all_that_is_wrong(tmp_path: Path) -> None:
    path = module(tmp_path, GOOD.replace("risk: medium", "risk: medum"))
    result = run("check", path)
    assert result.exit_code == 1
    assert "contract.yaml:6: allowed_tools" in result.output.replace(str(path) + "/", "")
    assert run("check", tmp_path / "nowhere").exit_code == 1


def test_check_says_what_a_source_offers_and_what_not(tmp_path: Path) -> None:
    contract = HELPDESK.replace("    credential:", "    tools: all\n    credential:").replace(
        "sources:", "sources:\n  - name: wiki\n    mcp: {command: [wiki-server]}"
    )
    helpdesk(tmp_path, contract=contract, server="https://tickets.example")
    result = run("check", tmp_path, "--json")
    assert result.exit_code == 0, result.output
    [one] = json.loads(result.output)["contracts"]
    assert one["tools"] == 3 and one["asked_at_run_time"] == ["wiki"]


@pytest.mark.parametrize(
    ("old", "new", "breaking"),
    [
        ("description: Send an e-mail.", "description: Send it.", False),
        ("required: [to]", "required: []", False),
        ("required: []", "required: [to]", True),
        ("to: {type: string, format: email}", "to: {type: string}", False),
        ("to: {type: string}", "to: {type: string, format: email}", True),
        ("to: {type: string}", "to: {type: [string, \"null\"]}", False),
        ("to: {type: [string, \"null\"]}", "to: {type: string}", True),
        ("to: {type: string}", "to: {type: string, enum: [a]}", True),
        ("to: {type: string, enum: [a]}", "to: {type: string, enum: [a, b]}", False),
        ("to: {type: string}", "to: {type: string, maxLength: 9}", True),
        ("to: {type: string, maxLength: 9}", "to: {type: string, maxLength: 99}", False),
        ("to: {type: string}", "to: {type: string}\n        cc: {type: string}", False),
        ("to: {type: string}\n        cc: {type: string}", "to: {type: string}", True),
        ("id: {type: string}", "id: {type: string}\n        at: {type: string}", False),
        ("id: {type: string}\n        at: {type: string}", "id: {type: string}", True),
        ("id: {type: string}", "id: {type: [string, \"null\"]}", True),
        ("id: {type: [string, \"null\"]}", "id: {type: string}", False),
        ("risk: medium", "risk: low", True),
        ("risk: medium", "risk: high", True),
        ("effect_class: local", "effect_class: none", True),
        ("timeout_seconds: 2", "timeout_seconds: 1", True),
        ("timeout_seconds: 1", "timeout_seconds: 2", False),
        ("max_amount: 1000", "max_amount: 10", True),
        ("max_amount: 10", "max_amount: 1000", False),
        ("to: {type: string}", "to: {type: string, not: {const: x}}", True),
    ],
)  # fmt: skip
def test_a_change_is_breaking_or_compatible(old: str, new: str, breaking: bool) -> None:
    base = {  # what the line stands in place of in GOOD
        "to: ": "to: {type: string, format: email}", "id: ": "id: {type: string}", "risk": "risk: medium",
        "required": "required: [to]", "timeo": "timeout_seconds: 2", "max_a": "max_amount: 1000",
        "descr": "description: Send an e-mail.", "effec": "effect_class: local",
    }  # fmt: skip
    line = next(whole for start, whole in base.items() if old.startswith(start))
    catalogs = [parse_contract(GOOD.replace(line, text).encode(), "c", "mail")[1] for text in (old, new)]
    changes = compare(*catalogs)
    assert changes, "a difference is never passed over"
    assert any(change.breaking for change in changes) is breaking, changes


def test_diff_answers_by_its_exit_code(tmp_path: Path) -> None:
    old, same = module(tmp_path / "a"), module(tmp_path / "b")
    fewer = module(tmp_path / "c", GOOD[: GOOD.index("  - name")].replace("tools:", "tools: []") + "...\n")
    broken = module(tmp_path / "d", "version: [")
    assert run("diff", old, same).exit_code == 0
    assert run("diff", fewer, old).exit_code == 0, "a new tool is compatible"
    gone = run("diff", old, fewer, "--json")
    assert gone.exit_code == 1 and json.loads(gone.output)["verdict"] == "breaking"
    assert run("diff", old, broken).exit_code == 2
    other = module(tmp_path / "e", GOOD.replace("mail", "post"), "post")
    assert run("diff", old, other).exit_code == 2

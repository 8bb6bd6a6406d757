"""The gates on labelled drafts: every code fires, no bad one passes, at most 2 % false alarms."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from fencepost_domain.gates import GateOutcome, run_judge
from fencepost_domain.labelled import FALSE_ALARMS, Report, rows_of
from fencepost_quality import email
from fencepost_quality.draft import EmailFacts, blocks, wants_action
from fencepost_quality.evaluate import evaluate, judge_row, main
from fencepost_quality.response import without_repeats
from hypothesis import given
from hypothesis import strategies as st

TABLES = Path(__file__).parents[2] / "evals" / "gates"
EMAILS = rows_of((TABLES / "email.jsonl").read_text(encoding="utf-8"))
ANSWERS = rows_of((TABLES / "response.jsonl").read_text(encoding="utf-8"))


def test_120_drafts_half_of_them_bad_each_for_one_code() -> None:
    labels = Counter(len(row["expected"]) for row in EMAILS)
    assert labels == {0: 60, 1: 60}
    assert len({row["id"] for row in EMAILS}) == 120
    languages = Counter(row["facts"]["language"] for row in EMAILS)
    assert min(languages.values()) >= 50


def test_every_code_fires_and_no_bad_draft_passes() -> None:
    report = evaluate(EMAILS)
    assert (report.passed_bad, report.other_code, report.silent) == ([], [], [])
    assert len(report.false_alarms) <= FALSE_ALARMS * report.good
    assert set(report.fired) == set(email.CODES)


def test_answers_are_judged_as_labelled() -> None:
    report = evaluate(ANSWERS)
    assert report.is_good, report.lines()


@pytest.mark.parametrize("name", ["held-out-email.jsonl", "held-out-response.jsonl"])
def test_drafts_written_without_a_look_at_the_rules_are_judged_as_labelled(name: str) -> None:
    report = evaluate(rows_of((TABLES / name).read_text(encoding="utf-8")))
    assert report.is_good, report.lines()


@pytest.mark.parametrize("row", [row for row in ANSWERS if "cleaned" in row], ids=lambda row: row["id"])
def test_only_what_stands_there_word_for_word_is_taken_out(row: dict[str, str]) -> None:
    assert without_repeats(row["text"]) == row["cleaned"]
    assert without_repeats(row["cleaned"]) == row["cleaned"]


@pytest.mark.parametrize("row", EMAILS[60:], ids=lambda row: row["id"])
def test_a_violation_says_where_and_what_to_do(row: dict[str, object]) -> None:
    for found in judge_row(row).violations:
        assert found.position.startswith("/")
        assert found.detail
        assert found.fix
        assert "\n" not in found.detail


@pytest.mark.parametrize(
    "draft",
    [
        {},
        {"to": "x", "body": 7, "sender": "me"},
        {"to": [1], "body": [None], "sender": []},
        {"subject": ["a"]},
    ],
)
def test_a_draft_of_any_shape_is_judged_and_does_not_pass(draft: dict[str, object]) -> None:
    result = run_judge(email.GATE, lambda: email.judge(draft, EmailFacts("write a mail")))
    assert result.outcome is GateOutcome.FAILED


@given(st.dictionaries(st.sampled_from(["subject", "greeting", "body", "closing"]), st.text(max_size=80)))
def test_no_text_breaks_the_judge(draft: dict[str, str]) -> None:
    facts = EmailFacts("写邮件给王经理", relation="superior", sender_name="李明")
    assert run_judge(email.GATE, lambda: email.judge(draft, facts)).outcome is GateOutcome.FAILED
    assert all(text.strip() for _, text in blocks(draft))


def test_the_runner_fails_where_a_bad_one_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    planted = [*EMAILS, {**EMAILS[0], "id": "planted", "expected": ["subject_missing"]}]
    table = tmp_path / "planted.jsonl"
    table.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in planted))
    assert main([str(table)]) == 1
    assert "planted" in capsys.readouterr().out
    assert main([str(TABLES / "email.jsonl"), str(TABLES / "response.jsonl")]) == 0
    assert not Report().is_good
    assert main([]) == 1


def test_the_guide_names_every_code_and_no_other() -> None:
    page = (TABLES.parents[2] / "docs" / "guides" / "quality-gates.md").read_text()
    table = page.split("| code | fires on |")[1].split("\n\n")[0]
    named = [line.split("`")[1] for line in table.splitlines() if line.startswith("| `")]
    assert named == list(email.CODES)


@pytest.mark.parametrize(
    ("request_", "wants"),
    [
        ("write a thank-you mail to Anna for the nice evening", False),
        ("给王老师写一封感谢信，感谢他上周的帮助", False),
        ("draft a congratulations mail for Bob's promotion", False),
        ("draft an email to bob@example.com asking for the quarterly report by Friday", True),
        ("给客户写邮件，感谢他们的来访，并请他们确认下周的时间", True),
        ("thank Anna and invite her to the review on Monday", True),
        ("写一封邮件给李总，说明项目进度", True),
    ],
)
def test_a_mail_that_only_thanks_need_not_ask(request_: str, wants: bool) -> None:
    assert wants_action(request_) is wants

"""Every code that a gate can give is said to the user, in Chinese and in English."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import fencepost_documents.gates as document_gates
import fencepost_quality
import pytest
from fencepost_api.work import work
from fencepost_documents.gates import artifact, presentation
from fencepost_domain import gates
from fencepost_quality import email, response
from fencepost_quality.gate_words import MOST_SAID, WORDS, sentence, sentences

_HAN = re.compile("[\u4e00-\u9fff]")
_CODE = re.compile(r"[a-z]+(?:_[a-z]+)*")


def written_codes() -> set[str]:
    """Codes as the gates' sources give them to `Violation`, their tables and their lists name them."""
    found = {*email.CODES, response.EMPTY, response.NEARLY}
    found |= {value for name, value in vars(gates).items() if name.startswith("CODE_")}
    for module in (presentation, artifact):
        rows = [line.split("|")[1] for line in (module.__doc__ or "").splitlines() if line.startswith("| `")]
        found |= {code for row in rows for code in re.findall(r"`([a-z_]+)`", row)}
    folders = [Path(document_gates.__path__[0]), Path(fencepost_quality.__path__[0])]
    for path in (path for folder in folders for path in folder.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Violation" and node.args:
                first = node.args[0]
                if isinstance(first, ast.Constant):
                    found.add(str(first.value))
    return found


@pytest.mark.parametrize("code", sorted({*written_codes(), *WORDS}))
def test_each_code_is_said_in_both_languages(code: str) -> None:
    chinese, english = sentence(code, "zh-CN"), sentence(code, "en-US")
    assert chinese and english, f"{code} has no words in fencepost_quality.gate_words"
    assert _HAN.search(chinese) and chinese.endswith("。")
    assert not _HAN.search(english) and english.endswith(".") and english[0].isupper()


def test_the_sources_were_read() -> None:
    assert len(written_codes()) > 60 and all(_CODE.fullmatch(code) for code in written_codes())


def test_a_message_says_the_first_few_each_once_and_an_authors_own_code_as_it_is() -> None:
    codes = ["cell_empty", "cell_empty", "table_missing", "my_own_code", "truncated"]
    said = sentences(codes, "en")
    assert said == "A cell is empty. The table you asked for isn't there. my_own_code."
    assert sentences(codes, "zh").count("。") == MOST_SAID - 1


def test_a_runs_view_says_each_violation_in_the_runs_language() -> None:
    violation = {"code": "cell_empty", "position": "/slides/1", "detail": "row 2", "fix": "fill it"}
    report = {"gate": "presentation-arguments-v1", "passed": False, "violations": [violation]}
    events = [{"seq": 7, "type": "gate.judged", "said": report}]
    for locale, said in (("zh-CN", "有单元格是空的。"), ("en-US", "A cell is empty.")):
        [shown] = work(events, locale)["quality_reports"]
        assert shown["violations"] == [{**violation, "said": said}]

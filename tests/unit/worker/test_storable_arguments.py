"""A model's arguments with characters that no store holds: replaced where they stand (FI-6)."""

import json

import pytest
from fencepost_contracts import canonical
from fencepost_worker.models.assembler import storable


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        (r"三月\u0000报告", "三月�报告"),
        (r"\ud800报告", "�报告"),
        (r"报告\udfff", "报告�"),
        (r"\ude00\ud83d", "��"),
        (r"\ud800\u0041", "�A"),
        (r"\ud83d\ude00", "😀"),
        (r"\\u0000", r"\u0000"),
        (r"\\\u0000", "\\�"),
        (r"\n\"\u00e9\u000b", '\n"é\u000b'),
        ("\ud800报告", "�报告"),
    ],
)
def test_only_what_cannot_be_stored_is_replaced(written: str, kept: str) -> None:
    assert canonical.loads(storable(f'{{"title": "{written}"}}')) == {"title": kept}


def test_what_is_no_json_stays_none() -> None:
    for text in (r'{"a": "\u000', '{"a": "\x00"}', "{", ""):
        with pytest.raises(canonical.JsonRefused):
            canonical.loads(storable(text))


def test_whole_arguments_are_unchanged() -> None:
    text = json.dumps({"a": "中文 😀 é", "b": [1, None, "\\u0000"]})
    assert storable(text) == text

"""What a person reads of an author's `interrupt(value)`, and what `interrupt()` returns for their answer."""

from __future__ import annotations

from typing import Any

import pytest
from fencepost_worker.engine.langgraph.brought.questions import answer_for, question_from
from langgraph.types import Interrupt

COLOURS = {"question": "Which?", "candidates": ["red", {"label": "Deep blue", "value": "blue"}]}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("Why?", "Why?"),
        ({"question": "Send it?", "draft": "Dear Bob", "n": 2}, "Send it?\ndraft: Dear Bob\nn: 2"),
        ({"anything": [1, 2]}, '{"anything": [1, 2]}'),
        ([{"action_request": {"action": "x"}}], '[{"action_request": {"action": "x"}}]'),
        (None, "null"),
        ("x" * 9_000, "x" * 4_000),
    ],
)  # fmt: skip
def test_the_words(value: Any, text: str) -> None:
    question = question_from(Interrupt(value=value, id="i"), 3)
    assert (question.text, question.index, question.n) == (text, 3, 1)


@pytest.mark.parametrize(
    ("resolution", "returned"),
    [
        ({"choice": "red"}, "red"),
        ({"choice": "blue"}, "blue"),
        ({"choice": "Deep blue"}, "blue"),
        ({"value": {"r": 1}}, {"r": 1}),
        ({"text": "green"}, "green"),
        ({}, ""),
    ],
)
def test_the_answer(resolution: dict[str, Any], returned: Any) -> None:
    question = question_from(Interrupt(value=COLOURS, id="i"), 0)
    assert [one["label"] for one in question.candidates] == ["red", "Deep blue"]
    assert answer_for(question, resolution) == returned

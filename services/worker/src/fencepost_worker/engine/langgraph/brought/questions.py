"""Pauses of a brought graph as questions of ours: its own `interrupt(value)`, and those of the tool node."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fencepost_domain.vocabulary import InterruptKind
from langgraph.types import Interrupt

from fencepost_worker.flow.step import Question

OURS: Final = "fencepost_question"  # key of the value with which the tool node pauses
LONGEST_TEXT: Final = 4_000
_TEXT_KEYS: Final = ("question", "text", "message", "description")


def pause_for(question: Question) -> Interrupt:
    """The tool node's pause. Its id is the question's own key, the same whenever the node runs again."""
    name = f"fencepost-{question.kind}-{question.index}-{question.n}"
    return Interrupt(value={OURS: question.to_json()}, id=name)


def ours(pending: Interrupt) -> Question | None:
    """The tool node's question, or None for a pause of the author's."""
    value = pending.value
    return Question.from_json(value[OURS]) if isinstance(value, Mapping) and OURS in value else None


def question_from(pending: Interrupt, number: int) -> Question:
    """An author's `interrupt(value)` as a question. number: its own in the run.

    value: a text, or a mapping with `question`, and `candidates` or `input_schema` for who answers; anything
    else is shown as JSON. response_schema of interrupt() is the schema where the value names none.
    """
    value = pending.value
    told: Mapping[str, Any] = value if isinstance(value, Mapping) else {}
    schema = told.get("input_schema") or getattr(pending, "response_schema", None)
    return Question(
        InterruptKind.INPUT,
        number,
        1,
        _text(value)[:LONGEST_TEXT],
        candidates=tuple(_candidates(told.get("candidates"))),
        input_schema=schema if isinstance(schema, Mapping) else None,
        preview=_plain(value),
    )


def answer_for(question: Question, resolution: Mapping[str, Any]) -> Any:
    """What `interrupt()` returns: the value of the choice, the value, or the text. Never None."""
    choice = resolution.get("choice")
    if choice is not None:
        for candidate in question.candidates:
            if choice in (candidate["id"], candidate["value"], candidate["label"]):
                return candidate["value"]
        return choice
    if resolution.get("value") is not None:
        return resolution["value"]
    return str(resolution.get("text") or "")


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        for key in _TEXT_KEYS:
            if isinstance(value.get(key), str) and value[key].strip():
                return str(value[key])
    return json.dumps(value, ensure_ascii=False, default=str)


def _candidates(told: Any) -> Sequence[Mapping[str, Any]]:
    """`["a", "b"]`, or mappings with `label` and `value`."""
    if not isinstance(told, Sequence) or isinstance(told, str):
        return []
    found = []
    for place, one in enumerate(told):
        if isinstance(one, Mapping):
            value = str(one.get("value", one.get("id", place)))
            found.append(
                {"id": str(one.get("id", value)), "label": str(one.get("label", value)), "value": value}
            )
        else:
            found.append({"id": str(one), "label": str(one), "value": str(one)})
    return found


def _plain(value: Any) -> Any:
    """As JSON, for who is asked; a value that isn't JSON is told in words."""
    return json.loads(json.dumps(value, ensure_ascii=False, default=str))

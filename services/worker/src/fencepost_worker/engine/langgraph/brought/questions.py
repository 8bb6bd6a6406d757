"""Pauses of a brought graph as questions of ours: its own `interrupt(value)`, and those of the tool node."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fencepost_domain.vocabulary import InterruptKind
from langgraph.types import Interrupt

from fencepost_worker.flow.step import Question

OURS: Final = "fencepost_question"  # key of the value with which the tool node pauses
TASK: Final = "fencepost_task"  # the same, where it waits for no person
LONGEST_TEXT: Final = 4_000
_TEXT_KEYS: Final = ("question", "text", "message", "description")
_FOR_THE_FORM: Final = ("candidates", "input_schema")


def pause_for(question: Question) -> Interrupt:
    """The tool node's pause. Its id is the question's own key, the same whenever the node runs again."""
    name = f"fencepost-{question.kind}-{question.index}-{question.n}"
    return Interrupt(value={OURS: question.to_json()}, id=name)


def pause_for_task(index: int) -> Interrupt:
    """The tool node's pause while a task of a tool is at work elsewhere: nobody is asked."""
    return Interrupt(value={TASK: index}, id=f"fencepost-task-{index}")


def is_task(pending: Interrupt) -> bool:
    return isinstance(pending.value, Mapping) and TASK in pending.value


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
    """The words to be read; of a mapping the question, and below it what else it shows, a line each."""
    if isinstance(value, str):
        return value
    if not isinstance(value, Mapping):
        return _json(value)
    asked = next((k for k in _TEXT_KEYS if isinstance(value.get(k), str) and value[k].strip()), None)
    if asked is None:
        return _json(value)
    shown = {name: one for name, one in value.items() if name not in (asked, *_FOR_THE_FORM)}
    lines = [f"{name}: {one if isinstance(one, str) else _json(one)}" for name, one in shown.items()]
    return "\n".join([str(value[asked]), *lines])


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


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)

"""The control tools every module's agent has beside its catalog: answer, ask, hand over.

They act on nothing outside the run. Their names have no module prefix, so no catalog can hold them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from fencepost_worker.models.port import ToolSpec

RESPOND: Final = "respond"
ASK: Final = "ask"
HAND_OVER: Final = "hand_over"
CONTROL: Final = frozenset({RESPOND, ASK, HAND_OVER})

_LEFT: Final = {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 300}, "maxItems": 8}
_RESPOND: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"text": {"type": "string", "maxLength": 20000}, "left_undone": _LEFT},
    "additionalProperties": False,
}
_ASK: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "question": {"type": "string", "minLength": 1, "maxLength": 1000},
        "slot": {"type": "string", "minLength": 1, "maxLength": 40},
        "intent_index": {"type": "integer", "minimum": 0, "maximum": 16},
        "candidates": {
            "type": "array",
            "maxItems": 12,
            "items": {
                "type": "object",
                "properties": {
                    "id": {"type": "string", "minLength": 1, "maxLength": 40},
                    "label": {"type": "string", "minLength": 1, "maxLength": 300},
                    "value": {"type": "string", "maxLength": 500},
                },
                "required": ["id", "label", "value"],
                "additionalProperties": False,
            },
        },
        "input_schema": {"type": "object"},
    },
    "required": ["question", "slot"],
    "additionalProperties": False,
}


def control_specs(*, modules: Sequence[str], may_hand_over: bool) -> tuple[ToolSpec, ...]:
    """The control tools as offered now; `hand_over` only where there is somebody to hand over to."""
    specs = [
        ToolSpec(
            RESPOND,
            "Answer the user in their language. left_undone: what they asked for that is another module's.",
            _RESPOND,
            control=True,
        ),
        ToolSpec(
            ASK,
            "Ask one short question when a time, an amount, a recipient or a choice is missing or unsure.",
            _ASK,
            control=True,
        ),
    ]
    if may_hand_over and modules:
        schema = {
            "type": "object",
            "properties": {"module": {"type": "string", "enum": sorted(modules)}},
            "required": ["module"],
            "additionalProperties": False,
        }
        specs.append(
            ToolSpec(HAND_OVER, "Give the whole request to the module it belongs to.", schema, control=True)
        )
    return tuple(specs)

"""What each role but the module's may answer with: one tool, called once. Nothing else of an answer
counts."""

from __future__ import annotations

from typing import Any, Final

from fencepost_worker.models.control import RESPOND
from fencepost_worker.models.port import ToolSpec

PLAN: Final = "plan"
COMPOSE: Final = "compose"
ASSESS: Final = "assess"
REPAIR: Final = "repair"


def _object(required: tuple[str, ...], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _text(most: int, least: int = 1) -> dict[str, Any]:
    return {"type": "string", "minLength": least, "maxLength": most}


_STEP: Final = _object(
    ("id", "title"),
    id={"type": "string", "pattern": "^[a-z][a-z0-9_]{0,19}$"},
    title=_text(200),
    tool=_text(128),
    observable=_text(300, 0),
    needs={"type": "array", "items": _text(20), "maxItems": 8},
    join={"enum": ["all", "quorum", "first"]},
    quorum={"type": "integer", "minimum": 1, "maximum": 8},
    on_failure={"enum": ["cancel_rest", "keep"]},
)
PLAN_SPEC: Final = ToolSpec(
    PLAN,
    "The plan: observable steps in order, each with the tool it calls, if any, and what it needs done.",
    _object(
        ("objective", "steps"),
        objective=_text(500),
        task_intent={"type": ["string", "object"]},
        success_criteria={"type": "array", "items": _text(200), "maxItems": 8},
        steps={"type": "array", "items": _STEP, "minItems": 1, "maxItems": 8},
    ),
    control=True,
)
COMPOSE_SPEC: Final = ToolSpec(
    COMPOSE,
    "The step's arguments from this batch of the sources alone. conclusions: single facts, by name.",
    _object(
        ("arguments",),
        arguments={"type": "object"},
        conclusions={"type": "object", "additionalProperties": _text(500, 0)},
    ),
    control=True,
)
ASSESS_SPEC: Final = ToolSpec(
    ASSESS,
    "Whether the plan's success criteria are met by what was done, or can be met by going on.",
    _object(
        ("verdict",),
        verdict={"enum": ["completed", "continue", "blocked"]},
        reasons={"type": "array", "items": _text(500), "maxItems": 8},
        next=_text(500, 0),
    ),
    control=True,
)
REPAIR_SPEC: Final = ToolSpec(
    REPAIR,
    "The same arguments with the named violations mended and nothing else changed.",
    _object(("arguments",), arguments={"type": "object"}),
    control=True,
)
RESPOND_SPEC: Final = ToolSpec(
    RESPOND,
    "The same answer with the named violations mended; no fact added, none left out.",
    _object(("text",), text=_text(60_000)),
    control=True,
)

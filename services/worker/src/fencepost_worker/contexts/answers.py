"""The tools by which roles answer: one each, its schema the contract of the role. They act on nothing."""

from __future__ import annotations

from typing import Any, Final

from fencepost_worker.models.port import ToolSpec

PLAN: Final = "plan"
COMPOSE: Final = "compose"
ASSESS: Final = "assess"
REPAIR: Final = "repair"
COMPACT: Final = "compact"
MOST_STEPS: Final = 8

_LINE: Final = {"type": "string", "minLength": 1, "maxLength": 500}
_PLAN: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["objective", "steps", "success_criteria"],
    "properties": {
        "objective": _LINE,
        "steps": {
            "type": "array",
            "minItems": 1,
            "maxItems": MOST_STEPS,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["id", "title"],
                "properties": {
                    "id": {"type": "string", "pattern": "^[a-z][a-z0-9_]{0,39}$"},
                    "title": _LINE,
                    "tool": {"type": "string", "minLength": 1, "maxLength": 128},
                    "observable": _LINE,
                    "needs": {"type": "array", "maxItems": MOST_STEPS, "items": {"type": "string"}},
                    "join": {"enum": ["all", "quorum", "first"]},
                    "quorum": {"type": "integer", "minimum": 1, "maximum": 64},
                    "on_failure": {"enum": ["cancel_rest", "keep"]},
                },
            },
        },
        "success_criteria": {"type": "array", "minItems": 1, "maxItems": 12, "items": _LINE},
        "task_intent": {"type": ["object", "string"]},
    },
}
_COMPOSE: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["arguments", "used_locators"],
    "properties": {
        "arguments": {"type": "object"},
        "used_locators": {"type": "array", "items": {"type": "string", "maxLength": 200}},
        # Facts of which there is one: branches that give different ones are in conflict.
        "conclusions": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 500}},
        "left_out": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["locator", "reason"],
                "properties": {"locator": {"type": "string", "maxLength": 200}, "reason": _LINE},
            },
        },
    },
}
_ASSESS: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["verdict", "reasons"],
    "properties": {
        "verdict": {"enum": ["completed", "continue", "blocked"]},
        "reasons": {
            "type": "array",
            "minItems": 1,
            "maxItems": 12,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["text"],
                "properties": {"text": _LINE, "evidence": {"type": "array", "items": {"type": "string"}}},
            },
        },
        "next": _LINE,
    },
}
_REPAIR: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["arguments"],
    "properties": {"arguments": {"type": "object"}},
}
_COMPACT: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["summary", "open_tasks", "done"],
    "properties": {
        "summary": {"type": "string", "minLength": 1, "maxLength": 8000},
        "open_tasks": {"type": "array", "maxItems": 20, "items": _LINE},
        "done": {"type": "array", "maxItems": 40, "items": _LINE},
    },
}


def answer_of(name: str) -> ToolSpec:
    """The tool of that name, as it is offered to its role."""
    words, schema = _ANSWERS[name]
    return ToolSpec(name, words, schema, control=True)


_ANSWERS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    PLAN: ("Give the plan: objective, steps, how to tell that it is done.", _PLAN),
    COMPOSE: ("Give the tool's arguments made from this batch.", _COMPOSE),
    ASSESS: ("Say how far the work is, by evidence.", _ASSESS),
    REPAIR: ("Give the mended arguments, whole.", _REPAIR),
    COMPACT: ("Give the shortened conversation.", _COMPACT),
}

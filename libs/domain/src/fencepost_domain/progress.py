"""Whether a run still gets anywhere: repeated actions, steps that bring nothing new. Pure, over JSON state.

Evidence is named by what it says (a hash of content), so the same result twice is not news. Whatever was
counted starts again when there is news.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

MOST_EVIDENCE: Final = 2000  # ids kept; beyond it the oldest are forgotten, and would count as news again


@dataclass(frozen=True, slots=True)
class Limits:
    """actions: how often the same call may be made without news between; steps: rounds of a plan's step."""

    actions: int = 2
    steps: int = 3


@dataclass(frozen=True, slots=True)
class Progress:
    """evidence: ids seen, in order. actions, steps: times since the last news. refused: by a person."""

    evidence: tuple[str, ...] = ()
    actions: Mapping[str, int] = field(default_factory=dict)
    steps: Mapping[str, int] = field(default_factory=dict)
    refused: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As it stands in graph state."""
        return {
            "evidence": list(self.evidence),
            "actions": dict(self.actions),
            "steps": dict(self.steps),
            "refused": list(self.refused),
        }

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Progress:
        """Of a state's value; an empty one is the beginning."""
        return cls(
            tuple(raw.get("evidence", ())),
            dict(raw.get("actions", {})),
            dict(raw.get("steps", {})),
            tuple(raw.get("refused", ())),
        )


@dataclass(frozen=True, slots=True)
class Stall:
    """Why it goes nowhere. code: `repeated_action`, `refused_action` or `no_new_evidence`."""

    code: str
    key: str
    times: int


def action_key(tool: str, arguments: Mapping[str, Any]) -> str:
    """The same for the same tool with the same arguments, whatever the order of their keys."""
    said = json.dumps([tool, arguments], sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return f"{tool}:{hashlib.sha256(said.encode()).hexdigest()[:32]}"


def with_action(progress: Progress, tool: str, arguments: Mapping[str, Any]) -> Progress:
    """A call is about to be made."""
    key = action_key(tool, arguments)
    return replace(progress, actions={**progress.actions, key: progress.actions.get(key, 0) + 1})


def with_step(progress: Progress, step: str) -> Progress:
    """A round of a plan's step is over."""
    return replace(progress, steps={**progress.steps, step: progress.steps.get(step, 0) + 1})


def with_refusal(progress: Progress, tool: str, arguments: Mapping[str, Any]) -> Progress:
    """A person refused this call; it isn't proposed again (design 02 §4)."""
    key = action_key(tool, arguments)
    return progress if key in progress.refused else replace(progress, refused=(*progress.refused, key))


def with_evidence(progress: Progress, ids: Iterable[str]) -> Progress:
    """What was learnt. New ids clear the counts; a refusal stays."""
    fresh = [one for one in dict.fromkeys(ids) if one not in progress.evidence]
    if not fresh:
        return progress
    kept = (*progress.evidence, *fresh)[-MOST_EVIDENCE:]
    return Progress(evidence=kept, refused=progress.refused)


def stall_before(
    progress: Progress, tool: str, arguments: Mapping[str, Any], limits: Limits = Limits()
) -> Stall | None:
    """Whether making this call would go in a circle."""
    key = action_key(tool, arguments)
    if key in progress.refused:
        return Stall("refused_action", key, 1)
    times = progress.actions.get(key, 0)
    return Stall("repeated_action", key, times) if times >= limits.actions else None


def stalled(progress: Progress, limits: Limits = Limits()) -> Stall | None:
    """Whether the rounds so far go nowhere: a step that used up its rounds, or a call over its number."""
    for step, times in progress.steps.items():
        if times >= limits.steps:
            return Stall("no_new_evidence", step, times)
    for key, times in progress.actions.items():
        if times > limits.actions:
            return Stall("repeated_action", key, times)
    return None

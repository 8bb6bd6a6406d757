"""A scripted provider that answers by role: which one asks is told by the tool it is offered.

Each role has answers in order, the last one for ever; an answer is a call's arguments, or a function of the
request's body that makes them. What was asked is counted by role (I15), at the provider itself.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.scripted_model import Chunks, text_answer, tool_answer

Said = dict[str, Any] | str | list[Any]  # arguments; words; chunks as they are sent
Arguments = dict[str, Any] | str | Callable[[dict[str, Any]], Said]
ROLES = {
    "plan": "planner",
    "compose": "composer",
    "assess": "assessor",
    "repair": "repairer",
    "compact": "compactor",
}

DONE: dict[str, Any] = {"verdict": "completed", "reasons": [{"text": "it is all there"}]}


@dataclass(slots=True)
class ScriptedRoles:
    """module: the module agent's answers: (tool, arguments), or words. The rest: what a role answers with,
    in order."""

    module: Sequence[tuple[str, dict[str, Any]] | str]
    planner: list[Arguments] = field(default_factory=list)
    composer: list[Arguments] = field(default_factory=list)
    assessor: list[Arguments] = field(default_factory=lambda: [DONE])
    repairer: list[Arguments] = field(default_factory=list)
    responder: list[Arguments] = field(default_factory=list)
    compactor: list[Arguments] = field(default_factory=list)
    asked: Counter[str] = field(default_factory=Counter)

    def popleft(self) -> Callable[[dict[str, Any]], Chunks]:
        """In place of a ScriptedModel's script: it never ends."""
        return self._answer

    def _answer(self, body: dict[str, Any]) -> Chunks:
        names = [one["function"]["name"] for one in body.get("tools", ())]
        role = role_of(names)
        place = self.asked[role]
        self.asked[role] += 1
        if role == "module":
            one = self.module[min(place, len(self.module) - 1)]
            return text_answer(one) if isinstance(one, str) else tool_answer(*one)
        script: list[Arguments] = getattr(self, role)
        said = script[min(place, len(script) - 1)]
        given = said(body) if callable(said) else said
        if isinstance(given, list):
            return given
        if isinstance(given, str):
            return text_answer(given)
        return tool_answer(names[0], given)


def role_of(tools: Sequence[str]) -> str:
    """Whose request it is: a role is offered one tool, the module's agent the catalog and its control
    tools."""
    if len(tools) == 1 and tools[0] in ROLES:
        return ROLES[tools[0]]
    return "responder" if list(tools) == ["respond"] else "module"


def text_of(body: dict[str, Any]) -> str:
    """All that a request says, as one text."""
    return json.dumps(body["messages"], ensure_ascii=False)

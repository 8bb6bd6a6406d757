"""What a brought graph and its host say to each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool of the module's contract. id: by which its answer is paired."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What became of a call.

    status: `completed`, `rejected` (a person said no), `refused` (never possible: see reasons), `failed`
    (tried, see error) or `outcome_unknown` (nobody knows; the run can't succeed before somebody does).
    index: of the run's action; None for a refused call.
    """

    call_id: str
    name: str
    status: str
    result: Any = None
    error: Mapping[str, Any] | None = None
    reasons: Sequence[Mapping[str, Any]] = ()
    note: str | None = None
    index: int | None = None

    def told(self) -> dict[str, Any]:
        """What a model is told of it."""
        body: dict[str, Any] = {"status": self.status}
        if self.status == "completed":
            body["result"] = self.result
        if self.error:
            body["error"] = dict(self.error)
        if self.reasons:
            body["reasons"] = [dict(reason) for reason in self.reasons]
        if self.note:
            body["note"] = self.note
        return body


@dataclass(frozen=True, slots=True)
class RunInput:
    """What a graph begins with; given to `to_state(run)` where graph.py exports one.

    at: when the user asked, from which "tomorrow" counts. zone: IANA name or None. history: earlier turns of
    the conversation as dicts of `role` and `content`, paired. attachments: ids of the files that came with
    it. simulated: what a node does by itself, past tools and chat_model(), it must not do now. Who asks
    isn't here: it is no graph's business.
    """

    text: str
    locale: str
    zone: str | None
    currency: str
    at: datetime
    history: Sequence[Mapping[str, Any]] = field(default_factory=tuple)
    simulated: bool = False
    attachments: Sequence[str] = ()

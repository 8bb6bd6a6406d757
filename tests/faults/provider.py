"""A model provider over real HTTP: answers many runs at once, by what each request says, and keeps its log.

Its log is what the tables can't show: what was really sent (I18), and how often (I15).
"""

from __future__ import annotations

import json
import re
from collections import Counter, deque
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from fencepost_worker.models.control import ASK, HAND_OVER

from tests.support.scripted_model import Chunks, ScriptedModel, event, text_answer, tool_answer

FAILURES: Final = 2  # as many as one step tries: the run is deferred
OVERLOADED: Final = (event({"error": {"message": "scripted", "code": 503}}),)
IN_THE_PAST: Final = "2020-01-01T09:00:00+00:00"


class _Endless(deque[Any]):
    """A script that never runs out: each answer is made of its request."""

    def __init__(self) -> None:
        super().__init__()
        self.failed: Counter[str] = Counter()

    def popleft(self) -> Any:
        return self._answer

    def _answer(self, body: dict[str, Any]) -> Chunks:
        words = _said(body)[0]
        if "overload" in words and self.failed[words] < FAILURES:
            self.failed[words] += 1
            return OVERLOADED
        return answer_to(body)


def make_provider() -> ScriptedModel:
    return ScriptedModel(script=_Endless())


def answer_to(body: dict[str, Any]) -> Chunks:
    """What a sensible model would say; told so, one that first calls nonsense, or a time that is past."""
    said = _said(body)
    words, title = " ".join(said), said[0].partition(" to ")[2].partition(" (")[0]
    is_first = all(message["role"] in ("system", "user") for message in body["messages"])
    offered = {tool["function"]["name"] for tool in body.get("tools", ())}
    if "hello" in words:
        return text_answer("Hello!")
    if "life__create_reminder" not in offered:
        return tool_answer(HAND_OVER, {"module": "life"})
    if "paid" in words:
        return tool_answer("life.add_ledger_entry", {"amount": "1234.50", "currency": "USD"})
    if "not known" in body["messages"][0]["content"] and is_first:
        return tool_answer(ASK, {"question": "Which zone?", "slot": "zone"})
    if "nonsense" in words and is_first:
        return tool_answer("life.launch_rocket", {})
    soon = re.search(r"in (\d+) seconds", words)
    at = datetime.now(UTC) + timedelta(seconds=int(soon[1]) if soon else 86_400)
    when = IN_THE_PAST if "yesterday" in words and is_first else at.isoformat(timespec="seconds")
    zone = {"zone": said[-1]} if "/" in said[-1] else {}  # what was asked for is said
    return tool_answer("life.create_reminder", {"title": title, "at": when, **zone})


def _said(body: dict[str, Any]) -> list[str]:
    return [message["content"] or "" for message in body["messages"] if message["role"] == "user"]


def unpaired(body: dict[str, Any]) -> list[str]:
    """Calls of a request that no tool message right behind them answers, and answers to no call (I18)."""
    open_calls: set[str] = set()
    faults: list[str] = []
    for message in body["messages"]:
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                faults.append(f"{message['tool_call_id']} answers nothing")
            open_calls.discard(message["tool_call_id"])
            continue
        faults += sorted(open_calls)
        open_calls = {call["id"] for call in message.get("tool_calls") or ()}
    return faults + sorted(open_calls)


def how_often(requests: list[dict[str, Any]]) -> Counter[str]:
    """How often each request was sent, by all that it says."""
    return Counter(json.dumps(body, sort_keys=True) for body in requests)

"""A model provider over real HTTP that answers many runs at once, by what each request says, and keeps its log.

Its log is what the tables can't show: what was really sent (I18), and how often (I15).
"""

from __future__ import annotations

import json
from collections import Counter, deque
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from fencepost_worker.models.control import ASK, HAND_OVER, RESPOND

from tests.support.scripted_model import Chunks, ScriptedModel, event, text_answer, tool_answer

OVERLOADED: Final = event({"error": {"message": "scripted", "code": 503}})
IN_THE_PAST: Final = "2020-01-01T09:00:00+00:00"


class _Endless(deque[Any]):
    """A script that never runs out: each answer is made of its request."""

    def popleft(self) -> Any:
        return answer_to


def make_provider() -> ScriptedModel:
    return ScriptedModel(script=_Endless())


def answer_to(body: dict[str, Any]) -> Chunks:
    """What a sensible model would say; told `slowly` or `wrongly`, one that fails first."""
    messages = body["messages"]
    said = [m["content"] or "" for m in messages if m["role"] == "user"]
    asked = [m for m in messages if m["role"] == "assistant"]
    words = " ".join(said)
    offered = {tool["function"]["name"] for tool in body.get("tools", ())}
    if "hello" in words:
        return text_answer("Hello!")
    if "life__create_reminder" not in offered:
        return tool_answer(HAND_OVER, {"module": "life"})
    if "paid" in words:
        return tool_answer("life.add_ledger_entry", {"amount": "1234.50", "currency": "USD"})
    title = said[-1] if not asked else said[0]
    title = title.partition(" to ")[2].partition(" (")[0]
    if "not known" in messages[0]["content"] and not asked:
        return tool_answer(ASK, {"question": "Which zone?", "slot": "zone"})
    if "nonsense" in words and not asked:
        return tool_answer("life.launch_rocket", {})
    at = datetime.now(UTC) + timedelta(seconds=12 if "seconds" in words else 86_400)
    when = IN_THE_PAST if "yesterday" in words and not asked else at.isoformat(timespec="seconds")
    return tool_answer("life.create_reminder", {"title": title, "at": when})


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


__all__ = ["RESPOND", "answer_to", "how_often", "make_provider", "unpaired"]

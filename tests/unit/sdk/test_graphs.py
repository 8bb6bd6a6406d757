"""The tool node on its own: which calls it finds in which messages, and what it answers."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from fencepost import call_tool, chat_model, tool_node, tool_node_for, tools
from fencepost.graphs import NotInARun
from fencepost.testing import playing
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.graph.message import add_messages


def asks(*names: str, start: int = 0) -> AIMessage:
    calls = [
        {"id": f"c{n}", "name": name, "args": {"n": n}, "type": "tool_call"}
        for n, name in enumerate(names, start)
    ]
    return AIMessage("", tool_calls=calls)


@dataclass
class Kept:
    messages: list[Any] = field(default_factory=list)


TOOLS = {"a.do": lambda args: {"did": args["n"]}, "a.fail": lambda args: 1 / 0}
OPENAI = {"id": "c0", "type": "function", "function": {"name": "a__do", "arguments": '{"n": 0}'}}
LATER = ToolMessage("done", tool_call_id="c0")
SHAPES = [
    ({"messages": [HumanMessage("x"), asks("a.do")]}, ["c0"]),
    ([HumanMessage("x"), asks("a.do")], ["c0"]),
    (Kept([asks("a__do")]), ["c0"]),
    ({"messages": [{"role": "assistant", "tool_calls": [OPENAI]}]}, ["c0"]),
    ({"messages": [asks("a.do", "a.do"), LATER]}, ["c1"]),
    ({"messages": [asks("a.do"), HumanMessage("never mind"), AIMessage("well")]}, []),
    ({"messages": [HumanMessage("x")]}, []),
    ({"messages": []}, []),
]


@pytest.mark.parametrize(("state", "answered"), SHAPES)
async def test_the_calls_of_the_last_answer_that_nothing_answers(state: Any, answered: list[str]) -> None:
    with playing(TOOLS) as played:
        told = await tool_node(state)
    assert [m["tool_call_id"] for m in told["messages"]] == answered
    assert [name for name, _ in played.calls] == ["a.do"] * len(answered)


async def test_answers_are_paired_in_order_and_say_what_became_of_each() -> None:
    with playing(TOOLS, rejected={"a.no"}):
        told = await tool_node([asks("a.do", "a.fail", "a.unknown")])
    statuses = [json.loads(m["content"])["status"] for m in told["messages"]]
    assert statuses == ["completed", "failed", "refused"]
    assert [m["status"] for m in told["messages"]] == ["success", "error", "error"]


async def test_one_id_for_the_calls_of_two_answers_answers_both() -> None:
    """Some providers do so; the second answer must not take the first one's place."""
    with playing(TOOLS):
        history: Any = add_messages([], [asks("a.do")])
        history = add_messages(history, (await tool_node({"messages": history}))["messages"])
        history = add_messages(history, [asks("a.do")])
        history = add_messages(history, (await tool_node({"messages": history}))["messages"])
    assert [m.type for m in history] == ["ai", "tool", "ai", "tool"]


async def test_arguments_that_are_no_json_are_refused_and_answered() -> None:
    broken = {"id": "c9", "name": "a.do", "args": "{", "error": "x", "type": "invalid_tool_call"}
    with playing(TOOLS) as played:
        told = await tool_node([AIMessage("", invalid_tool_calls=[broken])])
    assert played.calls == []
    [answer] = told["messages"]
    assert answer["tool_call_id"] == "c9" and "arguments_invalid" in answer["content"]


async def test_other_keys_and_states_without_messages() -> None:
    with playing(TOOLS):
        told = await tool_node_for("chat")({"chat": [asks("a.do")]})
        assert list(told) == ["chat"]
        with pytest.raises(TypeError, match="tool_node_for"):
            await tool_node({"chat": []})


async def test_by_name_and_offered_to_a_model() -> None:
    with playing(TOOLS, rejected={"a.do"}, model="a model") as played:
        assert (await call_tool("a.do", {"n": 1})).status == "rejected"
        assert [one["function"]["name"] for one in tools()] == ["a__do", "a__fail"]
        assert chat_model() == "a model"
    assert played.calls == [("a.do", {"n": 1})]


async def test_outside_of_a_run_it_says_what_to_do() -> None:
    for attempt in (lambda: tool_node([asks("a.do")]), lambda: call_tool("a.do")):
        with pytest.raises(NotInARun, match=r"fencepost\.testing\.playing"):
            await attempt()
    with pytest.raises(NotInARun, match="chat_model"):
        chat_model()

"""A graph as its author might bring it: one of several ways through it, named by the first word said.

Every node notes that it ran in the file that DESK_LOG names, so that a test can count.
"""

from __future__ import annotations

import asyncio
import operator
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from fencepost import call_tool, tool_node
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Send, interrupt

from .noting import has_failed, note

VERSION = "1"
LIMITS = {"actions": 40}


class Mood(StrEnum):
    CALM = "calm"


@dataclass
class Plan:
    title: str
    mood: Mood


class Stranger:
    """A type that nobody declared."""


class State(MessagesState):
    seen: Annotated[list[str], operator.add]
    plan: Plan | None
    anything: Any


def words(state: State) -> list[str]:
    said = [m for m in state["messages"] if m.type == "human"][-1]
    return str(said.content).split()


def way(state: State) -> str | list[str] | list[Send]:
    name = words(state)[0]
    if name == "fan":
        return ["fan_tool", "fan_slow", "fan_ask"]
    if name == "sends":
        return [Send("sent", {"title": title}) for title in words(state)[1:]]
    return name


def call(*titles: str, tool: str = "desk.publish", prefix: str = "c") -> AIMessage:
    calls = [
        {"id": f"{prefix}{n}", "name": tool, "args": {"title": title}, "type": "tool_call"}
        for n, title in enumerate(titles)
    ]
    return AIMessage("", tool_calls=calls)


# ── steps: three nodes, one after the other, the middle one with two effects ────────────────────────


async def steps(state: State) -> Any:
    note("steps")
    note("steps end")
    return {"seen": ["steps"], "plan": Plan("a plan", Mood.CALM)}


async def steps_draft(state: State) -> Any:
    note("steps_draft")
    first = await call_tool("desk.write_draft", {"title": "one"})
    note("steps_draft between")
    second = await call_tool("desk.write_draft", {"title": "two"})
    note("steps_draft end")
    assert (first.index, second.index) == (0, 1)
    return {"seen": ["steps_draft"]}


async def steps_say(state: State) -> Any:
    note("steps_say")
    assert state["plan"] == Plan("a plan", Mood.CALM), "the author's types come back as they were"
    return {"messages": [AIMessage(" ".join(state["seen"]))]}


# ── rounds: LG-2, one node that drafts and asks until somebody says yes ─────────────────────────────


async def rounds(state: State) -> Any:
    note("rounds")
    for n in range(5):
        await call_tool("desk.write_draft", {"title": f"draft {n}"})
        note(f"rounds draft {n}")
        done = await call_tool("desk.publish", {"title": f"draft {n}"})
        note(f"rounds {n} {done.status}")
        if done.status == "completed":
            return {"messages": [AIMessage(f"published draft {n}")]}
    return {"messages": [AIMessage("nobody liked it")]}


# ── calls: an assistant message with calls, and the tool node as it is ──────────────────────────────


async def calls(state: State) -> Any:
    note("calls")
    titles = words(state)[1:]
    tool = "desk.nonsense" if titles[0] == "nonsense" else "desk__publish"
    return {"messages": [call(*titles, tool=tool)]}


async def calls_say(state: State) -> Any:
    note("calls_say")
    told = [m.content for m in state["messages"] if m.type == "tool"]
    return {"messages": [AIMessage("\n".join(told))]}


# ── again: the same action put before a person twice ────────────────────────────────────────────────


async def again(state: State) -> Any:
    note("again")
    tried = [await call_tool("desk.publish", {"title": title}) for title in ("one", "one", "two")]
    return {"messages": [AIMessage(" ".join(one.status for one in tried))]}


# ── asks: the author's own interrupt, twice in a node ───────────────────────────────────────────────


async def asks(state: State) -> Any:
    note("asks")
    name = interrupt("What is it called?")
    colour = interrupt({"question": "Which colour?", "candidates": ["red", "blue"]})
    if "fail_once" in words(state) and not has_failed():
        raise RuntimeError("the first try fails behind both answers")
    return {"messages": [AIMessage(f"{name} in {colour}")]}


# ── fan: branches beside each other, one with a tool, one that is slow, one that asks ───────────────


async def fan_tool(state: State) -> Any:
    note("fan_tool")
    done = await call_tool("desk.publish", {"title": "fan"})
    return {"seen": [f"tool {done.status}"]}


async def fan_slow(state: State) -> Any:
    note("fan_slow")
    await asyncio.sleep(0.3)
    note("fan_slow done")
    return {"seen": ["slow"]}


async def fan_ask(state: State) -> Any:
    note("fan_ask")
    return {"seen": [f"asked {interrupt('Why?')}"]}


async def fan_join(state: State) -> Any:
    note("fan_join")
    return {"messages": [AIMessage(", ".join(sorted(state["seen"])))]}


async def sent(state: Any) -> Any:
    note(f"sent {state['title']}")
    done = await call_tool("desk.write_draft", {"title": state["title"]})
    return {"seen": [f"{state['title']} {done.status}"]}


# ── sub: a subgraph that acts ───────────────────────────────────────────────────────────────────────


async def sub_first(state: State) -> Any:
    note("sub_first")
    return {"messages": [call("from below", prefix="s")]}


async def sub_last(state: State) -> Any:
    note("sub_last")
    return {"messages": [AIMessage(str(state["messages"][-1].content))]}


below = StateGraph(State)
below.add_node("sub_first", sub_first)
below.add_node("sub_tools", tool_node)
below.add_node("sub_last", sub_last)
below.add_edge(START, "sub_first")
below.add_edge("sub_first", "sub_tools")
below.add_edge("sub_tools", "sub_last")
below.add_edge("sub_last", END)


# ── faults ──────────────────────────────────────────────────────────────────────────────────────────


async def swallow(state: State) -> Any:
    note("swallow")
    try:
        await call_tool("desk.publish", {"title": "swallowed"})
    except Exception:
        note("swallowed")
    return {"messages": [AIMessage("it is published")]}


async def strange(state: State) -> Any:
    note("strange")
    return {"anything": Stranger() if "class" in words(state) else (lambda: 1)}


async def strange_say(state: State) -> Any:
    return {"messages": [AIMessage("never said")]}


async def crash(state: State) -> Any:
    note("crash")
    raise ValueError("a fault of the author's")


async def silent(state: State) -> Any:
    return {"seen": ["nothing said"]}


async def hang(state: State) -> Any:
    note("hang")
    await asyncio.sleep(60)
    return {}


async def sleepy(state: State) -> Any:
    note("sleepy")
    await asyncio.sleep(1.0)
    return {"seen": ["slept"]}


NODES = (
    *(
        steps,
        steps_draft,
        steps_say,
        rounds,
        again,
        calls,
        calls_say,
        asks,
        fan_tool,
        fan_slow,
        fan_ask,
        fan_join,
    ),
    *(sent, swallow, strange, strange_say, crash, silent, hang, sleepy),
)
WAYS = (
    *(
        "steps",
        "rounds",
        "again",
        "calls",
        "asks",
        "fan_tool",
        "fan_slow",
        "fan_ask",
        "sent",
        "sub",
        "swallow",
    ),
    *("strange", "crash", "silent", "hang", "sleepy"),
)
builder = StateGraph(State)
for node in NODES:
    builder.add_node(node.__name__, node)
builder.add_node("calls_tools", tool_node)
builder.add_node("sub", below.compile())
builder.add_conditional_edges(START, way, list(WAYS))
builder.add_edge("steps", "steps_draft")
builder.add_edge("steps_draft", "steps_say")
builder.add_edge("calls", "calls_tools")
builder.add_edge("calls_tools", "calls_say")
builder.add_edge(["fan_tool", "fan_slow", "fan_ask"], "fan_join")
builder.add_edge("sent", "fan_join")
builder.add_edge("strange", "strange_say")
builder.add_edge("sleepy", "fan_join")
graph = builder.compile()

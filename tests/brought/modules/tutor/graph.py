"""LangGraph's tutorial agent: a model, the tools it calls, and back; sync as the tutorial has it, and async.

What the first word names: `sync`, `async`, or `drop`, whose author loses a call of two.
"""

from __future__ import annotations

from typing import Annotated, Any

from fencepost import chat_model, tool_node
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import tools_condition
from typing_extensions import TypedDict

VERSION = "2026.1"

llm = chat_model()


class State(TypedDict):
    messages: Annotated[list, add_messages]


def said(state: State) -> str:
    return str([m for m in state["messages"] if m.type == "human"][-1].content)


def chatbot(state: State) -> Any:
    return {"messages": [llm.invoke(state["messages"])]}


async def achatbot(state: State) -> Any:
    return {"messages": [await llm.ainvoke(state["messages"])]}


async def blocked(state: State) -> Any:
    return {"messages": [llm.invoke(state["messages"])]}


async def tools(state: State) -> Any:
    if said(state).startswith("drop"):
        last = state["messages"][-1]
        first = AIMessage("", id=last.id, tool_calls=last.tool_calls[:1])
        return await tool_node({"messages": [first]})
    return await tool_node(state)


def way(state: State) -> str:
    word = said(state).split()[0]
    return {"sync": "chatbot", "blocked": "blocked"}.get(word, "achatbot")


builder = StateGraph(State)
builder.add_node("chatbot", chatbot)
builder.add_node("achatbot", achatbot)
builder.add_node("blocked", blocked)
builder.add_node("tools", tools)
builder.add_conditional_edges(START, way, ["chatbot", "achatbot", "blocked"])
builder.add_conditional_edges("chatbot", tools_condition)
builder.add_conditional_edges("achatbot", tools_condition)
builder.add_conditional_edges("tools", way, ["chatbot", "achatbot"])
builder.add_edge("blocked", END)
graph = builder.compile()

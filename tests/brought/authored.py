"""Modules that a test writes: a contract without tools, and a graph of one node unless it says otherwise."""

from __future__ import annotations

import sys
from pathlib import Path

from fencepost_contracts.modules import ModuleFolder

PLAIN = """
from langgraph.graph import END, START, MessagesState, StateGraph

{more}

async def answer(state):
    return {{"messages": [("ai", {text!r})]}}

builder = StateGraph(MessagesState)
builder.add_node("answer", answer)
builder.add_edge(START, "answer")
builder.add_edge("answer", END)
"""
CONTRACT = """
version: "1"
agent_name: {name}
description: A test.
allowed_tools: []
...
"""


def plain(text: str = "hi", *, version: str = "1", graph: str = "builder.compile()", more: str = "") -> str:
    return PLAIN.format(more=more, text=text) + f'VERSION = "{version}"\ngraph = {graph}\n'


def module(folder: Path, name: str, code: str | None) -> ModuleFolder:
    made = folder / name
    made.mkdir(parents=True, exist_ok=True)
    (made / "contract.yaml").write_text(CONTRACT.format(name=name))
    if code is not None:
        (made / "graph.py").write_text(code)
    for known in [n for n in sys.modules if n.startswith(f"fencepost_brought_{name}")]:
        del sys.modules[known]
    return ModuleFolder(name, made, made / "contract.yaml", None)

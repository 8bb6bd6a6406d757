"""LangGraph's prebuilt agent: its tools are functions of the author's that call tools of the contract."""

from __future__ import annotations

import warnings
from typing import Any

from fencepost import call_tool, chat_model
from langchain_core.tools import tool

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it moved to another package, which isn't installed here
    from langgraph.prebuilt import create_react_agent

VERSION = "1"


@tool
async def keep_note(text: str) -> dict[str, Any]:
    """Keep a note."""
    return (await call_tool("prebuilt.note", {"text": text})).told()


def graph() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return create_react_agent(chat_model(with_tools=False), [keep_note])

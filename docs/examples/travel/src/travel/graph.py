"""The travel desk's graph: read the request, ask what is missing, find trains, offer them, book.

It is plain LangGraph. Of Fencepost's it uses `call_tool`, which carries out a tool of the contract once, and
asks a person first where the contract says so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from fencepost import call_tool
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt

VERSION = "1.0.0"  # another one with each change of what the graph does

TOWNS = re.compile(r"from (\w+) to (\w+)", re.IGNORECASE)
DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass
class Wish:
    """A type of our own in the state: it is named in State's annotations, so checkpoints may hold it."""

    origin: str
    destination: str
    day: str


class State(MessagesState):
    wish: Wish | None
    trains: list[dict[str, Any]]
    chosen: str


async def understand(state: State) -> dict[str, Any]:
    """interrupt() asks the user; the node starts again from its first line when they have answered."""
    text = str(state["messages"][-1].content)
    towns, day = TOWNS.search(text), DAY.search(text)
    if towns is None:
        towns = TOWNS.search(interrupt("From where to where? For example: from Bern to Basel"))
    if towns is None:
        return {"wish": None}
    when = day[0] if day is not None else interrupt("On which day? For example: 2026-12-24")
    return {"wish": Wish(towns[1], towns[2], str(when).strip())}


async def find(state: State) -> dict[str, Any]:
    wish = state["wish"]
    assert wish is not None
    found = await call_tool(
        "travel.find_trains", {"origin": wish.origin, "destination": wish.destination, "day": wish.day}
    )
    return {"trains": found.result["trains"] if found.status == "completed" else []}


async def choose(state: State) -> dict[str, Any]:
    offers = [{"label": f"{t['id']} at {t['leaves']}", "value": t["id"]} for t in state["trains"]]
    return {"chosen": interrupt({"question": "Which train?", "candidates": offers})}


async def book(state: State) -> dict[str, Any]:
    """The contract says `risk: medium`, so a person is asked before anything is written."""
    assert state["wish"] is not None
    done = await call_tool("travel.book_seat", {"train": state["chosen"], "day": state["wish"].day})
    said = {
        "completed": f"Booked: {state['chosen']} on {state['wish'].day}.",
        "rejected": "Nothing was booked, as you said.",
    }.get(done.status, f"It could not be booked ({done.status}).")
    return {"messages": [AIMessage(said)]}


async def give_up(state: State) -> dict[str, Any]:
    return {"messages": [AIMessage("I found no train for that.")]}


builder = StateGraph(State)
for node in (understand, find, choose, book, give_up):
    builder.add_node(node.__name__, node)
builder.add_edge(START, "understand")
builder.add_conditional_edges("understand", lambda s: "find" if s["wish"] else "give_up", ["find", "give_up"])
builder.add_conditional_edges("find", lambda s: "choose" if s["trains"] else "give_up", ["choose", "give_up"])
builder.add_edge("choose", "book")
builder.add_edge("book", END)
builder.add_edge("give_up", END)

graph = builder.compile()

"""The graph alone, without Fencepost's services: its tools are functions, LangGraph's memory is its saver."""

from __future__ import annotations

import asyncio
from typing import Any

from fencepost.testing import Played, playing
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from travel.graph import builder

TRAINS = {"trains": [{"id": "BB1", "leaves": "08:10"}, {"id": "BB2", "leaves": "12:40"}]}
TOOLS = {"travel.find_trains": lambda args: TRAINS, "travel.book_seat": lambda args: {"booking": "b1"}}


def talk(*said: str, rejected: tuple[str, ...] = ()) -> tuple[str, Played]:
    """The last words, after these answers to its questions."""

    async def go() -> str:
        graph = builder.compile(checkpointer=InMemorySaver())
        config: Any = {"configurable": {"thread_id": "t"}}
        state = await graph.ainvoke({"messages": [("user", said[0])]}, config)
        for answer in said[1:]:
            state = await graph.ainvoke(Command(resume=answer), config)
        return str(state["messages"][-1].content)

    with playing(TOOLS, rejected=rejected) as played:
        return asyncio.run(go()), played


def test_a_train_is_booked() -> None:
    last, played = talk("a train from Bern to Basel on 2026-12-24", "BB2")
    assert last == "Booked: BB2 on 2026-12-24."
    assert played.calls[-1] == ("travel.book_seat", {"train": "BB2", "day": "2026-12-24"})


def test_what_is_missing_is_asked_for() -> None:
    last, _ = talk("a train, please", "from Bern to Basel", "2026-12-24", "BB1")
    assert last == "Booked: BB1 on 2026-12-24."


def test_a_no_books_nothing() -> None:
    last, _ = talk("from Bern to Basel on 2026-12-24", "BB1", rejected=("travel.book_seat",))
    assert last == "Nothing was booked, as you said."

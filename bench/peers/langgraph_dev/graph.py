"""Five steps for LangGraph's dev server, which keeps everything in memory. The last one counts a finished run."""

import os
from typing import TypedDict

from langgraph.graph import END, START, StateGraph


class Said(TypedDict):
    said: list


def _step(n: int):
    async def step(state: Said) -> Said:
        if n == 5:
            line = os.open(os.environ["FIVE_DONE"], os.O_WRONLY | os.O_APPEND)
            os.write(line, b".")
            os.close(line)
        return {"said": [*state["said"], f"step {n}"]}

    return step


builder = StateGraph(Said)
for number in range(1, 6):
    builder.add_node(f"step_{number}", _step(number))
builder.add_edge(START, "step_1")
for number in range(1, 5):
    builder.add_edge(f"step_{number}", f"step_{number + 1}")
builder.add_edge("step_5", END)
five = builder.compile()

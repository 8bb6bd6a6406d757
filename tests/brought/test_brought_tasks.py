"""A tool that works on a task of its own: the run waits for its end; branches beside it are not cut off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fencepost_domain.vocabulary import WaitingOn
from fencepost_domain.waits import decide_wake

from tests.brought.authored import module
from tests.services.worker.bench import Bench
from tests.support.scripted_gateway import life_catalog

CODE = """
import asyncio, operator
from pathlib import Path
from typing import Annotated
from fencepost import call_tool
from langgraph.graph import END, START, MessagesState, StateGraph

LOG = Path(__file__).with_name("log")
VERSION = "1"


class State(MessagesState):
    seen: Annotated[list[str], operator.add]


async def act(state):
    done = await call_tool("life.list_reminders", {})
    return {"seen": [done.status]}


async def beside(state):
    with LOG.open("a") as log:
        log.write("begun ")
    await asyncio.sleep(0.3)
    return {"seen": ["beside"]}


async def say(state):
    return {"messages": [("ai", " ".join(sorted(state["seen"])))]}


graph = StateGraph(State)
for node in (act, beside, say):
    graph.add_node(node.__name__, node)
graph.add_edge(START, "act")
graph.add_edge(START, "beside")
graph.add_edge(["act", "beside"], "say")
graph.add_edge("say", END)
"""
STARTED = (202, {"state": "in_progress", "retry_after_seconds": 1.0, "is_task": True})


async def test_it_waits_for_the_task_and_a_branch_beside_it_runs_once(bench: Bench, tmp_path: Path) -> None:
    module(tmp_path, "errands", CODE)
    await bench.publish(life_catalog(module="errands"))
    bench.gateway.commit_script.append(STARTED)
    fields: dict[str, Any] = {"modules_dir": tmp_path, "worker_modules": ("errands",)}
    async with bench.working(**fields):
        run_id = await bench.runs.queued(module="errands")
        await bench.reaches(run_id, "waiting")
        rows = await bench.runs.fetch("SELECT waiting_on FROM agent.runs WHERE id = %s", run_id)
        assert rows == [(str(WaitingOn.TOOL),)]
        await bench.change(
            run_id, lambda run, event_id, now: decide_wake(run, event_id, cause="a task", now=now)
        )
        assert await bench.ended(run_id) == "succeeded"
    assert await bench.final_messages(run_id) == ["beside completed"]
    assert (tmp_path / "errands" / "log").read_text() == "begun "
    assert len(bench.gateway.effects) == 1

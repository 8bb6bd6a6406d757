"""Which brought graphs are refused, in words for their author; the others are served all the same."""

from __future__ import annotations

import asyncio
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from fencepost_runtime.settings import SettingsError
from fencepost_worker.engine.langgraph.brought.find import find_graphs
from fencepost_worker.engine.langgraph.brought.serve import take_up

from tests.brought.authored import module, plain
from tests.services.worker.bench import Bench
from tests.support.scripted_gateway import life_catalog

REFUSED = [
    ("syntax", "def", "SyntaxError"),
    ("imports", "import no_such_package", "No module named 'no_such_package'"),
    ("exits", "raise SystemExit(1)", "SystemExit"),
    ("none", "VERSION = '1'", "exports no `graph`"),
    ("unversioned", plain().replace("VERSION", "VRSION"), "exports no VERSION"),
    ("number", plain().replace('VERSION = "1"', "VERSION = 1"), "exports no VERSION"),
    ("other", "VERSION = '1'\ngraph = 3", "is a int"),
    ("incomplete", plain(graph="StateGraph(MessagesState)"), "can't be compiled"),
    ("store", plain(graph="builder.compile(store=STORE)",
     more="from langgraph.store.memory import InMemoryStore as M\nSTORE = M()"), "compiled with a store"),
    ("cache", plain(graph="builder.compile(cache=CACHE)",
     more="from langgraph.cache.memory import InMemoryCache as M\nCACHE = M()"), "compiled with a cache"),
    ("breaks", plain(graph='builder.compile(interrupt_before=["answer"])'), "interrupt() in a node"),
    ("wordless", plain().replace("StateGraph(MessagesState)", "StateGraph(dict)"), "to_state"),
    ("limits", plain(more='LIMITS = {"actions": "many"}'), "LIMITS.actions"),
    ("unknown", plain(more='LIMITS = {"acts": 3}'), "LIMITS.acts"),
    ("older", plain(more='OLDER = {"1": None}'), "OLDER"),
    ("start", plain(more="to_state = 3"), "to_state is no function"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "code", "said"), REFUSED, ids=[name for name, _, _ in REFUSED])
async def test_a_graph_that_cannot_be_served_is_refused_by_name(
    bench: Bench, tmp_path: Path, name: str, code: str, said: str
) -> None:
    folders = [module(tmp_path, name, code), module(tmp_path, "fine", plain())]
    ready, refused = await take_up(folders, bench.runs.worker, None)  # type: ignore[arg-type]
    assert [one.module for one in refused] == [name]
    assert said in str(refused[0]), str(refused[0])
    assert [one.definition.name for one in ready] == ["fine"]


async def test_the_same_version_with_another_structure_is_refused_and_another_version_is_not(
    bench: Bench, tmp_path: Path
) -> None:
    fields: dict[str, Any] = {"modules_dir": tmp_path, "worker_modules": ("chatty",)}
    module(tmp_path, "chatty", plain("one"))
    await bench.publish(life_catalog(module="chatty"))
    async with bench.working(**fields):
        assert await bench.ended(await bench.runs.queued(module="chatty")) == "succeeded"

    module(tmp_path, "chatty", plain("another text", graph="builder.compile()"))
    async with bench.working(**fields):  # the same structure: what a node says isn't in it
        assert await bench.ended(await bench.runs.queued(module="chatty")) == "succeeded"

    longer = plain("two", more="").replace('add_edge("answer", END)', 'add_node("more", answer)')
    module(tmp_path, "chatty", longer)
    with pytest.raises(SettingsError, match="published with another structure"):
        async with bench.working(**fields):
            await asyncio.sleep(5)

    module(tmp_path, "chatty", longer.replace('VERSION = "1"', 'VERSION = "2"'))
    async with bench.working(**fields):
        run_id = await bench.runs.queued(module="chatty")
        assert await bench.ended(run_id) == "succeeded"


async def test_i16_a_run_in_flight_goes_on_with_the_version_it_is_bound_to(
    bench: Bench, tmp_path: Path
) -> None:
    asking = plain("as of version 1").replace(
        'return {"messages"',
        'from langgraph.types import interrupt\n    interrupt("Well?")\n    return {"messages"',
    )
    await bench.publish(life_catalog(module="older"))
    fields: dict[str, Any] = {"modules_dir": tmp_path, "worker_modules": ("older",)}
    module(tmp_path, "older", asking)
    async with bench.working(**fields):
        run_id = await bench.runs.queued(module="older")
        question = await bench.asked(run_id)
    second = plain("as of version 2", version="2", more="from .first import graph as first")
    (tmp_path / "older" / "first.py").write_text(asking)
    module(tmp_path, "older", second + 'OLDER = {"1": first}\n')
    async with bench.working(**fields):
        await bench.resolve(run_id, question["id"], {"text": "well"})
        assert await bench.ended(run_id) == "succeeded"
        new = await bench.runs.queued(module="older")
        assert await bench.ended(new) == "succeeded"
    assert await bench.final_messages(run_id) == ["as of version 1"]
    assert await bench.final_messages(new) == ["as of version 2"]


async def test_a_worker_serves_its_other_modules_and_the_refused_ones_runs_wait(
    bench: Bench, tmp_path: Path
) -> None:
    module(tmp_path, "broken", "import no_such_package")
    await bench.publish(life_catalog(module="broken"))
    async with bench.working(modules_dir=tmp_path, worker_modules=("broken", "life")):
        waiting = await bench.runs.queued(module="broken")
        bench.model.answer([])
        served = await bench.runs.queued(" ", module="life")
        await bench.ended(served)
        assert await bench.runs.status(waiting) == "queued"
    rows = await bench.runs.fetch("SELECT graph_version FROM agent.runs WHERE id = %s", waiting)
    assert rows == [("",)], "it isn't bound to our own graph in the place of its author's"


async def test_a_run_brings_its_own_state_and_says_it_in_its_own_words(bench: Bench, tmp_path: Path) -> None:
    code = plain(
        more=(
            "from typing import TypedDict\n"
            "class S(TypedDict):\n    words: str\n    messages: list\n"
            "async def to_state(run):\n    return {'words': f'{run.text} {run.locale} {run.currency}'}\n"
            "def from_state(state):\n    return {'text': state['words'].upper(), 'left_undone': ['x']}\n"
        )
    ).replace("StateGraph(MessagesState)", "StateGraph(S)")
    module(tmp_path, "own", code)
    await bench.publish(life_catalog(module="own"))
    async with bench.working(modules_dir=tmp_path, worker_modules=("own",)):
        run_id = await bench.runs.queued("hello", module="own")
        assert await bench.ended(run_id) == "succeeded"
    assert await bench.final_messages(run_id) == ["HELLO EN CNY"]


def test_an_entry_point_names_a_graph_and_two_graphs_of_one_module_are_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere_graph.py").write_text(plain("from a package").replace("graph =", "mine ="))
    sys.path.insert(0, str(tmp_path))
    try:
        point = EntryPoint("plain", "elsewhere_graph:mine", "fencepost.graphs")
        found, refused = find_graphs([module(tmp_path, "plain", None)], points=[point])
        assert [(one.module, one.version) for one in found] == [("plain", "1")] and refused == []
        found, refused = find_graphs([module(tmp_path, "plain", plain())], points=[point])
        assert found == [] and "keep one of them" in str(refused[0])
    finally:
        sys.path.remove(str(tmp_path))

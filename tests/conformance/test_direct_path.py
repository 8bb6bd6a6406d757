"""The direct path against `ainvoke`: generated graphs leave the same checkpoints; each goes on
from the other's.
"""

from __future__ import annotations

import asyncio
import json
import operator
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict
from unittest.mock import patch
from uuid import UUID, uuid4

import pytest
from fencepost_runtime.system import SystemClock
from fencepost_worker.engine.langgraph import pinned
from fencepost_worker.engine.langgraph import thread as thread_module
from fencepost_worker.engine.langgraph.plan import plan_of
from fencepost_worker.engine.langgraph.supersteps import Supersteps
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError, InvalidUpdateError
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command, Overwrite, RetryPolicy, Send, interrupt
from structlog.testing import capture_logs

LIMIT = 9
SPECIAL = ("__interrupt__", "__error__", "__resume__")


def counted(one: dict[str, int], more: dict[str, int]) -> dict[str, int]:
    return {**one, **{name: one.get(name, 0) + n for name, n in more.items()}}


class State(TypedDict, total=False):
    """Every kind of channel the direct path knows."""

    said: Annotated[list[str], operator.add]
    total: Annotated[int, operator.add]
    visits: Annotated[dict[str, int], counted]
    last: str
    answer: Any


@dataclass(frozen=True)
class Visit:
    """What a node does when it is visited. goes: names of the next, END's for none."""

    goes: tuple[str, ...]
    by_command: bool = True
    asks: int = 0
    fails: bool = False
    overwrites: bool = False
    sends: bool = False


@dataclass(frozen=True)
class Shape:
    """A graph: each node's visits, repeated; static: an edge where its visits name nobody."""

    nodes: dict[str, tuple[Visit, ...]]
    edges: dict[str, str]
    crashes: tuple[int, ...] = ()
    direct: tuple[bool, ...] = (True,)

    @property
    def fans_out(self) -> bool:
        return any(
            len(v.goes) > 1 or v.sends or (len(v.goes) and name in self.edges)
            for name, visits in self.nodes.items()
            for v in visits
        )


class Crash(Exception):
    """The process is gone, seen from the saver: a checkpoint wasn't stored."""


class Kept(InMemorySaver):
    """Threads in memory, with the worker's versions and its entry for the direct path. crashes: puts lost.

    Puts are counted in a cell: under strict msgpack, as the worker runs, LangGraph uses a copy of its saver.
    """

    def __init__(self, crashes: Sequence[int]) -> None:
        super().__init__()
        self.crashes = list(crashes)
        self.puts = [0]

    def get_next_version(self, current: Any, channel: None) -> Any:
        return BaseCheckpointSaver.get_next_version(self, current, channel)

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        self.puts[0] += 1
        if self.puts[0] in self.crashes:
            raise Crash
        return await super().aput(config, checkpoint, metadata, new_versions)

    async def put_superstep(
        self, run_id: UUID, checkpoint: Any, parent: str | None, metadata: str, *, waits: bool
    ) -> None:
        config = {"configurable": {"thread_id": str(run_id), "checkpoint_ns": "", "checkpoint_id": parent}}
        versions = dict(checkpoint["channel_versions"])
        await self.aput(config, checkpoint, json.loads(metadata), versions)


@dataclass
class Side:
    """One side of the comparison: its own saver, graph and memory of what failed already."""

    shape: Shape
    failed: set[tuple[str, int]] = field(default_factory=set)
    seen: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.saver = Kept(self.shape.crashes)
        self.graph = self._built()
        self.direct = Supersteps.of(self.graph, self.saver, SystemClock())  # type: ignore[arg-type]

    def _built(self) -> Any:
        made = StateGraph(State, context_schema=str)
        for name, visits in self.shape.nodes.items():
            goes = {go for visit in visits for go in visit.goes} | {END}
            made.add_node(name, self._node(name, visits), destinations=tuple(goes))
        made.add_edge(START, next(iter(self.shape.nodes)))
        for start, end in self.shape.edges.items():
            made.add_edge(start, end)
        return made.compile(checkpointer=self.saver)

    def _node(self, name: str, visits: tuple[Visit, ...]) -> Any:
        async def node(state: State, runtime: Runtime[str]) -> Any:
            count = state.get("visits", {}).get(name, 0)
            visit = visits[count % len(visits)]
            info = runtime.execution_info
            assert info is not None
            self.seen.append(
                (name, f"{info.checkpoint_id} {info.task_id} {info.checkpoint_ns} {runtime.context}")
            )
            if visit.fails and (name, count) not in self.failed:
                self.failed.add((name, count))
                raise ValueError(f"{name} {count}")
            answers = [interrupt({"who": name, "n": n}) for n in range(visit.asks)]
            update: dict[str, Any] = {
                "said": [f"{name}{count}"],
                "total": 1,
                "visits": {name: 1},
                "last": name,
            }
            if answers:
                update["answer"] = answers
            if visit.overwrites:
                update["said"] = Overwrite([f"only {name}"])
            if visit.sends:
                return Command(update=update, goto=[Send(go, state) for go in visit.goes if go != END])
            if not visit.goes and not visit.by_command:
                return update
            return Command(update=update, goto=visit.goes)

        return node

    async def leg(self, run_id: UUID, entry: Any, *, direct: bool) -> tuple[Any, ...]:
        """One execution, as the engine does it: what came of it."""
        config: Any = {"configurable": {"thread_id": str(run_id)}, "recursion_limit": LIMIT, "callbacks": []}
        try:
            if direct and self.direct is not None and not isinstance(entry, Command):
                went = await self.direct.run(run_id, entry, "here", LIMIT)
                if went is not None and went.is_over:
                    return "left", went.values, went.interrupts
                if went is not None:
                    entry, config = None, {**config, "recursion_limit": went.limit}
            values = await self.graph.ainvoke(entry, config, context="here", durability="sync")
        except (Crash, ValueError, GraphRecursionError, InvalidUpdateError) as error:
            return "raised", type(error).__name__
        interrupts = tuple(values.pop("__interrupt__", ()))
        return "left", values, interrupts

    async def whole(self, run_id: UUID, direct: Sequence[bool]) -> list[tuple[Any, ...]]:
        """Legs until the graph ends: what was asked is answered, what failed or crashed is gone on with."""
        entry: Any = {"said": ["in"], "last": "in"}
        legs: list[tuple[Any, ...]] = []
        for n in range(8):
            told = await self.leg(run_id, entry, direct=direct[n % len(direct)])
            legs.append(told)
            stored = self.saver.get_tuple({"configurable": {"thread_id": str(run_id), "checkpoint_ns": ""}})
            if told[0] == "raised":
                if told[1] in ("GraphRecursionError", "InvalidUpdateError"):
                    return legs
                entry = entry if stored is None else None
            elif told[2]:
                entry = Command(resume={told[2][0].id: f"answer {n}"})
            else:
                return legs
        return legs

    def stored(self, run_id: UUID, *, but: Sequence[str] = ()) -> list[Any]:
        """All checkpoints, oldest first, without their clock's time and ordinary pending writes."""
        config: Any = {"configurable": {"thread_id": str(run_id), "checkpoint_ns": ""}}
        found = []
        for one in reversed(list(self.saver.list(config))):
            checkpoint: Any = dict(one.checkpoint)
            checkpoint.pop("ts")
            checkpoint["versions_seen"] = {
                k: v for k, v in checkpoint["versions_seen"].items() if k not in but
            }
            special = [w for w in one.pending_writes or () if w[1] in SPECIAL]
            found.append((checkpoint, one.metadata, one.parent_config, sorted(special, key=repr)))
        return found


def _id(step: int) -> UUID:
    return UUID(int=(step + 3) << 80 | 0x6 << 76 | 0x2 << 62 | 7)


@contextmanager
def ids_by_step() -> Iterator[None]:
    """Both paths name a superstep's checkpoint alike, so that what is made of its id is comparable too."""
    with (
        patch("langgraph.pregel._checkpoint.uuid6", lambda clock_seq: _id(clock_seq)),
        patch.object(thread_module.Thread, "_new_id", lambda self: str(_id(self.step))),
    ):
        yield


NAMES = ("a", "b", "c", "d")


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    names = NAMES[: draw(st.integers(1, 4))]
    targets = st.sampled_from([*names, END])
    nodes: dict[str, tuple[Visit, ...]] = {}
    for name in names:
        visit = st.builds(
            Visit,
            goes=st.one_of(
                targets.map(lambda t: (t,)), targets.map(lambda t: (t,)), st.just(()),
                st.lists(targets, min_size=2, max_size=2, unique=True).map(tuple),
            ),
            by_command=st.booleans(),
            asks=st.sampled_from([0, 0, 0, 1, 2]),
            fails=st.sampled_from([False, False, False, True]),
            overwrites=st.sampled_from([False, False, True]),
            sends=st.sampled_from([False] * 9 + [True]),
        )  # fmt: skip
        nodes[name] = tuple(draw(st.lists(visit, min_size=1, max_size=3)))
    edges = draw(st.dictionaries(st.sampled_from(names), st.sampled_from(names), max_size=2))
    crashes = tuple(draw(st.lists(st.integers(1, 9), max_size=2, unique=True)))
    direct = tuple(draw(st.lists(st.booleans(), min_size=1, max_size=4)))
    return Shape(nodes, edges, crashes, direct)


@given(shapes())
@settings(max_examples=200, deadline=None)
def test_the_direct_path_leaves_what_ainvoke_leaves(shape: Shape) -> None:
    run_id = uuid4()
    one, other = Side(shape), Side(shape)
    assert one.direct is not None

    async def both() -> None:
        legs = await one.whole(run_id, (False,))
        assert await other.whole(run_id, (*shape.direct, True)) == legs

    with ids_by_step():
        asyncio.run(both())
    # Handing several tasks over to `ainvoke` is a resume, which notes that the channels so far were seen.
    but = ("__interrupt__",) if shape.fans_out else ()
    theirs, ours = one.stored(run_id, but=but), other.stored(run_id, but=but)
    if shape.fans_out and len(ours) == len(theirs) + 1:
        ours.pop()  # `ainvoke` takes no limit under one: an endless graph may make its last step there
    assert ours == theirs
    if not shape.crashes and not shape.fans_out:
        assert other.seen == one.seen


async def one(state: State) -> dict[str, Any]:
    return {"total": 1}


def graph_with(change: str) -> Any:
    """A graph of one node, or with one thing in it that the direct path doesn't know."""

    def in_a_thread(state: State) -> dict[str, Any]:
        return {"total": 1}

    made = StateGraph(State)
    more: dict[str, Any] = {"retry_policy": RetryPolicy()} if change == "a retry policy" else {}
    made.add_node("one", in_a_thread if change == "a node in a thread" else one, **more)
    made.add_node("two", one, defer=change == "a deferred node")
    made.add_edge(START, "one")
    if change == "a conditional edge":
        made.add_conditional_edges("one", lambda state: "two", ["two"])
    elif change == "a joining edge":
        made.add_edge(START, "two")
        made.add_node("three", one)
        made.add_edge(["one", "two"], "three")
    return made.compile(
        checkpointer=Kept(()),
        interrupt_before=["one"] if change == "a breakpoint" else None,
    )


def test_a_plain_graph_has_a_plan() -> None:
    assert plan_of(graph_with("nothing")) is not None


@pytest.mark.parametrize(
    "change",
    [
        "a retry policy",
        "a node in a thread",
        "a deferred node",
        "a conditional edge",
        "a joining edge",
        "a breakpoint",
    ],
)
def test_what_is_not_known_goes_by_ainvoke(change: str) -> None:
    assert plan_of(graph_with(change)) is None


def test_it_is_on_for_the_installed_langgraph() -> None:
    """Raise the pin with the lock: these suites then say whether it may stay on."""
    assert pinned.unknown_versions() == {}
    assert pinned.direct_path(wanted=True) is Supersteps


def test_another_langgraph_turns_it_off_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(pinned.KNOWN, "langgraph", "1.2.23")
    with capture_logs() as logs:
        assert pinned.direct_path(wanted=True) is None
    assert [(one["event"], one["log_level"]) for one in logs] == [("engine.direct_path_off", "warning")]


def test_a_setting_turns_it_off(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pinned.direct_path(wanted=False) is None


async def test_before_its_first_node_is_done_a_run_that_begins_again_has_the_same_checkpoints() -> None:
    """What the first node paid for is keyed by its checkpoint, which isn't durable yet when the node runs."""
    shape = Shape({"a": (Visit((END,), fails=True),)}, {})
    run_id, first, again = uuid4(), Side(shape), Side(shape)
    for side in (first, again):
        assert await side.leg(run_id, {"said": []}, direct=True) == ("raised", "ValueError")
    ids = [[one.checkpoint["id"] for one in side.saver.list({"configurable": {"thread_id": str(run_id)}})]
           for side in (first, again)]  # fmt: skip
    assert ids[0] == ids[1]
    assert len(ids[0]) == 2
    assert first.seen == again.seen

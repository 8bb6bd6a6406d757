"""The engine port's suite, on LangGraph and on a scripted engine: what `execute` may rely on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from fencepost_contracts.graphs import GraphDefinition, Limits, Manifest, Node, RoleModel
from fencepost_domain.errors import FenceLost, Unavailable
from fencepost_domain.fence import Fence
from fencepost_domain.vocabulary import InterruptKind
from fencepost_runtime.system import SystemIds
from fencepost_worker.engine.langgraph.adapter import LangGraphEngine
from fencepost_worker.engine.langgraph.saver import FencedSaver
from fencepost_worker.engine.port import (
    Broken,
    Deferred,
    Engine,
    Finished,
    Lost,
    Parked,
    PauseAsked,
    Paused,
    Rerouted,
    Task,
)
from fencepost_worker.flow.state import Patch, State
from fencepost_worker.flow.step import Facts, Question, Step
from fencepost_worker.models.port import Answer

from tests.support.postgres import Database
from tests.support.scripted_engine import ScriptedEngine
from tests.support.worker_runs import Runs, opened_runs, writing

DEFINITION = GraphDefinition(
    name="suite",
    version="1",
    entry="first",
    nodes={
        "first": Node(edges=("ask", "last", "first")),
        "ask": Node(edges=("last", "ask"), ports=("person",)),
        "last": Node(edges=("end", "ask")),
    },
    limits=Limits(recursion=12),
)
MANIFEST = Manifest(version="1", roles={"module": RoleModel(provider="offline", model="m")})


@dataclass
class Log:
    """What the nodes did; how they behave is set by the test."""

    ran: list[str] = field(default_factory=list)
    rounds: int = 0
    drafts: bool = False
    route: str = "ask"
    fails: list[Exception] = field(default_factory=list)
    ending: dict[str, Any] = field(default_factory=lambda: {"status": "succeeded"})
    started: asyncio.Event = field(default_factory=asyncio.Event)
    hang: bool = False


LOG = Log()


async def first(state: State, step: Step) -> Patch:
    LOG.ran.append("first")
    await step.ask_model(None, (), (), "")  # type: ignore[arg-type]
    return {"route": LOG.route, "module": step.facts.module, "reply": {"text": "asked"}}


async def ask(state: State, step: Step) -> Patch:
    LOG.ran.append("ask")
    if LOG.drafts:
        await step.ask_model(None, (), (), "")  # type: ignore[arg-type]
    answer = step.pause(Question(InterruptKind.INPUT, 0, len(state["answers"]) + 1, "which?"))
    LOG.ran.append("answered")
    answers = [*state["answers"], dict(answer["resolution"])]
    return {"route": "ask" if len(answers) < LOG.rounds else "last", "answers": answers}


async def last(state: State, step: Step) -> Patch:
    LOG.ran.append("last")
    LOG.started.set()
    if LOG.hang:
        await asyncio.sleep(60)
    if LOG.fails:
        raise LOG.fails.pop(0)
    return {"route": "end", "ending": LOG.ending}


NODES = {"suite": {"first": first, "ask": ask, "last": last}}


@dataclass
class FakePorts:
    """Ports without a database: what was asked, and what the test answers."""

    answers: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    keys: list[str] = field(default_factory=list)
    pause_at: str = ""
    lose_at: str = ""
    simulated: bool = False

    async def boundary(self, node: str) -> None:
        if node == self.pause_at:
            raise PauseAsked(node)
        if node == self.lose_at:
            raise FenceLost("run")

    def new_id(self) -> UUID:
        return uuid4()

    async def ask_model(self, key: str, *rest: Any) -> Answer:
        self.keys.append(key)
        return Answer("ok", (), "stop")

    async def conversation_state(self, *, acted: bool) -> dict[str, Any]:
        return {}

    async def history(self) -> tuple[Any, ...]:
        return ()

    async def prepare(self, calls: Any) -> Any:
        raise NotImplementedError

    async def commit(self, index: int, n: int, token_id: UUID) -> Any:
        raise NotImplementedError

    async def note_refusals(self, key: str, refusals: Any) -> None:
        self.keys.append(key)

    async def note(self, key: str, kind: Any, payload: Any) -> None:
        self.keys.append(key)

    async def number(self, what: str, place: str, count: int) -> list[int]:
        return list(range(count))

    async def rejected(self) -> list[tuple[int, str, str]]:
        return []

    async def answer_to(self, question: Question) -> Mapping[str, Any] | None:
        return self.answers.get(question.n)


@dataclass
class Suite:
    """An engine under test. `again`: a new engine on the same stored state, as after a crash."""

    make: Any
    engine: Engine
    runs: Runs | None
    fences: dict[UUID, Fence] = field(default_factory=dict)

    def again(self) -> None:
        self.engine = self.make()

    async def task(self, *, module: str = "life", run_id: UUID | None = None, fresh: bool = True) -> Task:
        run_id = run_id or SystemIds().uuid7()
        if run_id not in self.fences:
            fence = Fence(run_id, "o:b", 1)
            self.fences[run_id] = (await self.runs.claimed(run_id)).fence if self.runs else fence
        facts = Facts(
            run_id,
            module,
            "hi",
            "en",
            None,
            "CNY",
            datetime(2026, 12, 1, tzinfo=UTC),
            DEFINITION,
            MANIFEST,
            None,
        )
        return Task(facts, self.fences[run_id], fresh)


@pytest.fixture(params=["langgraph", "langgraph by ainvoke", "langgraph in turns", "scripted"])
async def suite(request: pytest.FixtureRequest) -> AsyncIterator[Suite]:
    LOG.__init__()  # type: ignore[misc]
    if request.param == "scripted":
        threads: dict[UUID, Any] = {}
        yield Suite(lambda: ScriptedEngine(NODES, threads), ScriptedEngine(NODES, threads), None)
        return
    database: Database = request.getfixturevalue("database")
    direct = False  # in turns: what one path left is gone on with by the other
    async with opened_runs(database, lease=timedelta(seconds=60)) as runs, writing(database) as writer:

        def make() -> LangGraphEngine:
            nonlocal direct
            direct = not direct if request.param == "langgraph in turns" else request.param == "langgraph"
            return LangGraphEngine(FencedSaver(runs.worker, writer), NODES, direct=direct)

        yield Suite(make, make(), runs)


def again(task: Task) -> Task:
    return Task(task.facts, task.fence, fresh=False)


async def test_a_run_goes_through_its_nodes_and_proposes_an_ending(suite: Suite) -> None:
    LOG.route = "last"
    outcome = await suite.engine.execute(await suite.task(), FakePorts())
    assert isinstance(outcome, Finished)
    assert outcome.proposal == {"status": "succeeded"}
    assert outcome.state["reply"] == {"text": "asked"}
    assert LOG.ran == ["first", "last"]


async def test_i17_a_pause_parks_and_the_same_question_comes_again(suite: Suite) -> None:
    task = await suite.task()
    parked = await suite.engine.execute(task, FakePorts())
    suite.again()
    once_more = await suite.engine.execute(again(task), FakePorts())
    assert isinstance(parked, Parked)
    assert parked == once_more
    assert parked.question.to_json() == Question(InterruptKind.INPUT, 0, 1, "which?").to_json()
    assert LOG.ran.count("first") == 1


async def test_i15_a_resume_goes_on_and_repeats_nothing_that_is_checkpointed(suite: Suite) -> None:
    task, ports = await suite.task(), FakePorts()
    await suite.engine.execute(task, ports)
    suite.again()
    ports.answers[1] = {"status": "resolved", "interrupt_id": "i", "resolution": {"text": "blue"}}
    outcome = await suite.engine.execute(again(task), ports)
    assert isinstance(outcome, Finished)
    assert outcome.state["answers"] == [{"text": "blue"}]
    assert (LOG.ran.count("first"), len(ports.keys)) == (1, 1)


async def test_an_answer_consumed_before_a_crash_is_not_asked_for_again(suite: Suite) -> None:
    task, ports = await suite.task(), FakePorts()
    await suite.engine.execute(task, ports)
    ports.answers[1] = {"status": "resolved", "interrupt_id": "i", "resolution": {"text": "blue"}}
    LOG.fails = [Unavailable("the step after the answer fails")]
    assert isinstance(await suite.engine.execute(again(task), ports), Deferred)
    suite.again()
    outcome = await suite.engine.execute(again(task), ports)
    assert isinstance(outcome, Finished)
    assert LOG.ran.count("answered") == 1


async def test_each_round_of_questions_has_its_own_key(suite: Suite) -> None:
    LOG.rounds = 3
    task, ports = await suite.task(), FakePorts()
    for n in (1, 2, 3):
        parked = await suite.engine.execute(again(task) if n > 1 else task, ports)
        assert isinstance(parked, Parked)
        assert parked.question.n == n
        ports.answers[n] = {"status": "resolved", "interrupt_id": str(n), "resolution": {"text": str(n)}}
        suite.again()
    outcome = await suite.engine.execute(again(task), ports)
    assert isinstance(outcome, Finished)
    assert [a["text"] for a in outcome.state["answers"]] == ["1", "2", "3"]
    assert LOG.ran.count("answered") == 3


async def test_lg2_work_before_a_pause_has_one_key_a_round_however_often_it_is_replayed(suite: Suite) -> None:
    """Each round drafts, then asks: reject, reject, approve. The node runs six times, under three keys."""
    LOG.rounds, LOG.drafts = 3, True
    task, ports = await suite.task(), FakePorts()
    for n, said in enumerate(("reject", "reject", "approve"), 1):
        assert isinstance(await suite.engine.execute(again(task) if n > 1 else task, ports), Parked)
        ports.answers[n] = {"status": "resolved", "interrupt_id": str(n), "resolution": {"text": said}}
        suite.again()
    outcome = await suite.engine.execute(again(task), ports)
    assert isinstance(outcome, Finished)
    assert [a["text"] for a in outcome.state["answers"]] == ["reject", "reject", "approve"]
    drafts = ports.keys[1:]  # behind the first node's
    assert (len(drafts), len(set(drafts))) == (6, 3)
    assert ports.keys[0] not in drafts


async def test_a_failed_step_is_deferred_and_runs_again_alone(suite: Suite) -> None:
    LOG.route, LOG.fails = "last", [Unavailable("not now")]
    task = await suite.task()
    outcome = await suite.engine.execute(task, FakePorts())
    assert outcome == Deferred("unavailable", "not now")
    suite.again()
    assert isinstance(await suite.engine.execute(again(task), FakePorts()), Finished)
    assert LOG.ran == ["first", "last", "last"]


async def test_an_unknown_error_is_deferred_by_its_kind_alone(suite: Suite) -> None:
    LOG.route, LOG.fails = "last", [RuntimeError("a text that may hold a secret")]
    outcome = await suite.engine.execute(await suite.task(), FakePorts())
    assert outcome == Deferred("step_failed", "RuntimeError")


async def test_a_pause_is_taken_at_a_boundary_and_left_behind_by_a_resume(suite: Suite) -> None:
    LOG.route = "last"
    task = await suite.task()
    assert await suite.engine.execute(task, FakePorts(pause_at="last")) == Paused()
    assert LOG.ran == ["first"]
    suite.again()
    assert isinstance(await suite.engine.execute(again(task), FakePorts()), Finished)
    assert LOG.ran == ["first", "last"]


async def test_a_lost_fence_ends_without_a_word(suite: Suite) -> None:
    LOG.route = "last"
    outcome = await suite.engine.execute(await suite.task(), FakePorts(lose_at="last"))
    assert isinstance(outcome, Lost)
    assert LOG.ran == ["first"]


async def test_a_hand_over_leaves_and_the_next_module_starts_afresh(suite: Suite) -> None:
    LOG.route, LOG.ending = "last", {"reroute": "work"}
    task = await suite.task(module="companion")
    assert await suite.engine.execute(task, FakePorts()) == Rerouted("work")
    LOG.ending = {"status": "succeeded"}
    other = await suite.task(module="work", run_id=task.facts.run_id, fresh=False)
    outcome = await suite.engine.execute(other, FakePorts())
    assert isinstance(outcome, Finished)
    assert outcome.state["module"] == "work"
    assert LOG.ran == ["first", "last"] * 2


async def test_an_endless_graph_is_broken_by_the_last_fence(suite: Suite) -> None:
    LOG.route = "first"
    outcome = await suite.engine.execute(await suite.task(), FakePorts())
    assert isinstance(outcome, Broken)
    assert outcome.code == "recursion_limit"


async def test_a_route_that_is_not_declared_is_a_fault(suite: Suite) -> None:
    LOG.route = "nowhere"
    outcome = await suite.engine.execute(await suite.task(), FakePorts())
    assert isinstance(outcome, Deferred)


async def test_cancelling_leaves_at_once_and_the_step_runs_again(suite: Suite) -> None:
    LOG.route, LOG.hang = "last", True
    task = await suite.task()
    running = asyncio.ensure_future(suite.engine.execute(task, FakePorts()))
    await LOG.started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    LOG.hang = False
    suite.again()
    assert isinstance(await suite.engine.execute(again(task), FakePorts()), Finished)
    assert LOG.ran == ["first", "last", "last"]

"""Asynchronous tools on a real mesh: killed at each boundary of a task's life, it was started once and its
end reaches its run; waiting costs no graph, and an end that is told wakes the run at once.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from fencepost.views import View
from fencepost_runtime.failpoints import FAILPOINTS

from tests.faults.mesh import Mesh, mesh_at, new_tenant
from tests.faults.people import Person
from tests.faults.scenes import TASKS
from tests.support.eventually import eventually
from tests.support.scripted_model import ScriptedModel, providing, text_answer, tool_answer
from tests.support.skills import Skill, Skills, research, skill_server

pytestmark = [pytest.mark.faults, pytest.mark.timeout(240)]
TOOL = "research.write_report"
POINTS = [*TASKS, "worker.commit.before_answer"]


class _Researcher(deque[Any]):
    """A model that orders a report about whatever is said."""

    def popleft(self) -> Any:
        return self._answer

    def _answer(self, body: dict[str, Any]) -> Any:
        said = [message["content"] for message in body["messages"] if message["role"] == "user"]
        offered = {tool["function"]["name"] for tool in body.get("tools", ())}
        if "research__write_report" not in offered:
            return text_answer("There is nothing I can do.")
        return tool_answer(TOOL, {"topic": said[-1]})


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def skills() -> AsyncIterator[Skills]:
    async with skill_server() as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def mesh(tmp_path_factory: pytest.TempPathFactory, skills: Skills) -> AsyncIterator[Mesh]:
    folder = tmp_path_factory.mktemp("tasks")
    root = research(folder / "modules", skills.url, seconds=120)
    async with providing(ScriptedModel(script=_Researcher())) as model:
        env = {
            "FENCEPOST_MODEL_URL": model.url,
            "FENCEPOST_MODEL_NAME": "scripted",
            "FENCEPOST_MODULES_DIR": str(root),
        }
        async with mesh_at(folder / "mesh", env) as running:
            await accepted(running)
            yield running


async def accepted(mesh: Mesh) -> None:
    """What the gateway saw of the tool is accepted, and new runs are bound to it."""
    [(fingerprint,)] = await mesh.until("SELECT fingerprint FROM agent.tool_pins WHERE tool = %s", TOOL)
    await mesh.sql("SELECT agent.decide_pin('research', %s, %s, 'accepted', 'user:op')", TOOL, fingerprint)
    await mesh.until("SELECT count(*) > 0 FROM agent.catalogs WHERE body LIKE %s", f"%{TOOL}%")
    await asyncio.sleep(1.5)


async def ordered(mesh: Mesh, skills: Skills, person: Person, topic: str) -> tuple[View, Skill]:
    """A run that waits on its task, and the task at the skill server."""
    run = await person.ask(topic, module="research")

    async def started() -> Skill | None:
        return next((one for one in skills.tasks.values() if one.topic == topic), None)

    skill = await eventually(started, timeout=30.0)
    assert skill is not None
    return run, skill


def begun(skills: Skills, topic: str) -> int:
    return sum(one.topic == topic for one in skills.tasks.values())


WAITS = "SELECT status = 'waiting' AND waiting_on = 'tool' FROM agent.runs WHERE id = %s"


@pytest.mark.parametrize("point", POINTS)
async def test_killed_there_a_task_is_started_once_and_its_end_reaches_its_run(
    mesh: Mesh, skills: Skills, point: str
) -> None:
    tenant, topic = new_tenant(), f"about {point}"
    skills.silent = "poll" in point
    async with mesh.client(tenant) as client:
        person = Person(mesh, client, tenant)
        early = point.startswith(("worker.", "reconciler.poll"))
        if early:
            mesh.arm(point)
        run, skill = await ordered(mesh, skills, person, topic)
        if early:
            died = await mesh.hit(point)
            await mesh.back(FAILPOINTS[point].process, died)
            await mesh.until(WAITS, run["id"])
            await skills.end(skill)
        else:
            await mesh.until(WAITS, run["id"])
            mesh.arm(point)
            ending = asyncio.create_task(_told(skills, skill))
            died = await mesh.hit(point)
            assert await mesh.violations() == [], "before anybody recovered"
            await mesh.back(FAILPOINTS[point].process, died)
            await ending
        await person.ends(run, "succeeded")
    assert begun(skills, topic) == 1
    assert await mesh.violations() == []


async def _told(skills: Skills, skill: Skill) -> None:
    """The end, told to a gateway that may die of it: then polling finds it."""
    try:
        await skills.end(skill)
    except Exception:
        skills.told.append(0)


async def test_waiting_runs_no_graph_and_a_told_end_wakes_at_once(mesh: Mesh, skills: Skills) -> None:
    tenant, topic = new_tenant(), "how long it takes"
    skills.silent = False
    async with mesh.client(tenant) as client:
        person = Person(mesh, client, tenant)
        run, skill = await ordered(mesh, skills, person, topic)
        await mesh.until(WAITS, run["id"])
        [(revision, attempt)] = await mesh.sql(
            "SELECT revision, attempt FROM agent.runs WHERE id = %s", run["id"]
        )
        await eventually(lambda: polled(skill, 3))
        assert await mesh.sql("SELECT revision, attempt FROM agent.runs WHERE id = %s", run["id"]) == [
            (revision, attempt)
        ], "polled, and nothing of the run was started"
        [(holder,)] = await mesh.sql(
            "SELECT c.holder_run_id::text FROM agent.conversations c"
            " JOIN agent.runs r ON r.conversation_id = c.id WHERE r.id = %s",
            run["id"],
        )
        assert holder == run["id"], "the conversation is held while a tool is waited for"
        before = time.monotonic()
        await skills.end(skill)
        await mesh.until("SELECT status <> 'waiting' FROM agent.runs WHERE id = %s", run["id"])
        took = time.monotonic() - before
        await person.ends(run, "succeeded")
    print(f"from the end to the wake-up: {took * 1000:.0f} ms")
    assert took < 1.0, "at once: neither the next poll, seconds away, nor the net below"


async def polled(skill: Skill, times: int) -> bool:
    return skill.polls >= times


async def test_a_lost_event_is_found_by_polling(mesh: Mesh, skills: Skills) -> None:
    tenant, topic = new_tenant(), "nobody tells"
    skills.silent = True
    async with mesh.client(tenant) as client:
        person = Person(mesh, client, tenant)
        run, skill = await ordered(mesh, skills, person, topic)
        await mesh.until(WAITS, run["id"])
        await skills.end(skill)
        await person.ends(run, "succeeded")


async def test_a_cancel_stops_the_task_and_ends_the_run(mesh: Mesh, skills: Skills) -> None:
    tenant, topic = new_tenant(), "never mind"
    skills.silent = True
    async with mesh.client(tenant) as client:
        person = Person(mesh, client, tenant)
        run, skill = await ordered(mesh, skills, person, topic)
        await mesh.until(WAITS, run["id"])
        await person.cancel(run)
        await person.ends(run, "cancelled")
    assert (skill.cancels, skill.state) == (1, "cancelled")
    assert await mesh.violations() == []

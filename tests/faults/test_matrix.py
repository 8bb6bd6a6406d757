"""Every failpoint in its turn: the process that reaches it kills itself, the mesh recovers, all is right.

One mesh for all of them, so that each crash happens to a database that has seen the others. Beside the scene
that reaches the point runs the common load: nine runs at once, of every kind. What a worker or a gateway
reaches by that load is in test_provider_log.py.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from fencepost_runtime.failpoints import FAILPOINTS

from tests.faults.mesh import PATIENCE, Mesh, mesh_at, new_tenant
from tests.faults.people import Person
from tests.faults.scenes import (
    COMPACTING,
    FILES,
    MATRIX,
    ONLY_WITH_A_PROVIDER,
    OUTSIDE,
    PROVIDED,
    SCENES,
    TASKS,
    UNDOING,
    forgotten,
    load,
    scene_of,
)
from tests.support.eventually import eventually

pytestmark = [pytest.mark.faults, pytest.mark.timeout(180)]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def mesh(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Mesh]:
    async with mesh_at(tmp_path_factory.mktemp("matrix")) as running:
        yield running


@pytest.fixture(scope="module")
def people() -> list[Person]:
    """All that lived in this module: their reminders fire while others are at work."""
    return []


@pytest.mark.parametrize("point", MATRIX)
async def test_killed_there_the_mesh_recovers(mesh: Mesh, people: list[Person], point: str) -> None:
    tenant = new_tenant()
    service = FAILPOINTS[point].process
    async with mesh.client(tenant) as client:
        person = Person(mesh, client, tenant)
        people.append(person)
        victim = mesh.running.pid(service)
        began = time.monotonic()
        async with asyncio.TaskGroup() as group:
            group.create_task(scene_of(point)(mesh, person, point))
            await person.is_ready.wait()
            group.create_task(person.everything())
            died = await mesh.hit(point)
            hit_after = time.monotonic() - began
            assert scene_of(point) is forgotten or await mesh.violations() == [], "before anybody recovered"
            await mesh.back(service, died)
        print(f"{point}: hit after {hit_after:.1f} s, over after {time.monotonic() - began:.1f} s")
    assert died == victim or scene_of(point) is not load, "another process than the service reached it"
    await person.reckon()
    assert await mesh.violations() == []


async def test_every_due_reminder_fired_once(mesh: Mesh, people: list[Person]) -> None:
    for person in people:

        async def told(who: Person = person) -> bool:
            return await who.fired_messages() >= who.fires

        await eventually(told, timeout=PATIENCE)
    await asyncio.sleep(1.5)  # time for one that would fire again
    assert [await person.fired_messages() for person in people] == [person.fires for person in people]
    assert await mesh.violations() == []


def test_every_failpoint_is_in_the_matrix() -> None:
    """By construction; what a table names and the registry doesn't is a point nobody would reach."""
    assert set(FAILPOINTS) >= set(SCENES) | ONLY_WITH_A_PROVIDER
    elsewhere = OUTSIDE + TASKS + FILES + UNDOING + COMPACTING
    assert sorted(MATRIX + PROVIDED + elsewhere) == sorted(FAILPOINTS)

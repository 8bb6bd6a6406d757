"""The worker's and the gateway's failpoints, on a provider whose own log shows what the tables can't.

I15: an answer that is in the ledger is never asked for again. I18: nothing unpaired is ever sent. I22:
nothing is asked once a cancel is committed. A provider can also be told to fail and to call nonsense, which
is how the last failpoints are reached.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from fencepost_runtime.failpoints import FAILPOINTS

from tests.faults.mesh import Mesh, mesh_at, new_tenant
from tests.faults.people import Person
from tests.faults.provider import how_often, make_provider, unpaired
from tests.faults.scenes import PROVIDED
from tests.support.scripted_model import ScriptedModel, providing

pytestmark = [pytest.mark.faults, pytest.mark.timeout(180)]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def provider() -> AsyncIterator[ScriptedModel]:
    async with providing(make_provider()) as model:
        yield model


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def mesh(tmp_path_factory: pytest.TempPathFactory, provider: ScriptedModel) -> AsyncIterator[Mesh]:
    env = {"FENCEPOST_MODEL_URL": provider.url, "FENCEPOST_MODEL_NAME": "scripted"}
    async with mesh_at(tmp_path_factory.mktemp("provider"), env) as running:
        yield running


@pytest.mark.parametrize("point", PROVIDED)
async def test_killed_there_no_answer_is_asked_for_twice(
    mesh: Mesh, provider: ScriptedModel, point: str
) -> None:
    tenant = new_tenant()
    seen = len(provider.requests)
    async with mesh.client(tenant) as client:
        person = Person(mesh, client, tenant, mark=f"[{tenant[:8]}]")
        mesh.arm(point)
        async with asyncio.TaskGroup() as group:
            group.create_task(person.everything())
            for title in ("write nonsense", "move yesterday", "lift the overload"):
                group.create_task(person.reminder(title))
            died = await mesh.hit(point)
            assert await mesh.violations() == [], "before anybody recovered"
            await mesh.back(FAILPOINTS[point].process, died)
    person.reminders = [f"{title} {person.mark}" for title in person.reminders]
    await person.reckon()
    assert await mesh.violations() == []
    await _judge(mesh, tenant, provider.requests[seen:])


async def _judge(mesh: Mesh, tenant: str, requests: list[dict[str, object]]) -> None:
    """The provider's log beside the ledger."""
    assert [fault for body in requests for fault in unpaired(body)] == []
    [(attempts, unsettled)] = await mesh.sql(
        "SELECT count(*), count(*) FILTER (WHERE state <> 'settled')"
        " FROM agent.model_calls WHERE tenant_id = %s",
        tenant,
    )
    assert len(requests) <= attempts, "what was sent was in the ledger before"
    repeated = sum(times - 1 for times in how_often(requests).values())
    assert repeated <= unsettled, "an answer that was stored was asked for again"
    asked_again = await mesh.sql(
        "SELECT l.call_key FROM agent.model_calls e JOIN agent.model_calls l USING (run_id, call_key)"
        " WHERE l.tenant_id = %s AND e.state = 'settled' AND l.attempt > e.attempt",
        tenant,
    )
    assert asked_again == []
    after_the_stop = await mesh.sql(
        "SELECT c.call_key FROM agent.model_calls c JOIN agent.run_events e USING (run_id)"
        " WHERE c.tenant_id = %s AND e.type = 'run.cancel_asked' AND c.started_at > e.at",
        tenant,
    )
    assert after_the_stop == []

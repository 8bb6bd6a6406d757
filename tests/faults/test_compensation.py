"""An effect is undone by an effect of its own, on a real mesh: killed at each point, it is undone once.

The provider's log says how often a parcel was really called back; what failed, or isn't known, is a person's.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from fencepost.errors import ApiError
from fencepost.requests import Request, derive
from fencepost_domain.effect import effect_key
from fencepost_runtime.failpoints import FAILPOINTS

from tests.faults.mesh import Mesh, new_tenant
from tests.faults.people import Person, patiently
from tests.faults.scenes import UNDOING
from tests.faults.sending import sending_mesh
from tests.support.parcels import Provider, providing_parcels

pytestmark = [pytest.mark.faults, pytest.mark.timeout(180)]
SENDING = [point for point in FAILPOINTS if point.startswith("gateway.send.")]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def provider() -> AsyncIterator[Provider]:
    async with providing_parcels() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def mesh(tmp_path_factory: pytest.TempPathFactory, provider: Provider) -> AsyncIterator[Mesh]:
    async with sending_mesh(tmp_path_factory.mktemp("undone"), provider) as running:
        yield running


async def sent(person: Person, tool: str) -> str:
    """A parcel that left, by a run that is over; its effect's key."""
    run = await person.ask(f"send it by {tool}", module="probe")
    if tool == "opaque":
        await person.decide(await person.asked(run), decision="approve")
    await person.ends(run, "succeeded")
    return effect_key(run["id"], 0)


async def ordered(mesh: Mesh, tenant: str, key: str, idempotency_key: str = "undo-1") -> Any:
    """The order, repeated under its key until it is answered."""
    body = {"reason": "the wrong Bob"}
    async with mesh.operator(tenant) as operator:
        request = Request("POST", f"/v1/effects/{key}/compensation", body, key=idempotency_key)
        return await patiently(lambda: operator.get(request))


async def becomes(mesh: Mesh, key: str, state: str) -> None:
    await mesh.until("SELECT state = %s FROM agent.effects WHERE effect_key = %s", state, key)


async def called_back(provider: Provider) -> int:
    return (await provider.counts())["called_back"]


async def log_of(mesh: Mesh, key: str) -> list[str]:
    found = await mesh.sql(
        "SELECT type FROM agent.run_events"
        " WHERE run_id = CAST(%s AS uuid) AND type LIKE 'effect.%%' ORDER BY seq",
        key.partition(":")[0],
    )
    return [row[0] for row in found]


@pytest.mark.parametrize("point", [*SENDING, *UNDOING])
async def test_i10_killed_while_undoing_it_is_undone_once(mesh: Mesh, provider: Provider, point: str) -> None:
    tenant, process = new_tenant(), FAILPOINTS[point].process
    async with mesh.client(tenant) as client:
        person = Person(mesh, client, tenant)
        key = await sent(person, "idempotent")
        before = await called_back(provider)
        mesh.arm(point)
        order = asyncio.create_task(ordered(mesh, tenant, key))
        died = await mesh.hit(point)
        await mesh.back(process, died)
        run_id = (await order)["compensation_run_id"]
        await becomes(mesh, key, "compensated")
        await person.ends({"id": run_id}, "succeeded")
        again = await ordered(mesh, tenant, key)
        assert (again["state"], again["compensation_run_id"]) == ("compensated", run_id), "the same order"
        assert await called_back(provider) == before + 1
        assert await log_of(mesh, key) == ["effect.compensating", "effect.compensated"]
        [(undoes, state)] = await mesh.sql(
            "SELECT compensates, state FROM agent.effects WHERE run_id = %s", run_id
        )
        assert (undoes, state) == (key, "completed")
    assert await mesh.violations() == []


async def test_a_lost_answer_of_an_undoing_is_looked_up(mesh: Mesh, provider: Provider) -> None:
    tenant = new_tenant()
    async with mesh.client(tenant) as client:
        person = Person(mesh, client, tenant)
        key = await sent(person, "queryable")
        before = await called_back(provider)
        await provider.switch(mode="accept_then_drop")
        await ordered(mesh, tenant, key)
        await becomes(mesh, key, "compensated")
        assert await called_back(provider) == before + 1
    assert await mesh.violations() == []


async def test_what_failed_to_be_undone_is_a_persons_and_can_be_ordered_again(
    mesh: Mesh, provider: Provider
) -> None:
    tenant = new_tenant()
    async with mesh.client(tenant) as client, mesh.operator(tenant) as operator:
        person = Person(mesh, client, tenant)
        key = await sent(person, "idempotent")
        await provider.switch(mode="reject")
        failed = (await ordered(mesh, tenant, key))["compensation_run_id"]
        await person.ends({"id": failed}, "failed")
        await becomes(mesh, key, "needs_human")
        inbox = await operator.page(Request("GET", "/v1/effects", params={"state": "needs_human"}))
        assert [one["id"] for one in inbox.items] == [key], inbox.items
        assert inbox.items[0]["error"]["code"] == "compensation_failed"
        assert "not now" in inbox.items[0]["error"]["detail"]
        path, evidence = f"/v1/effects/{key}/resolution", "their log"
        with pytest.raises(ApiError) as refused:
            await operator.get(Request("POST", path, {"outcome": "absent", "evidence": evidence}, key="r1"))
        assert refused.value.code == "effect_not_asked" and "compensated" in str(refused.value)
        stands = await operator.get(
            Request("POST", path, {"outcome": "completed", "evidence": evidence}, key="r2")
        )
        assert stands["state"] == "completed"
        await ordered(mesh, tenant, key, "undo-2")
        await becomes(mesh, key, "compensated")
    assert await mesh.violations() == []


async def test_i12_a_high_risk_undoing_is_approved_by_another_than_who_ordered_it(
    mesh: Mesh, provider: Provider
) -> None:
    tenant = new_tenant()
    async with mesh.client(tenant) as client, mesh.operator(tenant) as operator:
        person = Person(mesh, client, tenant)
        key = await sent(person, "opaque")
        before = await called_back(provider)
        policy = {"approval": {"four_eyes": ["high"]}}
        token = mesh.running.identity.mint_token("root", tenant, ("admin",))
        async with type(client)(mesh.running.url, token) as admin:
            await admin.get(Request("PATCH", "/v1/settings", policy, params={"scope": "tenant"}))
        run_id = (await ordered(mesh, tenant, key))["compensation_run_id"]
        run = await person.asked({"id": run_id})
        shown = run["interrupt"]["preview"][0]["preview"]
        assert shown["undoes"]["effect_key"] == key and "the wrong Bob" in shown["text"]
        question = run["interrupt"]["id"]
        path = f"/v1/interrupts/{question}/resolution"
        with pytest.raises(ApiError) as refused:  # ops ordered it: the arguments are its own
            await operator.get(Request("POST", path, {"decision": "approve"}, key="a1"))
        assert refused.value.status == 403 and await called_back(provider) == before
        token = mesh.running.identity.mint_token("ann", tenant, ("approver",))
        async with type(client)(mesh.running.url, token) as ann:
            await ann.get(Request("POST", path, {"decision": "approve"}, key="a2"))
        await becomes(mesh, key, "compensated")
        assert await called_back(provider) == before + 1
    assert await mesh.violations() == []


async def test_i13_a_rejected_undoing_leaves_it_standing(mesh: Mesh, provider: Provider) -> None:
    tenant = new_tenant()
    async with mesh.client(tenant) as client:
        person = Person(mesh, client, tenant)
        key = await sent(person, "opaque")
        before = await called_back(provider)
        run_id = (await ordered(mesh, tenant, key))["compensation_run_id"]
        await person.decide(await person.asked({"id": run_id}), decision="reject")
        await person.ends({"id": run_id}, "cancelled", "approval_rejected")
        await becomes(mesh, key, "completed")
        assert await called_back(provider) == before
        assert await log_of(mesh, key) == ["effect.compensating", "effect.observed"]
    assert await mesh.violations() == []


async def test_a_retry_waits_until_it_is_known_whether_the_first_was_undone(
    mesh: Mesh, provider: Provider
) -> None:
    """Done again while the first is being called back, it would be there twice, or not at all."""
    tenant = new_tenant()
    async with mesh.client(tenant) as client:
        person = Person(mesh, client, tenant)
        key = await sent(person, "opaque")
        before, back = await provider.sent(), await called_back(provider)
        undoing = {"id": (await ordered(mesh, tenant, key))["compensation_run_id"]}
        asked = await person.asked(undoing)
        again = await client.get(derive(key.partition(":")[0], "retry", {}, "retry-1"))
        await person.decide(await person.asked(again), decision="approve")
        await mesh.until("SELECT waiting_on = 'reconcile' FROM agent.runs WHERE id = %s", again["id"])
        assert (await provider.sent(), await called_back(provider)) == (before, back)
        await person.decide(asked, decision="approve")
        await becomes(mesh, key, "compensated")
        await person.ends(again, "succeeded")
        assert (await provider.sent(), await called_back(provider)) == (before + 1, back + 1)
    assert await mesh.violations() == []

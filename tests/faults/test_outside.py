"""Effects that leave the house, on a real mesh: each process killed at each point; the provider's own log.

Exactly one parcel where a key or a look-up allows it; for what can't be asked about, one at most without
a person, and what is unknown is before a person, whose word ends the run.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from fencepost.errors import ApiError
from fencepost_domain.effect import effect_key
from fencepost_runtime.failpoints import FAILPOINTS

from tests.faults.mesh import Mesh, new_tenant
from tests.faults.people import Person
from tests.faults.scenes import OUTSIDE
from tests.faults.sending import sending_mesh
from tests.support.parcels import Provider, providing_parcels

pytestmark = [pytest.mark.faults, pytest.mark.timeout(180)]
SENDING = [point for point in OUTSIDE if point.startswith("gateway.send.")]
LOOKING = [point for point in OUTSIDE if "look_up" in point]
CLASSES = ("idempotent", "queryable", "opaque")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def provider() -> AsyncIterator[Provider]:
    async with providing_parcels() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def mesh(tmp_path_factory: pytest.TempPathFactory, provider: Provider) -> AsyncIterator[Mesh]:
    async with sending_mesh(tmp_path_factory.mktemp("outside"), provider) as running:
        yield running


async def begun(person: Person, tool: str) -> tuple[Any, str]:
    run = await person.ask(f"send it by {tool}", module="probe")
    if tool == "opaque":
        await person.decide(await person.asked(run), decision="approve")
    return run, effect_key(run["id"], 0)


async def settled_by_a_person(mesh: Mesh, person: Person, provider: Provider, key: str, sent: int) -> None:
    """What an operator does who looked at the other side's books."""
    await mesh.until("SELECT state = 'needs_human' FROM agent.effects WHERE effect_key = %s", key)
    said = {"outcome": "completed" if sent else "absent", "evidence": "their log"}
    token = mesh.running.identity.mint_token("olga", person.tenant, ("operator",))
    verb = ("effects", "resolve", key, said["outcome"], "--evidence", said["evidence"])
    told = {**os.environ, "FENCEPOST_URL": mesh.running.url, "FENCEPOST_TOKEN": token}
    asked = await asyncio.create_subprocess_exec(sys.executable, "-m", "fencepost_cli.main", *verb, env=told)
    assert await asked.wait() == 0


@pytest.mark.parametrize("tool", CLASSES)
@pytest.mark.parametrize("point", SENDING)
async def test_i10_killed_while_sending_the_world_has_it_once(
    mesh: Mesh, provider: Provider, point: str, tool: str
) -> None:
    tenant = new_tenant()
    async with mesh.client(tenant) as client:
        person = Person(mesh, client, tenant)
        before = await provider.sent()
        mesh.arm(point)
        run, key = await begun(person, tool)
        died = await mesh.hit(point)
        await mesh.back(FAILPOINTS[point].process, died)
        if tool == "opaque" and point not in ("gateway.send.before_start", "gateway.send.after_commit"):
            sent = await provider.sent() - before
            assert sent <= 1, "never twice without a person"
            await settled_by_a_person(mesh, person, provider, key, sent)
        await person.ends(run, "succeeded")
        assert await provider.sent() - before == 1
    assert await mesh.violations() == []


@pytest.mark.parametrize("point", LOOKING)
async def test_i10_killed_while_looking_it_is_found_and_not_sent_again(
    mesh: Mesh, provider: Provider, point: str
) -> None:
    tenant = new_tenant()
    async with mesh.client(tenant) as client:
        person = Person(mesh, client, tenant)
        # Not there yet when it is looked at first: what isn't settled is written down too.
        late = 2.5 if point == "gateway.look_up.before_commit" else 0
        await provider.switch(mode="accept_then_drop", visible_after=late)
        mesh.arm(point)
        run, key = await begun(person, "queryable")
        orphaned = FAILPOINTS[point].process == "reconciler"
        if orphaned:  # else the run's own commit looks first
            await mesh.until("SELECT state = 'unknown' FROM agent.effects WHERE effect_key = %s", key)
            await mesh.running.kill("worker")
        died = await mesh.hit(point)
        await mesh.back(FAILPOINTS[point].process, died)
        if orphaned:
            await mesh.running.start("worker")
        await person.ends(run, "succeeded")
        assert await provider.sent(key) == 1
    await provider.switch(visible_after=0)
    assert await mesh.violations() == []


@pytest.mark.parametrize("point", ["worker.commit.before_answer", "worker.commit.after_answer"])
@pytest.mark.parametrize("tool", CLASSES)
async def test_i10_a_worker_killed_at_its_commit_sends_nothing_twice(
    mesh: Mesh, provider: Provider, point: str, tool: str
) -> None:
    tenant = new_tenant()
    async with mesh.client(tenant) as client:
        person = Person(mesh, client, tenant)
        before = await provider.sent()
        mesh.arm(point)
        run, _ = await begun(person, tool)
        died = await mesh.hit(point)
        await mesh.back("worker", died)
        await person.ends(run, "succeeded")
        assert await provider.sent() - before == 1
    assert await mesh.violations() == []


async def checked(mesh: Mesh, run: Any) -> list[tuple[int, str, str]]:
    """The gate's words about effects: (seq, `wait` or what else, event), and where the effect settled."""
    return [
        (seq, answer, kind)
        for seq, kind, answer in await mesh.sql(
            "SELECT e.seq, e.type, convert_from(p.payload, 'UTF8')::jsonb ->> 'answer'"
            "  FROM agent.run_events e JOIN agent.run_event_payloads p USING (run_id, seq)"
            " WHERE e.run_id = %s AND (e.type = 'action.committed' OR e.type = 'recovery.checked'"
            "   AND convert_from(p.payload, 'UTF8')::jsonb ->> 'check' = 'effects')"
            " ORDER BY e.seq",
            run["id"],
        )
    ]


async def test_i15_the_gate_waits_until_an_unknown_effect_settles_and_then_the_run_goes_on(
    mesh: Mesh, provider: Provider
) -> None:
    """Its worker is killed while nobody knows whether the parcel left: looked up first, then it goes on."""
    tenant = new_tenant()
    async with mesh.client(tenant) as client:
        person = Person(mesh, client, tenant)
        await provider.switch(mode="accept_then_hang", seconds=30, lookup_fails=True)
        run = await person.ask("send it by queryable", module="probe")
        key = effect_key(run["id"], 0)
        await mesh.until("SELECT state = 'started' FROM agent.effects WHERE effect_key = %s", key)
        await mesh.running.kill("worker")
        await mesh.running.start("worker")
        await mesh.until(
            "SELECT waiting_on = 'tool' AND gate_revision IS DISTINCT FROM revision FROM agent.runs"
            " WHERE id = %s AND status = 'waiting'",
            run["id"],
        )
        assert [word for _, word, _ in await checked(mesh, run)][-1] == "wait"
        assert await provider.sent(key) == 1
        await provider.switch(lookup_fails=False)
        await person.ends(run, "succeeded")
        told = await checked(mesh, run)
        settled = next(seq for seq, _, kind in told if kind == "action.committed")
        words = [(word, seq < settled) for seq, word, kind in told if kind == "recovery.checked"]
        assert ("wait", True) in words and words[-1] == ("ok", False), words
        assert await provider.sent(key) == 1
    assert await mesh.violations() == []


async def test_i10_what_nobody_can_look_up_is_answered_in_the_inbox_and_nowhere_else(
    mesh: Mesh, provider: Provider
) -> None:
    tenant = new_tenant()
    async with mesh.client(tenant) as client, mesh.operator(tenant) as operator:
        person = Person(mesh, client, tenant)
        before = await provider.sent()
        await provider.switch(mode="accept_then_drop")
        run, key = await begun(person, "opaque")
        unsettled = "SELECT state IN ('unknown', 'needs_human') FROM agent.effects WHERE effect_key = %s"
        await mesh.until(unsettled, key)
        await mesh.running.kill("worker")
        await mesh.running.start("worker")
        asked = await person.asked(run, "reconcile")
        with pytest.raises(ApiError) as refused:
            await operator.resolve(asked["interrupt"]["id"], {"text": "it left"}, idempotency_key="r")
        assert (refused.value.status, refused.value.code) == (409, "settle_the_effect")
        assert refused.value.problem["effect_key"] == key
        assert (await person.look(run))["waiting_on"] == "reconcile"
        await settled_by_a_person(mesh, person, provider, key, await provider.sent() - before)
        await person.ends(run, "succeeded")
        assert await provider.sent() - before == 1
    assert await mesh.violations() == []

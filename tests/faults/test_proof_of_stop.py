"""Proof of stop (I22): after a cancel is acknowledged nothing of that run starts, by the provider's own log.

Many runs are cancelled at random moments, from before their first claim to after their end: while a model
streams, while a person is asked, while the gateway commits. The provider notes when each request came; what
came after the acknowledgement must have been opened before the cancel's commit (a pause between the last
look at the fence and the send can be made short, not impossible), and nothing may have been opened after it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import pytest
import pytest_asyncio
from fencepost.errors import ApiError

from tests.faults.mesh import Mesh, mesh_at, new_tenant
from tests.faults.people import REMIND, Person
from tests.faults.provider import make_provider
from tests.support.scripted_model import ScriptedModel, providing

pytestmark = [pytest.mark.faults, pytest.mark.timeout(180)]

RUNS: Final = 60
SEED: Final = 20261130
LATEST: Final = 1.2  # seconds after the ask; many runs have ended by then
AT_ONCE: Final = 8  # runs at a time
SOON: Final = 1.0  # what was opened before the commit is sent within this, on two busy cores


@dataclass
class Stopped:
    run_id: str
    mark: str
    acknowledged_at: float | None
    view: dict[str, Any]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def provider() -> AsyncIterator[ScriptedModel]:
    model = make_provider()
    model.pace = 0.05
    async with providing(model) as served:
        yield served


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def mesh(tmp_path_factory: pytest.TempPathFactory, provider: ScriptedModel) -> AsyncIterator[Mesh]:
    env = {"FENCEPOST_MODEL_URL": provider.url, "FENCEPOST_MODEL_NAME": "scripted"}
    async with mesh_at(tmp_path_factory.mktemp("stop"), env) as running:
        yield running


async def one(mesh: Mesh, number: int, chance: random.Random, gate: asyncio.Semaphore) -> Stopped:
    """Ask for something, approve it when asked, and cancel it at a random moment."""
    async with gate, mesh.client(new_tenant()) as client:
        mark = f"[stop-{number:03d}]"
        person = Person(mesh, client, "", mark=mark)
        run = await person.ask(chance.choice(["hello!", REMIND.format(title="call Bob")]))
        approving = asyncio.create_task(_approve(person, run))
        await asyncio.sleep(chance.uniform(0, LATEST))
        acknowledged: float | None = None
        try:
            await person.verb(run, "cancel")
            acknowledged = asyncio.get_running_loop().time()
        except ApiError as error:
            assert error.code == "run_finished"
        approving.cancel()
        with suppress(asyncio.CancelledError, ApiError, AssertionError):
            await approving
        ended = await person._until(run, lambda view: view["finished_at"] is not None, lambda _: True)
        return Stopped(run["id"], mark, acknowledged, dict(ended))


async def _approve(person: Person, run: Any) -> None:
    await person.decide(await person.asked(run), decision="approve")


async def test_i22_after_the_acknowledgement_nothing_of_a_run_starts(
    mesh: Mesh, provider: ScriptedModel
) -> None:
    chance, gate = random.Random(SEED), asyncio.Semaphore(AT_ONCE)
    stopped = await asyncio.gather(*(one(mesh, number, chance, gate) for number in range(RUNS)))
    cancelled = [s for s in stopped if s.view["status"] == "cancelled"]
    assert len(cancelled) >= RUNS // 4, "the moments must be spread over the runs' lives"
    for table, column in (("effect_attempts", "started_at"), ("model_calls", "started_at")):
        later = await mesh.sql(
            f"SELECT t.run_id FROM agent.{table} t JOIN agent.run_events e USING (run_id)"
            f" WHERE e.type = 'run.cancel_asked' AND t.{column} > e.at"
        )
        assert later == [], f"{table}: opened after the cancel's commit"
    late = 0
    for run in cancelled:
        late += await _judge(mesh, provider, run)
    aborted = await mesh.sql("SELECT count(*) FROM agent.model_calls WHERE error ->> 'code' = 'aborted'")
    print(f"{len(cancelled)} of {RUNS} cancelled, {aborted[0][0]} streams aborted, {late} requests in flight")
    assert await mesh.violations() == []


async def _judge(mesh: Mesh, provider: ScriptedModel, run: Stopped) -> int:
    """How many requests came after the acknowledgement; each was opened before the cancel's commit."""
    assert run.acknowledged_at is not None
    came = [
        at
        for at, body in zip(provider.came_at, provider.requests, strict=True)
        if run.mark in str(body["messages"])
    ]
    after = [at - run.acknowledged_at for at in came if at > run.acknowledged_at]
    [(attempts, in_flight)] = await mesh.sql(
        "SELECT count(*), count(*) FILTER (WHERE c.settled_at IS NULL OR c.settled_at > e.at)"
        " FROM agent.run_events e LEFT JOIN agent.model_calls c ON c.run_id = e.run_id"
        " WHERE e.run_id = %s AND e.type = 'run.cancel_asked'",
        run.run_id,
    )
    assert len(came) <= attempts and len(after) <= in_flight
    assert all(seconds < SOON for seconds in after), f"{run.run_id} was sent {after} s after it was stopped"
    end = run.view["finalization"]
    assert end["reason"] == "user_cancelled" and end["explanation"]
    acted = {a["effect_key"] for a in run.view["actions"] if a["effect"] == "completed"}
    assert acted <= set(end["evidence"]["completed"]), "what was done is said"
    ends = await mesh.sql(
        "SELECT count(*) FROM agent.run_events WHERE run_id = %s AND type = 'run.finalized'", run.run_id
    )
    assert ends[0][0] == 1
    return len(after)

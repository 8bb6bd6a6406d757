"""Frozen by SIGSTOP until the lease is really over, overtaken, and woken: a zombie changes nothing.

Real processes on a real mesh: nobody ages a lease by hand, the reconciler takes it and another worker goes
on. Three of them run with every `make test`; the rest with the fault matrix.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from fencepost_runtime.failpoints import Action

from tests.faults.mesh import Mesh, mesh_at, new_tenant
from tests.faults.people import REMIND, Person
from tests.support.eventually import eventually

pytestmark = pytest.mark.faults

FAST = ("worker.checkpoint.before_commit", "worker.finalize.before_commit")
SLOW = (
    "worker.claim.after_commit",
    "worker.bind.before_commit",
    "worker.node.before_start",
    "worker.prepare.after_answer",
    "worker.interrupt.before_commit",
    "worker.commit.before_answer",
    "worker.commit.after_answer",
)
SEEN = ("claim.failed", "fence_refused", "run.taken", "run.dropped", "run.left_to_its_lease", "run.left")
SILENT = ("worker.bind.before_commit",)  # its claim was rolled back: there is no run to speak of
ROLE_TIMEOUT = 2.4  # seconds: idle_in_transaction_session_timeout of every service's role
SNAPSHOT = """
SELECT jsonb_build_array(
    (SELECT jsonb_agg(to_jsonb(r) ORDER BY r.id) FROM agent.runs r WHERE tenant_id = %(tenant)s),
    (SELECT jsonb_agg(to_jsonb(e) ORDER BY run_id, seq) FROM agent.run_events e WHERE tenant_id = %(tenant)s),
    (SELECT jsonb_agg(checkpoint_id ORDER BY checkpoint_id) FROM langgraph.checkpoints WHERE tenant_id = %(tenant)s),
    (SELECT count(*) FROM langgraph.writes WHERE tenant_id = %(tenant)s),
    (SELECT jsonb_agg(to_jsonb(m) ORDER BY id) FROM agent.messages m WHERE tenant_id = %(tenant)s),
    (SELECT jsonb_agg(to_jsonb(a) ORDER BY run_id, index, n) FROM agent.actions a WHERE tenant_id = %(tenant)s),
    (SELECT jsonb_agg(to_jsonb(t) ORDER BY effect_key, attempt) FROM agent.effect_attempts t WHERE tenant_id = %(tenant)s))
"""  # noqa: E501


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def mesh(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Mesh]:
    """Two of whatever may be frozen, so that another can go on."""
    async with mesh_at(tmp_path_factory.mktemp("zombies")) as running:
        up = running.running
        await asyncio.gather(
            up.start_service("gateway", "gateway-2"), up.start_service("reconciler", "reconciler-2")
        )
        gateway = {"FENCEPOST_GATEWAY_URL": f"http://127.0.0.1:{up.children['gateway-2'].port}"}
        await up.start_service("worker", "worker-2", gateway)
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def person(mesh: Mesh) -> AsyncIterator[Person]:
    tenant = new_tenant()
    async with mesh.client(tenant) as client:
        yield Person(mesh, client, tenant)


async def snapshot(person: Person) -> object:
    [(found,)] = await person.mesh.sql(SNAPSHOT.replace("%(tenant)s", f"'{person.tenant}'"))
    return found


def name_of(mesh: Mesh, pid: int) -> str:
    return next(name for name, child in mesh.running.children.items() if child.pid == pid)


async def thaw(mesh: Mesh, pid: int) -> None:
    """Wake it, and wait until its log says that it saw whose the run is."""
    log = mesh.running.children[name_of(mesh, pid)].log_file
    frozen_at = log.stat().st_size
    os.kill(pid, signal.SIGCONT)

    def has_seen() -> bool:
        return any(word in log.read_text()[frozen_at:] for word in SEEN)

    await eventually(has_seen, timeout=20.0)


async def late_events(person: Person) -> list[tuple[str, bool]]:
    rows = await person.mesh.sql(
        "SELECT e.type, convert_from(p.payload, 'UTF8')::jsonb -> 'late' FROM agent.run_events e"
        " JOIN agent.run_event_payloads p USING (run_id, seq) WHERE e.tenant_id = %s"
        " AND e.seq > (SELECT min(f.seq) FROM agent.run_events f"
        " WHERE f.run_id = e.run_id AND f.type = 'run.finalized')",
        person.tenant,
    )
    return [(kind, bool(late)) for kind, late in rows]


async def overtaken(mesh: Mesh, person: Person, point: str) -> None:
    """Freeze a worker there, let the other finish, wake the first: nothing changes any more."""
    mesh.arm(point, Action.STOP)
    life = asyncio.ensure_future(person.reminder())
    pid = await mesh.hit(point)
    try:
        await life
        before = await snapshot(person)
        if point in SILENT:
            os.kill(pid, signal.SIGCONT)
            await asyncio.sleep(1.5)
        else:
            await thaw(mesh, pid)
        await asyncio.sleep(0.3)  # whatever it still had in flight
        assert await snapshot(person) == before
    finally:
        os.kill(pid, signal.SIGCONT)
    await person.reckon()
    assert await mesh.violations() == []


@pytest.mark.parametrize("point", FAST)
async def test_i05_a_worker_frozen_past_its_lease_changes_nothing(
    mesh: Mesh, person: Person, point: str
) -> None:
    await overtaken(mesh, person, point)


@pytest.mark.parametrize("point", SLOW)
async def test_i05_a_worker_frozen_anywhere_else_changes_nothing(
    mesh: Mesh, person: Person, point: str
) -> None:
    await overtaken(mesh, person, point)


async def test_i05_an_answer_that_comes_late_is_kept_and_never_used(mesh: Mesh, person: Person) -> None:
    """Frozen with a model's answer in hand: its outcome is recorded as late, and moves nothing."""
    point = "worker.model.before_settle"
    mesh.arm(point, Action.STOP)
    life = asyncio.ensure_future(person.reminder())
    pid = await mesh.hit(point)
    try:
        await life
        assert await late_events(person) == []
        await thaw(mesh, pid)
    finally:
        os.kill(pid, signal.SIGCONT)
    await eventually(lambda: late_events(person))  # its log line comes first
    assert [is_late for _, is_late in await late_events(person)] == [True]
    calls = await mesh.sql(
        "SELECT attempt, state, late FROM agent.model_calls WHERE tenant_id = %s ORDER BY attempt",
        person.tenant,
    )
    assert calls == [(1, "settled", True), (2, "settled", False)]
    await person.reckon()
    assert await mesh.violations() == []


async def test_i22_a_gateway_frozen_before_an_attempt_opens_none(mesh: Mesh, person: Person) -> None:
    """Gateway and worker freeze together; others take the run and do it; the first gateway wakes."""
    point = "gateway.attempt.before_start"
    run = await person.asked(await person.ask(REMIND.format(title="call Bob")))
    await mesh.running.stop("worker-2")  # so that the first worker gets it, and its gateway
    mesh.arm(point, Action.STOP)
    await person.decide(run, decision="approve")
    gateway = await mesh.hit(point)
    worker = mesh.running.pid("worker")
    assert name_of(mesh, gateway) == "gateway" and worker is not None
    os.kill(worker, signal.SIGSTOP)
    try:
        await mesh.running.start("worker-2")
        person.reminders.append("call Bob")
        await person.ends(run, "succeeded")
        before = await snapshot(person)
        os.kill(gateway, signal.SIGCONT)
        await asyncio.sleep(1.0)  # its answer is nobody's: the worker that asked is still frozen
        assert await snapshot(person) == before
        await thaw(mesh, worker)
        assert await snapshot(person) == before
    finally:
        for pid in (gateway, worker):
            os.kill(pid, signal.SIGCONT)
    await person.reckon()
    assert await mesh.violations() == []


@pytest.mark.parametrize("point", ["api.cancel.before_commit", "api.pause.before_commit"])
async def test_i07_an_api_frozen_in_its_transaction_holds_a_run_no_longer_than_its_roles_timeout(
    mesh: Mesh, person: Person, point: str
) -> None:
    run = await person.asked(await person.ask(REMIND.format(title="call Bob")))
    mesh.arm(point, Action.STOP)
    asking = asyncio.ensure_future(person.cancel(run) if "cancel" in point else person.verb(run, "pause"))
    pid = await mesh.hit(point)
    since = time.monotonic()
    await mesh.sql("SELECT FROM agent.runs WHERE id = %s FOR NO KEY UPDATE", run["id"])
    # Postgres ended it, not the thaw; the slack is the machine's, busy with the rest of the matrix.
    assert time.monotonic() - since < ROLE_TIMEOUT + 5.0
    os.kill(pid, signal.SIGCONT)
    await asking  # refused, and asked again under the same key
    if "pause" in point:
        await person.verb(run, "resume")
        await person.cancel(run)
    await person.ends(run, "cancelled")
    await person.reckon()
    assert await mesh.violations() == []


async def test_i07_a_reconciler_frozen_in_a_take_over_does_not_hold_it_up(mesh: Mesh, person: Person) -> None:
    """Its transaction ends by the role's timeout, and the other reconciler takes the run."""
    point = "reconciler.expire_leases.before_commit"
    mesh.arm("worker.node.before_start", Action.STOP)
    mesh.arm(point, Action.STOP)
    life = asyncio.ensure_future(person.reminder())
    worker, reconciler = await mesh.hit("worker.node.before_start"), await mesh.hit(point)
    await life
    before = await snapshot(person)
    for pid in (reconciler, worker):
        os.kill(pid, signal.SIGCONT)
    await asyncio.sleep(1.0)
    assert await snapshot(person) == before
    await person.reckon()
    assert await mesh.violations() == []


async def test_i31_a_reconciler_frozen_while_it_fires_fires_nothing_twice(mesh: Mesh, person: Person) -> None:
    mesh.arm("reconciler.fire.before_commit", Action.STOP)
    await person.fired(4)
    frozen = await mesh.hit("reconciler.fire.before_commit")

    async def told() -> bool:
        return await person.fired_messages() == 1

    await eventually(told, timeout=20.0)
    os.kill(frozen, signal.SIGCONT)
    await asyncio.sleep(1.5)
    assert await person.fired_messages() == 1
    await person.reckon()
    assert await mesh.violations() == []

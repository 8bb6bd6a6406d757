"""How each failpoint is reached: most by the common load, some by a scene of their own beside it.

A scene says by `is_ready` when the load may begin: before that, what it arms is met by its own run only.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from fencepost.errors import ApiError
from fencepost.requests import handoff, repair
from fencepost.views import View
from fencepost_runtime.failpoints import FAILPOINTS, Action, Failpoint

from tests.faults.mesh import Mesh
from tests.faults.people import REMIND, Person, patiently
from tests.faults.scenes_approvals import by_a_link, remembered_and_revoked
from tests.faults.scenes_files import erased, scanned, uploaded

Scene = Callable[[Mesh, Person, str], Awaitable[None]]
NODE: Final = "worker.node.before_start"


async def load(mesh: Mesh, person: Person, point: str) -> None:
    """The common load reaches it."""
    mesh.arm(point)
    person.is_ready.set()


async def _held_at_a_node(mesh: Mesh, person: Person, **rest: object) -> View:
    """A run that its worker holds before a node, while the heart goes on beating."""
    mesh.arm(NODE, Action.BLOCK)
    run = await person.ask(REMIND.format(title="go home"), **rest)
    await mesh.hit(NODE)
    person.is_ready.set()
    return run


async def stopped_at_work(mesh: Mesh, person: Person, point: str) -> None:
    """Cancelled while its worker is at it: the worker drains it."""
    run = await _held_at_a_node(mesh, person)
    mesh.arm(point)
    await person.cancel(run)
    await person.ends(run, "cancelled")


async def stopped_and_orphaned(mesh: Mesh, person: Person, point: str) -> None:
    """Cancelled, and its worker is dead: the reconciler ends it."""
    run = await _held_at_a_node(mesh, person)
    await mesh.running.kill("worker")
    mesh.arm(point)
    await person.cancel(run)
    await mesh.hit(point)
    await person.ends(run, "cancelled")
    await mesh.running.start("worker")


async def orphaned(mesh: Mesh, person: Person, point: str) -> None:
    """Its worker is dead: the reconciler takes it, another worker goes on."""
    run = await _held_at_a_node(mesh, person)
    await mesh.running.kill("worker")
    mesh.arm(point)
    await mesh.hit(point)
    await mesh.until("SELECT status = 'queued' FROM agent.runs WHERE id = %s", run["id"])
    await mesh.running.start("worker")
    await _go_home(person, run)


async def out_of_time(mesh: Mesh, person: Person, point: str) -> None:
    mesh.arm(point)
    run = await _held_at_a_node(mesh, person, deadline_seconds=1)
    await mesh.hit(point)
    mesh.release(NODE)
    await person.ends(run, "expired")


async def paused_at_work(mesh: Mesh, person: Person, point: str) -> None:
    """The pause is a mark that the heartbeat tells; it is taken at the next boundary."""
    run = await _held_at_a_node(mesh, person)
    mesh.arm(point)
    await person.verb(run, "pause")
    [(since,)] = await mesh.sql("SELECT clock_timestamp()")
    # Renewed by a beat that was sent more than one beat after the mark: it has told of it.
    await mesh.until(
        "SELECT status <> 'running' OR lease_expires_at > %s + interval '3.7 s'"
        " FROM agent.runs WHERE id = %s",
        since,
        run["id"],
    )
    mesh.release(NODE)
    await mesh.until("SELECT status = 'paused' FROM agent.runs WHERE id = %s", run["id"])
    await person.verb(run, "resume")
    await _go_home(person, run)


async def unanswered(mesh: Mesh, person: Person, point: str) -> None:
    person.is_ready.set()
    run = await person.asked(await person.ask(REMIND.format(title="go home")))
    mesh.arm(point)
    await mesh.sql("UPDATE agent.interrupts SET expires_at = clock_timestamp() WHERE run_id = %s", run["id"])
    await person.ends(run, "expired", "approval_expired")


async def forgotten(mesh: Mesh, person: Person, point: str) -> None:
    """A wait for what isn't open any more, as no code of ours leaves it: the net below catches it."""
    person.is_ready.set()
    run = await person.asked(await person.ask(REMIND.format(title="go home")))
    mesh.arm(point)
    await mesh.sql("UPDATE agent.interrupts SET status = 'withdrawn' WHERE run_id = %s", run["id"])
    await person.ends(run, "expired")


async def never_resumed(mesh: Mesh, person: Person, point: str) -> None:
    person.is_ready.set()
    run = await person.asked(await person.ask(REMIND.format(title="go home")))
    await person.verb(run, "pause")
    mesh.arm(point)
    await mesh.sql("UPDATE agent.runs SET paused_until = clock_timestamp() WHERE id = %s", run["id"])
    await person.ends(run, "expired")


async def lost_call(mesh: Mesh, person: Person, point: str) -> None:
    """A worker dies with a model call in flight: nobody will ever settle it, so its end is a time-out."""
    mesh.arm("worker.model.before_settle")
    run = await person.ask(REMIND.format(title="go home"))
    await mesh.hit("worker.model.before_settle")
    mesh.arm(point)
    person.is_ready.set()
    await mesh.sql(
        "UPDATE agent.model_calls SET ends_at = clock_timestamp() WHERE run_id = %s AND state = 'started'",
        run["id"],
    )
    await mesh.hit(point)
    await _go_home(person, run)


async def released(mesh: Mesh, person: Person, point: str) -> None:
    """An operator takes a run from a worker that is alive: that one is fenced, the run goes on."""
    run = await _held_at_a_node(mesh, person)
    mesh.arm(point)
    async with mesh.operator(person.tenant) as client:
        try:
            await patiently(lambda: client.get(repair(run["id"], "release_lease", "a drill")))
        except ApiError as error:  # the first order was carried out, its answer was lost
            assert error.code == "nothing_to_repair" and point.endswith("before_response")
    mesh.release(NODE)
    await _go_home(person, run)


async def given_away(mesh: Mesh, person: Person, point: str) -> None:
    person.is_ready.set()
    run = await person.asked(await person.ask(REMIND.format(title="go home")))
    mesh.arm(point)
    try:
        await patiently(lambda: person.client.get(handoff(run["id"], "away", "bob")))
    except ApiError as error:
        assert error.code == "run_finished" and point.endswith("before_response")
    await person.ends(run, "blocked", "handed_over")


async def unserved(mesh: Mesh, person: Person, point: str) -> None:
    """Its version is served by nobody: it is asked about, and goes on once it is served again."""
    person.is_ready.set()
    run = await person.asked(await person.ask(REMIND.format(title="go home")))
    await person.verb(run, "pause")
    await person.decide(run, decision="approve")
    [(version,)] = await mesh.sql("SELECT graph_version FROM agent.runs WHERE id = %s", run["id"])
    await mesh.sql("UPDATE agent.runs SET graph_version = 'gone' WHERE id = %s", run["id"])
    mesh.arm(point)
    await person.verb(run, "resume")
    await mesh.hit(point)
    await mesh.until("SELECT waiting_on = 'version' FROM agent.runs WHERE id = %s", run["id"])
    await mesh.sql("UPDATE agent.runs SET graph_version = %s WHERE id = %s", version, run["id"])
    person.reminders.append("go home")
    await person.ends(run, "succeeded")


async def parent_stopped(mesh: Mesh, person: Person, point: str) -> None:
    person.is_ready.set()
    parent, child = [await person.asked(await person.ask(REMIND.format(title="go home"))) for _ in range(2)]
    await mesh.sql("UPDATE agent.runs SET parent_run_id = %s WHERE id = %s", parent["id"], child["id"])
    mesh.arm(point)
    await person.cancel(parent)
    await person.ends(child, "cancelled")
    await person.ends(parent, "cancelled")


async def due(mesh: Mesh, person: Person, point: str) -> None:
    mesh.arm(point)
    person.is_ready.set()
    await person.fired(4)


async def simulated(mesh: Mesh, person: Person, point: str) -> None:
    """A run that ended is simulated: where that is cut off, it is made once and inherits once."""
    run = await person.ask(REMIND.format(title="go home"))
    await _go_home(person, run)
    mesh.arm(point)
    person.is_ready.set()
    made = await person.derive(run, "simulations")
    await person.ends(made, "succeeded")
    rows = await mesh.sql(
        "SELECT count(*), count(DISTINCT p.payload) FROM agent.run_events e JOIN agent.run_event_payloads p"
        " USING (run_id, seq) WHERE e.run_id = %s AND e.type = 'fact.inherited'",
        made["id"],
    )
    assert rows == [(3, 3)]


async def _go_home(person: Person, run: View) -> None:
    run = await person.asked(run)
    await person.decide(run, decision="approve")
    person.reminders.append("go home")
    await person.ends(run, "succeeded")


SCENES: Final[Mapping[str, Scene]] = {
    **dict.fromkeys(
        (
            f"api.{verb}.before_{when}"
            for verb in ("make_link", "use_link")
            for when in ("commit", "response")
        ),
        by_a_link,
    ),
    **dict.fromkeys(
        (f"api.revoke_grant.before_{when}" for when in ("commit", "response")), remembered_and_revoked
    ),
    "api.repair.before_commit": released,
    "api.repair.before_response": released,
    "api.handoff.before_commit": given_away,
    "api.handoff.before_response": given_away,
    "reconciler.worker_versions.before_commit": unserved,
    "reconciler.worker_versions.after_commit": unserved,
    "reconciler.stop_children.before_commit": parent_stopped,
    "reconciler.stop_children.after_commit": parent_stopped,
    "api.artifact.before_link": uploaded,
    "api.artifact.after_store": uploaded,
    "api.artifact.before_commit": uploaded,
    "api.artifact.before_response": uploaded,
    "reconciler.scan_artifacts.after_erase": erased,
    "reconciler.scan_artifacts.before_commit": scanned,
    "reconciler.scan_artifacts.after_commit": scanned,
    "api.derive.before_commit": simulated,
    "worker.inherit.before_commit": simulated,
    "worker.inherit.after_commit": simulated,
    "worker.drain.before_commit": stopped_at_work,
    "worker.drain.after_commit": stopped_at_work,
    "worker.pause.before_commit": paused_at_work,
    "worker.pause.after_commit": paused_at_work,
    "reconciler.fire.before_commit": due,
    "reconciler.fire.after_commit": due,
    "reconciler.expire_leases.before_commit": orphaned,
    "reconciler.expire_leases.after_commit": orphaned,
    "reconciler.drain.before_commit": stopped_and_orphaned,
    "reconciler.drain.after_commit": stopped_and_orphaned,
    "reconciler.deadlines.before_commit": out_of_time,
    "reconciler.deadlines.after_commit": out_of_time,
    "reconciler.expire_interrupts.before_commit": unanswered,
    "reconciler.expire_interrupts.after_commit": unanswered,
    "reconciler.wake_runs.before_commit": forgotten,
    "reconciler.wake_runs.after_commit": forgotten,
    "reconciler.paused_until.before_commit": never_resumed,
    "reconciler.paused_until.after_commit": never_resumed,
    "reconciler.settle_effects.before_commit": lost_call,
    "reconciler.settle_effects.after_commit": lost_call,
}
# Reached only where a provider can be told to fail or to call nonsense.
ONLY_WITH_A_PROVIDER: Final = frozenset({
    "worker.refusals.before_commit",
    "worker.refusals.after_commit",
    "worker.defer.before_commit",
    "worker.defer.after_commit",
    "gateway.refusal.before_commit",
    "gateway.refusal.after_commit",
})  # fmt: skip


# Of what leaves the house: in test_outside.py, on the parcel service and its own log.
OUTSIDE: Final = [
    name
    for name in FAILPOINTS
    if name.startswith(("gateway.send.", "gateway.look_up.", "reconciler.look_up."))
]


# Of asynchronous tools: in test_tasks.py, on the skill server and its own log.
TASKS: Final = [
    name
    for name in FAILPOINTS
    if name.startswith(("gateway.task.", "worker.wait.", "reconciler.poll_tasks.", "reconciler.tell_tasks."))
]
# Of the files that tools make: in tests/services/tool_gateway/test_files.py, on a tool that makes one.
FILES: Final = [name for name in FAILPOINTS if name.startswith("gateway.artifact.")]
# Of undoing an effect: in test_compensation.py, on the parcel service and its own log.
UNDOING: Final = [
    name for name in FAILPOINTS if name.startswith(("api.compensate.", "reconciler.undo_effects."))
]
# Of shortening a history: in tests/services/worker/test_compaction.py, on a scripted model's log.
COMPACTING: Final = [name for name in FAILPOINTS if name.startswith("worker.compaction.")]
ELSEWHERE: Final = frozenset({*OUTSIDE, *TASKS, *FILES, *UNDOING, *COMPACTING})


def scene_of(point: str) -> Scene:
    return SCENES.get(point, load)


def needs_a_provider(point: Failpoint) -> bool:
    """In test_provider_log.py, on a provider with a log of its own; all others in test_matrix.py."""
    at_work = point.process in ("worker", "gateway") and scene_of(point.name) is load
    return at_work or point.name in ONLY_WITH_A_PROVIDER


MATRIX: Final = [
    name for name, point in FAILPOINTS.items() if name not in ELSEWHERE and not needs_a_provider(point)
]
PROVIDED: Final = [
    name for name, point in FAILPOINTS.items() if name not in ELSEWHERE and needs_a_provider(point)
]

"""The reconciler: relay, sweeps, timers, integrity. Any number may run; nothing is elected.

Each loop takes its rows by SKIP LOCKED or under a unique key. It never decides in place of a person and
calls no model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from fencepost_domain.ports import Clock, Ids
from fencepost_runtime.artifacts import ArtifactStore, open_artifacts
from fencepost_runtime.beside import LOOK_EVERY as BESIDE_EVERY
from fencepost_runtime.beside import beside_of
from fencepost_runtime.health import Check, loop_check, serve_health
from fencepost_runtime.keys import load_secret
from fencepost_runtime.lifecycle import run_service, run_until_stopped
from fencepost_runtime.logging import get_logger, set_up_logging
from fencepost_runtime.loop import LoopStatus, RunOnce, run_every
from fencepost_runtime.secret_sources import make_secrets
from fencepost_runtime.secrets import register_secret
from fencepost_runtime.settings import ReconcilerSettings, load_settings
from fencepost_runtime.system import SystemClock, SystemIds
from fencepost_runtime.telemetry import set_up_telemetry
from fencepost_runtime.wake import BellEar, WakePublisher, make_publisher
from fencepost_store import sweeps
from fencepost_store.due import DueConnection
from fencepost_store.engine import make_engine, prepare_threshold
from fencepost_store.transaction import Store

from fencepost_reconciler.due import EVERY as LOOK_EVERY
from fencepost_reconciler.due import Due
from fencepost_reconciler.grace import Grace
from fencepost_reconciler.loops import (
    deadlines,
    drain,
    expire_interrupts,
    expire_leases,
    fire_reminders,
    look_up_effects,
    paused_until,
    poll_tasks,
    prune,
    relay_outbox,
    scan_artifacts,
    settle_effects,
    sign_heads,
    stop_children,
    tell_tasks,
    undo_effects,
    verify_chain,
    wake_runs,
    worker_versions,
)

GATED: Final = frozenset({
    "expire_leases", "drain", "fire_reminders", "deadlines", "expire_interrupts", "poll_tasks", "tell_tasks"
})  # fmt: skip
STALLED_AFTER: Final = timedelta(seconds=30)  # a loop without success for longer makes the process unready

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Loop:
    """watched: its silence makes the process not ready; the rest are house-keeping."""

    name: str
    run_once: RunOnce
    every: timedelta
    watched: bool = True


def make_loops(
    store: Store,
    publisher: WakePublisher,
    ear: BellEar,
    clock: Clock,
    settings: ReconcilerSettings,
    grace: Grace | None = None,
    artifacts: ArtifactStore | None = None,
) -> list[Loop]:
    """Every loop of a reconciler, with how often it runs. The relay waits for its bell inside its round."""
    relay = relay_outbox.RelayOutbox(store, publisher)
    key = sign_heads.anchor_key(settings.anchor_key_file)
    grace = grace or Grace(timedelta(seconds=settings.lease_seconds), clock)
    sweep = timedelta(seconds=settings.sweep_seconds)
    versions = worker_versions.WorkerVersions(
        store,
        clock,
        timedelta(seconds=settings.unserved_seconds),
        timedelta(seconds=settings.unserved_in_rollout_seconds),
    )
    return [
        Loop("relay_outbox", relay_outbox.when_rung(relay, ear), timedelta(0)),
        Loop("expire_leases", expire_leases.ExpireLeases(store, grace).run_once, sweep),
        Loop("drain", drain.Drain(store, grace).run_once, drain.EVERY),
        Loop("fire_reminders", fire_reminders.FireReminders(store).run_once, fire_reminders.EVERY),
        Loop("wake_runs", wake_runs.WakeRuns(store).run_once, wake_runs.EVERY),
        Loop("stop_children", stop_children.StopChildren(store).run_once, stop_children.EVERY),
        Loop("deadlines", deadlines.Deadlines(store).run_once, deadlines.EVERY),
        Loop(
            "expire_interrupts", expire_interrupts.ExpireInterrupts(store).run_once, expire_interrupts.EVERY
        ),
        Loop("settle_effects", settle_effects.SettleEffects(store).run_once, settle_effects.EVERY),
        Loop("undo_effects", undo_effects.UndoEffects(store).run_once, undo_effects.EVERY),
        *_loops_of_the_outside(store, ear, clock, settings),
        Loop("paused_until", paused_until.PausedUntil(store).run_once, paused_until.EVERY),
        Loop("worker_versions", versions.run_once, worker_versions.EVERY, False),
        Loop("verify_chain", verify_chain.VerifyChain(store).run_once, verify_chain.EVERY, False),
        Loop("sign_heads", sign_heads.SignHeads(store, key).run_once, sign_heads.EVERY, False),
        Loop(
            "scan_artifacts",
            scan_artifacts.ScanArtifacts(store, artifacts).run_once,
            scan_artifacts.EVERY,
            False,
        ),
        Loop("prune", prune.Prune(store).run_once, prune.EVERY, False),
    ]


def _loops_of_the_outside(
    store: Store, ear: BellEar, clock: Clock, settings: ReconcilerSettings
) -> list[Loop]:
    """What asks the gateway about the world, and tells runs what came of it."""
    asker = make_asker(settings)
    looks = look_up_effects.LookUpEffects(store, asker, clock)
    polls = poll_tasks.PollTasks(store, asker, lambda: ear.on_tasks())
    return [
        Loop("look_up_effects", looks.run_once, look_up_effects.EVERY),
        Loop("poll_tasks", polls.run_once, poll_tasks.EVERY),
        Loop("tell_tasks", tell_tasks.TellTasks(store).run_once, tell_tasks.EVERY),
    ]


def when_due(loops: Sequence[Loop], due: Due, sweep: timedelta) -> list[Loop]:
    """The same loops with those gated that one question a tick can tell about, and the loop that asks it."""
    gated = [
        replace(loop, run_once=due.gate(loop.name, loop.run_once), every=timedelta(0))
        if loop.name in GATED
        else loop
        for loop in loops
    ]
    return [*gated, Loop("look", due.look, min(LOOK_EVERY, sweep))]


def _checks(
    store: Store, loops: Sequence[Loop], statuses: Mapping[str, LoopStatus], clock: Clock
) -> dict[str, Check]:
    async def database() -> None:
        async with store.transaction() as tx:
            await sweeps.database_answers(tx)

    watched = {
        loop.name: loop_check(statuses[loop.name], max(STALLED_AFTER, 3 * loop.every), clock)
        for loop in loops
        if loop.watched
    }
    return {"database": database, **watched}


async def _hear(ear: BellEar, stop: asyncio.Event) -> None:
    """Listen until `stop`; the ear itself knows no end."""
    listening = asyncio.ensure_future(ear.run())
    await stop.wait()
    listening.cancel()
    with suppress(asyncio.CancelledError):
        await listening


def make_asker(settings: ReconcilerSettings) -> look_up_effects.Asker | None:
    """None without the mesh's secret: then unknown effects wait for an operator."""
    if settings.service_secret_file is None:
        return None
    secret = load_secret(settings.service_secret_file)
    register_secret(secret)
    return look_up_effects.Asker(settings.gateway_url, secret)


def _store(settings: ReconcilerSettings, ids: Ids, ear: BellEar) -> Store:
    engine = make_engine(
        settings.database_url,
        size=settings.database_pool_size,
        application="fencepost-reconciler",
        prepare=prepare_threshold(settings.database_url, settings.database_direct_url),
    )
    return Store(engine, ids, ear.ring)


def _say_ready(port: int) -> None:
    log.info("service.ready", service="reconciler", health_port=port)


async def serve(settings: ReconcilerSettings, stop: asyncio.Event) -> None:
    """Run every loop and the health port until `stop`."""
    clock, ids = SystemClock(), SystemIds()
    publisher, ear = make_publisher(settings), BellEar(settings)
    store = _store(settings, ids, ear)
    asked = DueConnection(settings.database_url)
    grace = Grace(timedelta(seconds=settings.lease_seconds), clock)
    due = Due(asked, ear, grace)
    secrets = make_secrets(settings, clock)
    artifacts = open_artifacts(settings, secrets, ids, clock)
    beside = beside_of(artifacts, secrets)
    ear.on_tasks = lambda: due.raise_flag("tell_tasks")
    every = make_loops(store, publisher, ear, clock, settings, grace, artifacts)
    loops = when_due(every, due, timedelta(seconds=settings.sweep_seconds))
    statuses = {loop.name: LoopStatus(loop.name) for loop in loops}

    try:
        await run_until_stopped(
            stop,
            *(
                run_every(loop.run_once, loop.every, stop, loop.name, clock, statuses[loop.name])
                for loop in loops
            ),
            _hear(ear, stop),
            due.close(stop),
            serve_health(
                settings.health_host,
                settings.reconciler_health_port,
                _checks(store, loops, statuses, clock),
                stop,
                _say_ready,
                beside.told,
            ),
            run_every(beside.look, BESIDE_EVERY, stop, "look_beside", clock),
        )
    finally:
        await publisher.close()
        await asked.drop()
        await store.close()
        await secrets.close()


async def _main(stop: asyncio.Event) -> None:
    settings = load_settings(ReconcilerSettings)
    set_up_logging("reconciler", settings.log_level, settings.log_format)
    end_telemetry = set_up_telemetry("reconciler")
    try:
        await serve(settings, stop)
    finally:
        end_telemetry()


def main() -> None:
    """The console script."""
    run_service(_main)


if __name__ == "__main__":
    main()

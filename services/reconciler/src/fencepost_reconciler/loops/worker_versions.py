"""Due work of a version that nobody serves: after a while it waits on `version`, and a person is asked.

A claim names the versions a worker serves, so such a run is never given to one that would run something
else (I16). For a minute (ten while its module is rolled out) it stays queued, since a worker may be on its
way; then somebody has to be told. Whoever serves the version again wakes it (wake_runs), asked or not.
How long nobody served is counted here, from the first look: a mesh that was off serves at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final
from uuid import UUID

from fencepost_domain.decision import NewEvent, NewFeed
from fencepost_domain.ports import Clock
from fencepost_domain.vocabulary import Ev, InterruptKind, RunMode
from fencepost_domain.waits import decide_unserved
from fencepost_runtime.logging import get_logger
from fencepost_store import sweeps
from fencepost_store.record import record
from fencepost_store.runs import Locked
from fencepost_store.transaction import Store, Tx

from fencepost_reconciler.loops.deadlines import stop_run
from fencepost_reconciler.sweep import Sweep
from fencepost_reconciler.words import Text, say

EVERY: Final = timedelta(seconds=5)
AFTER: Final = timedelta(seconds=60)  # a worker that was restarted is back by then
IN_ROLLOUT: Final = timedelta(minutes=10)  # pods come one after the other
CHOICES: Final = {"stay": Text.VERSION_STAY, "fork": Text.VERSION_FORK, "stop": Text.VERSION_STOP}

log = get_logger(__name__)
Version = tuple[str, str]  # module, graph version


class WorkerVersions:
    """after, in_rollout: how long nobody may serve a version before its runs are parked."""

    def __init__(
        self, store: Store, clock: Clock, after: timedelta = AFTER, in_rollout: timedelta = IN_ROLLOUT
    ) -> None:
        self._sweep = Sweep(store, "worker_versions", self._find, settle)
        self._clock = clock
        self._after, self._in_rollout = after, in_rollout
        self._since: dict[Version, float] = {}

    async def run_once(self) -> dict[str, int]:
        """`unserved`: runs that were parked."""
        return await self._sweep.run_once()

    async def _find(self, tx: Tx, after: UUID, batch: int) -> Sequence[sweeps.Candidate]:
        ripe = self._ripe(await sweeps.unserved(tx))
        return await sweeps.find_unserved_runs(tx, ripe, after, batch) if ripe else []

    def _ripe(self, found: Sequence[sweeps.Unserved]) -> list[Version]:
        now = self._clock.monotonic()
        self._since = {
            (one.module, one.graph_version): self._since.get((one.module, one.graph_version), now)
            for one in found
        }
        ripe: list[Version] = []
        for one in found:
            wait = self._in_rollout if one.in_rollout else self._after
            version = (one.module, one.graph_version)
            if now - self._since[version] >= wait.total_seconds():
                ripe.append(version)
                log.warning(
                    "runs.unserved",
                    module=one.module,
                    graph_version=one.graph_version,
                    runs=one.runs,
                    due_since=one.due_since.isoformat(),
                )
        return ripe


async def settle(tx: Tx, locked: Locked, _: sweeps.Candidate) -> str | None:
    """None when it was claimed, stopped or served meanwhile."""
    run = locked.run
    if not await sweeps.is_unserved(tx, run.id):
        return None
    if run.mode is RunMode.SIMULATION:  # nobody is asked; its report says that it was stopped
        return await stop_run(tx, locked, why=Text.SIMULATION_UNSERVED)
    since = run.available_at or locked.now
    decision = decide_unserved(run, tx.ids.uuid7(), since=since, now=locked.now)
    if decision is None:
        return None
    interrupt_id = tx.ids.uuid7()
    told = {"interrupt_id": str(interrupt_id), "kind": str(InterruptKind.VERSION)}
    asked = NewEvent(tx.ids.uuid7(), Ev.INTERRUPT_OPENED, told)
    feed = NewFeed("interrupt.opened", {**told, "run_id": str(run.id)})
    await record(tx, run, replace(decision, events=(asked, *decision.events), feed=(*decision.feed, feed)))
    question = say(Text.VERSION_ASKED, run.locale, module=run.module, graph=run.graph_version[:12] or "-")
    candidates = [
        {"id": choice, "label": say(text, run.locale), "value": choice}
        for choice, text in CHOICES.items()
        if choice != "fork" or run.graph_version  # one that was never bound has no point to go on from
    ]
    await sweeps.ask_about_version(tx, run.id, interrupt_id, question, candidates)
    return "unserved"

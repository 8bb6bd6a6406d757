"""What the reconciler writes into the log is what the contract of each event says."""

from __future__ import annotations

import json
from datetime import timedelta

from fencepost_contracts.events import check
from fencepost_domain.vocabulary import InterruptKind, Risk
from fencepost_reconciler.loops.deadlines import Deadlines
from fencepost_reconciler.loops.drain import Drain
from fencepost_reconciler.loops.expire_interrupts import ExpireInterrupts
from fencepost_reconciler.loops.expire_leases import ExpireLeases
from fencepost_reconciler.loops.paused_until import PausedUntil
from fencepost_reconciler.loops.settle_effects import SettleEffects
from fencepost_reconciler.loops.wake_runs import WakeRuns
from fencepost_runtime.system import SystemClock

from tests.support.graces import Over
from tests.support.lives import AT_ONCE, LEASE, Lives


async def test_every_event_of_every_loop_is_as_its_model_says(lives: Lives) -> None:
    reconciler, grace = lives.reconciler, Over(LEASE, SystemClock())
    await lives.waiting(expires_in=AT_ONCE)
    await ExpireInterrupts(reconciler).run_once()
    held = await lives.claimed()
    action = await lives.prepared(held, risk=Risk.LOW)
    await lives.opened(action, timeout_seconds=0.000001)
    await SettleEffects(reconciler).run_once()
    await lives.ask(held, kind=InterruptKind.RECONCILE, wakes_seen=1)
    await lives.landed(action)
    await WakeRuns(reconciler).run_once()
    stopped = await lives.claimed(deadline=timedelta(hours=1))
    await lives.age("agent.runs", "deadline_at", "id = %s", stopped.run.id)
    await Deadlines(reconciler).run_once()
    await lives.age("agent.runs", "lease_expires_at", "id = %s", stopped.run.id)
    await Drain(reconciler, grace).run_once()
    paused, _ = await lives.waiting()
    await lives.pause(paused.run.id)
    await lives.age("agent.runs", "paused_until", "id = %s", paused.run.id)
    await PausedUntil(reconciler).run_once()
    await lives.lost()
    await ExpireLeases(reconciler, grace).run_once()

    rows = await lives.sql(
        "SELECT e.type, e.actor, convert_from(p.payload, 'UTF8') AS payload"
        " FROM agent.run_events e JOIN agent.run_event_payloads p USING (run_id, seq)"
    )
    for row in rows:
        if row["actor"] not in ("test", "gateway"):  # what a test's stand-ins write is nobody's contract
            check(row["type"], json.loads(row["payload"]))
    written = {row["type"] for row in rows}
    assert written >= {
        "interrupt.expired", "interrupt.withdrawn", "run.woken", "action.unknown", "run.deadline_passed",
        "run.lease_expired", "run.finalized", "message.completed",
    }  # fmt: skip
    assert await lives.violations() == []

"""(f) What claims and sweeps cost with up to 1,000,000 waiting and 10,000,000 finished runs.

Filled by the superuser in bulk, without events: no statement measured here reads them. Ids rise with time, as
those of real runs do; so ten million rows take minutes.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import psycopg
from fencepost_cli.embedded.identity import LOCAL_TENANT
from fencepost_cli.embedded.supervisor import Embedded
from fencepost_contracts.graph_core2 import CORE_2
from fencepost_runtime.system import SystemIds
from fencepost_store import sweeps
from fencepost_store.claims import claim
from fencepost_store.due import DueConnection
from fencepost_store.engine import make_engine
from fencepost_store.transaction import Store

from bench.measure import percentile
from bench.mesh import enqueue, mesh, release

FILL = """
INSERT INTO agent.runs (id, tenant_id, user_id, roles, module, status, waiting_on, conversation_id,
                        root_run_id, input, locale, zone, currency, route, idempotency_key,
                        request_hash, revision,
                        available_at, rank, created_at, finished_at)
SELECT x.id, CAST(%(tenant)s AS uuid), 'u' || g %% 1000, '{{user}}', 'life', '{status}', {waits}, %(talk)s,
       x.id, '{{}}', 'en', 'UTC', 'CNY', 'r', g::text || '{status}', '', 3,
       clock_timestamp(), clock_timestamp(), clock_timestamp(), {finished}
  FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS g
  CROSS JOIN LATERAL (SELECT ('01900000-0000-7000-{variant}-' || lpad(to_hex(g), 12, '0'))::uuid AS id) AS x
"""
ASKED = """
INSERT INTO agent.interrupts (id, run_id, tenant_id, user_id, kind, index, n, question, expires_at)
SELECT gen_random_uuid(), r.id, r.tenant_id, r.user_id, 'input', 0, 1, '?',
       clock_timestamp() + interval '7 days'
  FROM agent.runs r
 WHERE r.status = 'waiting' AND NOT EXISTS (SELECT FROM agent.interrupts i WHERE i.run_id = r.id)
"""
REPEATS = 30
BATCH = 500_000


@dataclass(frozen=True, slots=True)
class Rows:
    waiting: int
    finished: int

    def __str__(self) -> str:
        return f"{self.waiting:,} waiting and {self.finished:,} finished"


SIZES = (Rows(0, 0), Rows(100_000, 100_000), Rows(1_000_000, 1_000_000), Rows(1_000_000, 10_000_000))
QUICK = (Rows(0, 0), Rows(20_000, 20_000), Rows(100_000, 100_000))


def fill(running: Embedded, there: Rows, wanted: Rows) -> None:
    """Waiting runs with an open question each, and finished ones."""
    with psycopg.connect(running.dsn(), autocommit=True) as line:
        line.execute("ALTER SYSTEM SET max_wal_size = '16GB'")  # the filling isn't what is measured
        line.execute("SELECT pg_reload_conf()")
        line.execute("SET session_replication_role = replica")  # no triggers: history isn't either
        talk = line.execute(
            "INSERT INTO agent.conversations (id, tenant_id, user_id) VALUES (gen_random_uuid(), %s, 'u')"
            " RETURNING id",
            (LOCAL_TENANT,),
        ).fetchone()
        assert talk is not None
        kinds = (
            ("waiting", "8001", "'input'", "NULL", there.waiting, wanted.waiting),
            ("succeeded", "8002", "NULL", "clock_timestamp()", there.finished, wanted.finished),
        )
        for status, variant, waits, finished, had, until in kinds:
            insert = FILL.format(status=status, variant=variant, waits=waits, finished=finished)
            for first in range(had + 1, until + 1, BATCH):
                last = min(first + BATCH - 1, until)
                line.execute(insert, {"tenant": LOCAL_TENANT, "talk": talk[0], "first": first, "last": last})
        line.execute(ASKED)
        for table in ("agent.runs", "agent.interrupts"):
            line.execute(f"VACUUM (ANALYZE) {table}")
        line.execute("CHECKPOINT")


async def measured(running: Embedded) -> dict[str, dict[str, float]]:
    ids = SystemIds()
    worker = Store(make_engine(running.dsn("worker"), prepare=3), ids)
    reconciler = Store(make_engine(running.dsn("reconciler"), prepare=3), ids)
    due = DueConnection(running.dsn("reconciler"))
    times: dict[str, list[float]] = {}

    async def timed(name: str, work: Any) -> None:
        began = time.perf_counter()
        await work
        times.setdefault(name, []).append((time.perf_counter() - began) * 1000)

    async def claims() -> None:
        async with worker.transaction() as tx:
            found = await claim(
                tx, module="life", versions=[CORE_2.fingerprint()], owner="bench:1",
                lease=timedelta(seconds=60), limit=10, nonce=ids.uuid7(),
            )  # fmt: skip
        assert len(found) == 10

    async def sweep(find: Any, **more: Any) -> None:
        async with reconciler.transaction() as tx:
            await find(tx, sweeps.FIRST, 100, **more)

    await asyncio.to_thread(enqueue, running, 10 * (REPEATS + 5))
    release(running)
    for _ in range(REPEATS + 5):
        await timed("claim of 10", claims())
        await timed("what is due", due.ask())
        await timed("expired leases", sweep(sweeps.find_expired_leases))
        await timed("expired interrupts", sweep(sweeps.find_expired_interrupts))
        await timed("passed deadlines", sweep(sweeps.find_passed_deadlines))
        await timed("drained", sweep(sweeps.find_drained, leases_count=True))
    await due.drop()
    await worker.close()
    await reconciler.close()
    return {
        name: {"p50_ms": statistics.median(kept), "p95_ms": percentile(kept, 0.95)}
        for name, values in times.items()
        if (kept := values[5:] or values)
    }


async def run(quick: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    async with mesh([]) as running:
        there = Rows(0, 0)
        for wanted in QUICK if quick else SIZES:
            if wanted != there:
                await asyncio.to_thread(fill, running, there, wanted)
                there = wanted
            found[str(wanted)] = await measured(running)
    first, last = next(iter(found.values())), list(found.values())[-1]
    found["growth"] = {name: last[name]["p50_ms"] / first[name]["p50_ms"] for name in first}
    return found
